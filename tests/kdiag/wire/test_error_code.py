from kdiag.wire.catalog import NEWEST_KAFKA
from kdiag.wire.error_code import CODE_BY_NAME, ERROR_BY_CODE, error_name
from real_kafka.oracle_tables import names


def test_numbers_names_and_retriability_are_those_of_the_newest_kafka() -> None:
    """Kafka's own enumeration is the judge."""
    ours = {(each.code, each.name, each.is_retriable) for each in ERROR_BY_CODE.values()}
    theirs = {(e["number"], e["name"], e["retriable"]) for e in names(NEWEST_KAFKA)["Errors"]}
    assert ours == theirs


def test_a_known_code_has_its_name_and_an_unknown_one_shows_its_number() -> None:
    """A newer broker's error is still told from others."""
    assert error_name(0) == "NONE"
    assert error_name(-1) == "UNKNOWN_SERVER_ERROR"
    assert error_name(16) == "NOT_COORDINATOR"
    assert error_name(32000) == "UNKNOWN(32000)"


def test_every_error_has_a_sentence() -> None:
    """It ends like one, and no two errors share it."""
    meanings = [each.meaning for each in ERROR_BY_CODE.values()]
    assert all(each.endswith(".") for each in meanings)
    assert len(set(meanings)) == len(meanings)


def test_a_name_leads_back_to_its_code() -> None:
    """Filters take names."""
    assert CODE_BY_NAME["NOT_COORDINATOR"] == 16
    assert len(CODE_BY_NAME) == len(ERROR_BY_CODE)
