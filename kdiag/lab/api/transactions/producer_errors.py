"""The errors of transactions, as clients of older versions know them.

    PRODUCER_FENCED          INVALID_PRODUCER_EPOCH, before the version that knows it (KIP-588)
    TRANSACTION_ABORTABLE    INVALID_TXN_STATE, before the version that knows it (KIP-890)

Brokers that add partitions for a producer tell it what it can do about an error: the coordinator's
own troubles are NOT_ENOUGH_REPLICAS, after which producers send again.

Source: Kafka's `KafkaApis`, `ReplicaManager.handleProduceAppend`.
"""

from typing import Final

from kdiag.wire.error_code import CODE_BY_NAME

FIRST_ABORTABLE_PRODUCE: Final = 11
"""The first version of Produce that knows TRANSACTION_ABORTABLE."""

_FENCED: Final = CODE_BY_NAME["PRODUCER_FENCED"]
_EPOCH: Final = CODE_BY_NAME["INVALID_PRODUCER_EPOCH"]
_ABORTABLE: Final = CODE_BY_NAME["TRANSACTION_ABORTABLE"]
_STATE: Final = CODE_BY_NAME["INVALID_TXN_STATE"]
_AGAIN: Final = frozenset(
    CODE_BY_NAME[name]
    for name in (
        "CONCURRENT_TRANSACTIONS",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
    )
)


def told_code(code: int, version: int, *, fenced_since: int) -> int:
    """Return what a client of a version is told.

    Args:
        code: the error code.
        version: of its request.
        fenced_since: the first version that knows PRODUCER_FENCED.
    """
    return _EPOCH if code == _FENCED and version < fenced_since else code


def produced_code(code: int, version: int) -> int:
    """Return what a producer is told, if its partition is not part of its transaction."""
    if code in _AGAIN:
        return CODE_BY_NAME["NOT_ENOUGH_REPLICAS"]
    if code == _ABORTABLE and version < FIRST_ABORTABLE_PRODUCE:
        return _STATE
    return _EPOCH if code == _FENCED else code
