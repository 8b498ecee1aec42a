"""The intents of Kafka's TransactionCoordinatorTest and TransactionStateManagerTest, release 4.x.

Left out:
    two-phase commit (KIP-939)                         a lab has none
    concurrent loading and appending in threads        a node has one thread
    metrics of loading                                 a lab has none
    size of one batch of tombstones, and its overflow  each tombstone is a batch of its own
    authorization, changes of `transaction.version`    a lab has none, it is fixed
"""

import pytest

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.transaction.transaction_config import TransactionConfig
from kdiag.lab.coordinator.transaction.transaction_metadata import TxnPartition
from kdiag.lab.log.refusal import LogFileError
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.wire.error_code import error_name
from lab_ends.one_transaction_coordinator import (
    GOODS,
    NAME,
    OFFSETS,
    ORDERS,
    TIMEOUT_MS,
    TOPIC,
    OneTransactionCoordinator,
)

LAST_EPOCH = 32_766
WEEK_MS = 604_800_000


def begin(coordinator: OneTransactionCoordinator, version: int = 0) -> tuple[int, int]:
    """Begin a transaction, and return its producer."""
    assert coordinator.init()[0] == "NONE"
    assert coordinator.add(ORDERS, version=version) == "NONE"
    return coordinator.producer


def break_log(coordinator: OneTransactionCoordinator) -> None:
    """Have another broker lead the partition of the id, unknown to the coordinator."""
    key = TopicPartitionOperationKey(TOPIC, 0)
    coordinator.node.replicas.partitions[key].registration = coordinator.node.replicas.partitions[
        key
    ].registration.__class__((2,), (2,), 2)


def test_a_name_gets_an_id_and_keeps_it(coordinator: OneTransactionCoordinator) -> None:
    """Each start of its producer has the next epoch."""
    assert coordinator.init() == ("NONE", 0, 0)
    assert coordinator.init() == ("NONE", 0, 1)
    assert coordinator.init(name="refunds") == ("NONE", 1, 0)
    assert repr(coordinator.transactions) == "<TransactionCoordinator of 2 ids>"


@pytest.mark.parametrize(
    ("name", "timeout_ms", "error"),
    [
        ("", 1, "INVALID_REQUEST"),
        (NAME, 0, "INVALID_TRANSACTION_TIMEOUT"),
        (NAME, 900_001, "INVALID_TRANSACTION_TIMEOUT"),
    ],
)
def test_a_producer_that_asks_for_the_impossible_is_refused(
    coordinator: OneTransactionCoordinator, name: str, timeout_ms: int, error: str
) -> None:
    """Nothing is written for it."""
    assert coordinator.init(name=name, timeout_ms=timeout_ms) == (error, -1, -1)
    assert coordinator.records() == []


def test_a_producer_goes_on_with_its_epoch(coordinator: OneTransactionCoordinator) -> None:
    """As long as it has the name; who lost it is fenced (KIP-360)."""
    coordinator.init()
    assert coordinator.init((0, 0)) == ("NONE", 0, 1)
    assert coordinator.init((0, 0)) == ("NONE", 0, 1)  # the response was lost
    assert coordinator.init((0, 1)) == ("NONE", 0, 2)
    assert coordinator.init((0, 0))[0] == "PRODUCER_FENCED"
    assert coordinator.init((9, 2))[0] == "PRODUCER_FENCED"


