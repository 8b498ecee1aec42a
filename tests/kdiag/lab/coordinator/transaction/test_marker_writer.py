from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.transaction.marker_writer import EndMarker, MarkerCodes, MarkerWriter
from kdiag.lab.coordinator.transaction.transaction_metadata import TxnPartition
from kdiag.wire.error_code import error_name
from lab_ends.one_transaction_coordinator import OFFSETS, ORDERS, OneTransactionCoordinator

COMMIT = EndMarker(producer_id=5, producer_epoch=3, is_commit=True, coordinator_epoch=2)


def written(
    coordinator: OneTransactionCoordinator, marker: EndMarker, *partitions: TxnPartition
) -> list[str]:
    """Write markers, and return the errors."""
    told: list[MarkerCodes] = []
    coordinator.transactions.markers.write(marker, partitions, told.append)
    (codes,) = told
    return [error_name(codes[each]) for each in partitions]


def test_a_marker_is_written_into_each_partition(coordinator: OneTransactionCoordinator) -> None:
    """One that does not exist, or is led elsewhere, has an error of its own."""
    coordinator.node.create("elsewhere", 2)
    asked = (ORDERS, TxnPartition("nowhere", 0), TxnPartition("elsewhere", 0))
    told = written(coordinator, COMMIT, *asked)
    assert told == ["NONE", "UNKNOWN_TOPIC_OR_PARTITION", "NOT_LEADER_OR_FOLLOWER"]
    assert coordinator.markers() == [("COMMIT", 5, 3)]
    assert coordinator.offset_ends == []


def test_groups_hear_of_markers_in_their_partitions(
    coordinator: OneTransactionCoordinator,
) -> None:
    """After they are written."""
    assert written(coordinator, COMMIT._replace(is_commit=False), OFFSETS) == ["NONE"]
    assert coordinator.offset_ends == [(0, 5, 3, False)]


def test_an_older_epoch_is_fenced(coordinator: OneTransactionCoordinator) -> None:
    """Of the producer, and of the coordinator."""
    assert written(coordinator, COMMIT, ORDERS) == ["NONE"]
    older = COMMIT._replace(producer_epoch=2)
    assert written(coordinator, older, ORDERS) == ["INVALID_PRODUCER_EPOCH"]
    other = COMMIT._replace(coordinator_epoch=1)
    assert written(coordinator, other, ORDERS) == ["TRANSACTION_COORDINATOR_FENCED"]


def test_what_groups_refuse_is_told(coordinator: OneTransactionCoordinator) -> None:
    """They may not have read their partition yet."""

    def refuse(partition: int, producer_id: int, producer_epoch: int, *, is_commit: bool) -> None:
        why = f"{partition} {producer_id} {producer_epoch} {is_commit}"
        raise RequestRefusedError("NOT_COORDINATOR", why)

    node = coordinator.node
    coordinator.transactions.markers = MarkerWriter(node.replicas, node.clock, refuse)
    assert written(coordinator, COMMIT, OFFSETS) == ["NOT_COORDINATOR"]
