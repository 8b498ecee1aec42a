from hypothesis import given
from hypothesis import strategies as st

from kdiag.diagnosis.error_codes.catalog import KNOWN_ERRORS
from kdiag.diagnosis.error_codes.known_error import KnownError
from kdiag.diagnosis.error_codes.search import find_errors, near_names
from tiers.cases import for_each


def names(errors: list[KnownError]) -> list[str]:
    """Return what errors are called."""
    return [error.name for error in errors]


@for_each("error", KNOWN_ERRORS, ids=lambda error: error.name)
def test_every_error_is_found_by_its_code_its_name_and_its_exception(error: KnownError) -> None:
    """Each of them means this error alone."""
    assert find_errors(str(error.code)) == [error]
    assert find_errors(error.name) == [error]
    assert find_errors(error.name.lower().replace("_", "-")) == [error] or "__" in error.name
    if error.java_exception:
        assert find_errors(error.java_exception) == [error]


@for_each(
    ("text", "name"),
    [
        (" 16 ", "NOT_COORDINATOR"),
        ("not coordinator", "NOT_COORDINATOR"),
        ("Errors.NOT_COORDINATOR", "NOT_COORDINATOR"),
        ("org.apache.kafka.common.errors.NotCoordinatorException", "NOT_COORDINATOR"),
        ("timeoutexception", "REQUEST_TIMED_OUT"),
        ("_TRANSPORT", "_TRANSPORT"),
        ("ERR__TRANSPORT", "_TRANSPORT"),
        ("RD_KAFKA_RESP_ERR__TRANSPORT", "_TRANSPORT"),
        ("RD_KAFKA_RESP_ERR_NOT_COORDINATOR", "NOT_COORDINATOR"),
        ("KafkaError._PARTITION_EOF", "_PARTITION_EOF"),
        ("-1", "UNKNOWN_SERVER_ERROR"),
    ],
)
def test_what_stands_in_logs_is_understood(text: str, name: str) -> None:
    """Packages, prefixes and capitals are no hindrance."""
    assert names(find_errors(text)) == [name]


def test_a_part_of_a_name_finds_all_that_hold_it() -> None:
    """So does a part of an exception's name."""
    assert names(find_errors("coordinator")) == [
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "TRANSACTION_COORDINATOR_FENCED",
    ]
    assert names(find_errors("RecordTooLarge")) == ["MESSAGE_TOO_LARGE"]
    assert "_AUTHENTICATION" in names(find_errors("authentication"))


@for_each("text", ["", " ", "999", "-300", "no such thing", "4.4"])
def test_what_means_no_error_finds_none(text: str) -> None:
    """A number is never taken for a part of a name."""
    assert find_errors(text) == []


@given(text=st.text(max_size=40))
def test_any_text_can_be_asked_for(text: str) -> None:
    """Nothing is raised, and what is like it is at most three names."""
    assert all(error in KNOWN_ERRORS for error in find_errors(text))
    assert len(near_names(text)) <= 3


def test_a_mistyped_name_has_near_ones() -> None:
    """The nearest comes first, an exception for an exception."""
    assert near_names("NOT_CORDINATOR")[0] == "NOT_COORDINATOR"
    assert near_names("not leader or folower")[0] == "NOT_LEADER_OR_FOLLOWER"
    assert near_names("NotCordinatorException")[0] == "NotCoordinatorException"
    assert near_names("zzz") == []