def test_an_exhausted_producer_gets_another_id(coordinator: OneTransactionCoordinator) -> None:
    """Also if it says what it had; asking again with the old one is no mistake."""
    coordinator.init()
    metadata = coordinator.metadata
    metadata.now = metadata.now._replace(producer_epoch=LAST_EPOCH)
    assert coordinator.init((0, LAST_EPOCH)) == ("NONE", 1, 0)
    assert coordinator.init((0, LAST_EPOCH)) == ("NONE", 1, 0)
    metadata.now = metadata.now._replace(producer_epoch=LAST_EPOCH)
    assert coordinator.init() == ("NONE", 2, 0)


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_transaction_ends_with_a_marker_in_each_partition(
    coordinator: OneTransactionCoordinator, *, is_commit: bool
) -> None:
    """Groups hear of it, too."""
    begin(coordinator)
    assert coordinator.add(GOODS, OFFSETS) == "NONE"
    assert coordinator.metadata.now.partitions == {ORDERS, GOODS, OFFSETS}
    assert coordinator.end(is_commit=is_commit) == ("NONE", 0, 0)
    kind = "COMMIT" if is_commit else "ABORT"
    assert coordinator.state == f"Complete{kind.title()}"
    assert coordinator.markers() == coordinator.markers("goods") == [(kind, 0, 0)]
    assert coordinator.offset_ends == [(0, 0, 0, is_commit)]
    assert coordinator.metadata.now.partitions == frozenset()


def test_records_say_what_happened(coordinator: OneTransactionCoordinator) -> None:
    """In Kafka's own format."""
    begin(coordinator)
    coordinator.end(is_commit=True)
    values = [each.value.message for each in coordinator.records() if each and each.value]
    assert [each.transaction_status for each in values] == [0, 1, 2, 4]
    assert values[1].transaction_partitions[0].topic == "orders"


def test_a_partition_that_is_there_already_is_not_written_again(
    coordinator: OneTransactionCoordinator,
) -> None:
    """A producer that asks twice costs nothing."""
    begin(coordinator)
    before = len(coordinator.records())
    assert coordinator.add(ORDERS) == "NONE"
    assert len(coordinator.records()) == before


@pytest.mark.parametrize(
    ("producer", "error"), [((7, 0), "INVALID_PRODUCER_ID_MAPPING"), ((0, 3), "PRODUCER_FENCED")]
)
def test_another_producer_has_no_part_in_a_transaction(
    coordinator: OneTransactionCoordinator, producer: tuple[int, int], error: str
) -> None:
    """It can neither add to it, nor end it, nor write in it."""
    begin(coordinator)
    assert coordinator.add(GOODS, producer=producer) == error
    assert coordinator.end(is_commit=True, producer=producer)[0] == error
    codes = coordinator.transactions.verify_partitions(NAME, producer, [ORDERS])
    assert error_name(codes[ORDERS]) == error
    assert coordinator.state == "Ongoing"


def test_a_name_that_nobody_has_used_has_no_transaction(
    coordinator: OneTransactionCoordinator,
) -> None:
    """A producer has to initialize before."""
    assert coordinator.add(ORDERS, producer=(0, 0)) == "INVALID_PRODUCER_ID_MAPPING"
    assert coordinator.end(is_commit=True, producer=(0, 0))[0] == "INVALID_PRODUCER_ID_MAPPING"


def test_partitions_are_verified(coordinator: OneTransactionCoordinator) -> None:
    """Those that are not in the transaction may be aborted only (KIP-890)."""
    producer = begin(coordinator)
    codes = coordinator.transactions.verify_partitions(NAME, producer, [ORDERS, GOODS])
    assert [error_name(code) for code in codes.values()] == ["NONE", "TRANSACTION_ABORTABLE"]


def test_a_second_producer_fences_the_first_and_aborts_its_transaction(
    coordinator: OneTransactionCoordinator,
) -> None:
    """It asks again until that is done."""
    first = begin(coordinator)
    assert coordinator.init()[0] == "CONCURRENT_TRANSACTIONS"
    assert coordinator.markers() == [("ABORT", 0, 1)]
    assert coordinator.init() == ("NONE", 0, 2)
    assert coordinator.add(ORDERS, producer=first) == "PRODUCER_FENCED"
    assert coordinator.end(is_commit=True, producer=first)[0] == "PRODUCER_FENCED"


