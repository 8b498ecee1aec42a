from kdiag.lab.api.transactions.producer_errors import produced_code, told_code
from kdiag.wire.error_code import CODE_BY_NAME, error_name
from tiers.cases import for_each


@for_each(
    ("error", "version", "told"),
    [
        ("NONE", 3, "NONE"),
        ("NOT_COORDINATOR", 12, "NOT_ENOUGH_REPLICAS"),
        ("CONCURRENT_TRANSACTIONS", 12, "NOT_ENOUGH_REPLICAS"),
        ("TRANSACTION_ABORTABLE", 10, "INVALID_TXN_STATE"),
        ("TRANSACTION_ABORTABLE", 11, "TRANSACTION_ABORTABLE"),
        ("PRODUCER_FENCED", 12, "INVALID_PRODUCER_EPOCH"),
        ("INVALID_PRODUCER_ID_MAPPING", 12, "INVALID_PRODUCER_ID_MAPPING"),
    ],
)
def test_a_producer_is_told_what_it_can_do(error: str, version: int, told: str) -> None:
    """Send again, abort, or end."""
    assert error_name(produced_code(CODE_BY_NAME[error], version)) == told


def test_an_older_client_is_told_of_its_epoch() -> None:
    """Where a newer one is told that it is fenced."""
    fenced = CODE_BY_NAME["PRODUCER_FENCED"]
    told = [error_name(told_code(fenced, version, fenced_since=2)) for version in (1, 2)]
    assert told == ["INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"]
