from kdiag.client.group.member import MemberSettings
from kdiag.client.group.refusals import named_refusal, refusal
from kdiag.wire.error_code import CODE_BY_NAME
from tiers.cases import for_each

SETTINGS = MemberSettings("billing", "till-1")


@for_each(
    ("error", "setting"),
    [
        ("FENCED_INSTANCE_ID", "group.instance.id, till-1"),
        ("GROUP_AUTHORIZATION_FAILED", "the operation READ on the group"),
        ("GROUP_MAX_SIZE_REACHED", "group.max.size"),
        ("INCONSISTENT_GROUP_PROTOCOL", "partition.assignment.strategy"),
        ("INVALID_GROUP_ID", "group.id"),
        ("INVALID_SESSION_TIMEOUT", "session.timeout.ms is 45000"),
        ("UNSUPPORTED_VERSION", "group.instance.id"),
    ],
)
def test_a_refusal_for_good_names_the_setting_that_mends_it(error: str, setting: str) -> None:
    """And is not tried again."""
    refused = named_refusal(SETTINGS, error)
    assert refused.error == error
    assert setting in refused.why
    assert not refused.is_retriable


def test_other_errors_say_what_they_mean() -> None:
    """In the words of the table of error codes, and whether another attempt may succeed."""
    refused = refusal(SETTINGS, CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"])
    assert str(refused) == (
        "group billing: COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its state from "
        "its topic"
    )
    assert refused.is_retriable


def test_an_error_code_that_nobody_knows_is_shown_by_number() -> None:
    """A newer broker may have it."""
    refused = refusal(SETTINGS, 9999)
    assert refused.error == "UNKNOWN(9999)"
    assert "kdiag does not know" in refused.why


def test_an_error_that_does_not_fit_the_request_is_not_tried_again() -> None:
    """Even one that another request could be repeated after."""
    error = refusal(SETTINGS, CODE_BY_NAME["REQUEST_TIMED_OUT"], "JoinGroup")
    assert error.error == "REQUEST_TIMED_OUT"
    assert "unexpected answer to JoinGroup" in error.why
    assert not error.is_retriable