def test_each_end_bumps_the_epoch_of_a_client_that_knows_it(
    coordinator: OneTransactionCoordinator,
) -> None:
    """What comes late from the transaction before is fenced by its marker (KIP-890)."""
    producer = begin(coordinator, version=2)
    assert coordinator.end(is_commit=True, version=2) == ("NONE", 0, 1)
    assert coordinator.markers() == [("COMMIT", 0, 1)]
    assert coordinator.end(is_commit=True, producer=producer, version=2) == ("NONE", 0, 1)
    assert coordinator.end(is_commit=False, version=2) == ("NONE", 0, 2)  # it had none


def test_the_last_epoch_is_followed_by_another_id(coordinator: OneTransactionCoordinator) -> None:
    """The producer is told it with the end, and may ask again."""
    begin(coordinator, version=2)
    metadata = coordinator.metadata
    metadata.now = metadata.now._replace(producer_epoch=LAST_EPOCH)
    for _ in range(2):
        told = coordinator.end(is_commit=True, producer=(0, LAST_EPOCH), version=2)
        assert told == ("NONE", 1, 0)
    assert coordinator.markers() == [("COMMIT", 0, LAST_EPOCH + 1)]


@pytest.mark.parametrize("version", [0, 2])
def test_a_transaction_is_aborted_when_its_time_is_over(
    coordinator: OneTransactionCoordinator, version: int
) -> None:
    """Not before; its producer is fenced."""
    producer = begin(coordinator, version)
    coordinator.advance(TIMEOUT_MS - 10)
    assert coordinator.state == "Ongoing"
    coordinator.add(GOODS, version=version)
    coordinator.advance(11)
    assert coordinator.state == "CompleteAbort"
    assert coordinator.markers() == coordinator.markers("goods") == [("ABORT", 0, 1)]
    assert coordinator.add(ORDERS, producer=producer) == "PRODUCER_FENCED"


def test_a_transaction_that_has_ended_has_no_timeout(
    coordinator: OneTransactionCoordinator,
) -> None:
    """The next one has its own."""
    begin(coordinator)
    coordinator.end(is_commit=True)
    coordinator.advance(TIMEOUT_MS - 10)
    coordinator.add(ORDERS)
    coordinator.advance(20)
    assert coordinator.state == "Ongoing"
    coordinator.advance(TIMEOUT_MS)
    assert coordinator.state == "CompleteAbort"


def test_everything_is_known_again_after_a_restart(
    coordinator: OneTransactionCoordinator,
) -> None:
    """An ongoing transaction still has its timeout."""
    producer = begin(coordinator)
    before = coordinator.metadata.now
    coordinator.restart()
    assert coordinator.metadata.now == before
    assert coordinator.add(GOODS, producer=producer) == "NONE"
    coordinator.restart()
    coordinator.advance(TIMEOUT_MS + 1)
    assert coordinator.state == "CompleteAbort"
    assert coordinator.init() == ("NONE", 0, 2)


def test_what_was_prepared_is_completed_after_a_restart(
    coordinator: OneTransactionCoordinator,
) -> None:
    """The markers are written by whoever reads the record."""
    begin(coordinator)
    gone = coordinator.node.replicas.partitions.pop(TopicPartitionOperationKey("orders", 0))
    assert coordinator.end(is_commit=True)[0] == "NONE"
    assert coordinator.state == "PrepareCommit"
    assert coordinator.add(GOODS) == "CONCURRENT_TRANSACTIONS"
    assert coordinator.init()[0] == "CONCURRENT_TRANSACTIONS"
    codes = coordinator.transactions.verify_partitions(NAME, coordinator.producer, [ORDERS])
    assert error_name(codes[ORDERS]) == "CONCURRENT_TRANSACTIONS"
    coordinator.node.replicas.partitions[gone.key] = gone
    coordinator.restart()
    coordinator.advance(1)
    assert coordinator.state == "CompleteCommit"
    assert coordinator.markers() == [("COMMIT", 0, 0)]


def test_a_marker_that_cannot_be_written_is_tried_again(
    coordinator: OneTransactionCoordinator,
) -> None:
    """The other partitions have theirs once."""
    begin(coordinator)
    coordinator.add(GOODS)
    gone = coordinator.node.replicas.partitions.pop(TopicPartitionOperationKey("orders", 0))
    coordinator.end(is_commit=True)
    for _ in range(3):
        coordinator.advance(coordinator.config.marker_retry_ms + 1)
    coordinator.node.replicas.partitions[gone.key] = gone
    coordinator.advance(coordinator.config.marker_retry_ms + 1)
    assert coordinator.state == "CompleteCommit"
    assert coordinator.markers() == coordinator.markers("goods") == [("COMMIT", 0, 0)]


def test_a_topic_that_was_deleted_needs_no_marker(coordinator: OneTransactionCoordinator) -> None:
    """The transaction ends without it."""
    begin(coordinator)
    coordinator.node.controller.delete_topic("orders")
    coordinator.end(is_commit=True)
    assert coordinator.state == "CompleteCommit"


def test_what_cannot_be_written_has_not_happened(coordinator: OneTransactionCoordinator) -> None:
    """It can be tried again."""
    begin(coordinator)
    break_log(coordinator)
    assert coordinator.end(is_commit=True) == ("NOT_COORDINATOR", -1, -1)
    assert coordinator.add(GOODS) == "NOT_COORDINATOR"
    assert coordinator.init(name="refunds")[0] == "NOT_COORDINATOR"
    assert coordinator.state == "Ongoing"
    assert coordinator.metadata.pending_state is None


def test_a_producer_id_that_cannot_be_given_is_asked_for_again(
    coordinator: OneTransactionCoordinator,
) -> None:
    """The controller's disk may be full."""

    def full() -> int:
        raise LogFileError(coordinator.node.replicas.logs.folder, "No space left on device")

    coordinator.transactions._generate_producer_id = full
    assert coordinator.init()[0] == "COORDINATOR_LOAD_IN_PROGRESS"


def test_an_id_that_rests_for_long_is_forgotten(coordinator: OneTransactionCoordinator) -> None:
    """Also after a restart; its name begins anew, with another producer id."""
    begin(coordinator)
    coordinator.end(is_commit=True)
    hour_ms = coordinator.config.expiration_check_interval_ms
    coordinator.advance(hour_ms)
    assert coordinator.state == "CompleteCommit"
    coordinator.advance(WEEK_MS)
    assert coordinator.transactions.find(NAME) is None
    coordinator.restart()
    assert coordinator.transactions.transactions == []
    assert coordinator.init() == ("NONE", 1, 0)


def test_an_ongoing_transaction_is_not_forgotten(tmp_path_factory: pytest.TempPathFactory) -> None:
    """However old its record is."""
    config = TransactionConfig(transactional_id_expiration_ms=10, expiration_check_interval_ms=20)
    coordinator = OneTransactionCoordinator(tmp_path_factory.mktemp("short"), config)
    begin(coordinator)
    coordinator.advance(100)
    assert coordinator.state == "Ongoing"


def test_an_id_is_coordinated_where_its_partition_is_led(
    coordinator: OneTransactionCoordinator,
) -> None:
    """Elsewhere it is not known."""
    begin(coordinator)
    coordinator.node.controller.delete_topic(TOPIC)
    with pytest.raises(RequestRefusedError, match="NOT_COORDINATOR"):
        coordinator.transactions.find(NAME)
    assert coordinator.init()[0] == "NOT_COORDINATOR"
    coordinator.advance(TIMEOUT_MS + 1)  # nothing is left that would abort it
    assert coordinator.markers() == []
    with pytest.raises(RequestRefusedError, match="INVALID_REQUEST"):
        coordinator.transactions.find("")


def test_an_unknown_partition_gets_no_marker(coordinator: OneTransactionCoordinator) -> None:
    """Handlers refuse it before; a topic may go in between."""
    coordinator.init()
    assert coordinator.add(TxnPartition("nowhere", 3)) == "NONE"
    coordinator.end(is_commit=False)
    assert coordinator.state == "CompleteAbort"
