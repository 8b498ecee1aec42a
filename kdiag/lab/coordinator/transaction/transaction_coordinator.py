"""The transaction coordinator of a node: takes requests to the metadata of their transactional id.

    coordinator.init_producer_id(...)     an id and an epoch; fences whoever had the name before
    coordinator.add_partitions(...)       they are part of the transaction; the first begin it
    coordinator.verify_partitions(...)    whether they are
    coordinator.end(...)                  commit or abort: prepared, answered, markers, completed
    coordinator.advance()                 timeouts, expiration, markers that are tried again

A request for an id that another node coordinates is NOT_COORDINATOR. What changes is written first:
`append` of the runtime, then `complete_transition_to`. A transaction that has a timeout is aborted
when that is over: its task is in the timer as long as it is ongoing.

Source: Kafka's `TransactionCoordinator`, `TransactionStateManager`.
"""

import logging
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from kdiag.clock import NS_PER_MS, Clock
from kdiag.lab.controller.cluster_image import ClusterImage
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord
from kdiag.lab.coordinator.runtime.coordinator_runtime import CoordinatorRuntime
from kdiag.lab.coordinator.transaction.ending import EndRequest, is_end_prepared_by
from kdiag.lab.coordinator.transaction.marker_writer import EndMarker, MarkerCodes, WritesMarkers
from kdiag.lab.coordinator.transaction.transaction_config import (
    TRANSACTION_TOPIC,
    GenerateProducerId,
    TransactionConfig,
)
from kdiag.lab.coordinator.transaction.transaction_metadata import (
    EPOCH_BUMPS_SINCE,
    NO_EPOCH,
    NO_PRODUCER_ID,
    TransactionMetadata,
    TxnPartition,
    TxnTransitMetadata,
)
from kdiag.lab.coordinator.transaction.transaction_shard import (
    TransactionShard,
    record_of,
    tombstone_of,
)
from kdiag.lab.coordinator.transaction.transaction_state import TransactionState
from kdiag.lab.log.refusal import LogFileError
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.replica_manager import ReplicaManager
from kdiag.lab.timer.system_timer import SystemTimer
from kdiag.wire.error_code import CODE_BY_NAME, error_name

if TYPE_CHECKING:
    from kdiag.lab.timer.wheel import TimerTask

LOG: Final = logging.getLogger(__name__)

_NONE: Final = 0
_DROPPED: Final = frozenset(
    CODE_BY_NAME[name]
    for name in (
        "UNKNOWN_TOPIC_OR_PARTITION",
        "INVALID_PRODUCER_EPOCH",
        "TRANSACTION_COORDINATOR_FENCED",
        "UNSUPPORTED_FOR_MESSAGE_FORMAT",
        "CORRUPT_MESSAGE",
    )
)
"""Errors after which a marker is not tried again: it can never be written, or need not be."""


class ProducerIdAndEpoch(NamedTuple):
    """A producer, or why it is none.

    Attributes:
        error_code: 0 if nothing is wrong.
        producer_id: its id; -1 with an error.
        producer_epoch: likewise.
    """

    error_code: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH


OnProducer = Callable[[ProducerIdAndEpoch], None]
OnError = Callable[[int], None]


class TransactionCoordinator:
    """The transactions of a node.

    Attributes:
        config: times and limits.
        runtime: the partitions of transactions that the node leads.
        timer: holds the timeouts of transactions.
        markers: writes markers.
    """

    def __init__(
        self,
        replicas: ReplicaManager,
        clock: Clock,
        markers: WritesMarkers,
        generate_producer_id: GenerateProducerId,
        config: TransactionConfig | None = None,
    ) -> None:
        """Coordinate nothing yet; `handle_image` tells which partitions there are.

        Args:
            replicas: the node's partitions.
            clock: the time.
            markers: writes markers.
            generate_producer_id: gives producer ids.
            config: times and limits.
        """
        self.config = config or TransactionConfig()
        self.timer = SystemTimer(clock)
        self.markers = markers
        self.runtime = CoordinatorRuntime(TRANSACTION_TOPIC, replicas, clock, self._make_shard)
        self._replicas = replicas
        self._clock = clock
        self._generate_producer_id = generate_producer_id
        self._timeouts: dict[str, TimerTask] = {}
        self._schedule_expiration()

    def __repr__(self) -> str:
        return f"<TransactionCoordinator of {len(self.transactions)} ids>"

    @property
    def transactions(self) -> list[TransactionMetadata]:
        """Return all transactional ids that the node coordinates."""
        return [each for shard in self.runtime.shards for each in shard.transactions.values()]

    @property
    def now_ms(self) -> int:
        """Return the time in milliseconds since 1970."""
        return self._clock.epoch_ns() // NS_PER_MS

    def handle_image(self, image: ClusterImage) -> None:
        """Begin and stop to coordinate."""
        self.runtime.handle_image(image)

    def advance(self) -> int | None:
        """Do what is due, and return when to be called next."""
        loading_ns = self.runtime.advance()
        self.timer.advance()
        due = [each for each in (loading_ns, self.timer.next_ns) if each is not None]
        return min(due, default=None)

    def find(self, transactional_id: str) -> TransactionMetadata | None:
        """Return a transactional id; None if nobody has used it.

        Raises:
            RequestRefusedError: INVALID_REQUEST, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.
        """
        if not transactional_id:
            raise RequestRefusedError("INVALID_REQUEST", "a transactional id is not empty")
        return self.runtime.shard_of(transactional_id).transactions.get(transactional_id)

    def init_producer_id(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: ProducerIdAndEpoch | None,
        respond: OnProducer,
    ) -> None:
        """Give a producer its id and epoch, and fence whoever had the name before.

        Args:
            transactional_id: its name.
            timeout_ms: of its transactions.
            expected: the id and epoch that it had; None if it does not say (KIP-360).
            respond: gets the new ones, once, now or later.
        """
        try:
            metadata = self._get_or_create(transactional_id, timeout_ms)
            _check_is_settled(metadata)
            _check_is_known(metadata, expected)
            if metadata.now.state is TransactionState.ONGOING:
                self._fence(
                    metadata,
                    lambda code: respond(
                        ProducerIdAndEpoch(code or CODE_BY_NAME["CONCURRENT_TRANSACTIONS"])
                    ),
                )
                return
            transit = self._prepare_init(metadata, timeout_ms, expected)
        except RequestRefusedError as error:
            respond(ProducerIdAndEpoch(error.code))
            return

        def handle(code: int) -> None:
            known = (transit.producer_id, transit.producer_epoch)
            respond(ProducerIdAndEpoch(code) if code else ProducerIdAndEpoch(_NONE, *known))

        self._write(metadata, transit, handle)

    def add_partitions(
        self,
        transactional_id: str,
        producer: tuple[int, int],
        partitions: AbstractSet[TxnPartition],
        respond: OnError,
        client_version: int = 0,
    ) -> None:
        """Make partitions part of a transaction; the first begin it.

        Args:
            transactional_id: of the producer.
            producer: its id and epoch.
            partitions: the partitions.
            respond: gets the error code, once, now or later.
            client_version: the transaction version of the client.
        """
        try:
            metadata = self._checked(transactional_id, producer)
            _check_is_settled(metadata)
        except RequestRefusedError as error:
            respond(error.code)
            return
        is_ongoing = metadata.now.state is TransactionState.ONGOING
        if is_ongoing and partitions <= metadata.now.partitions:
            respond(_NONE)
            return
        transit = metadata.prepare_add_partitions(partitions, self.now_ms, client_version)
        self._write(metadata, transit, respond)

    def verify_partitions(
        self, transactional_id: str, producer: tuple[int, int], partitions: Iterable[TxnPartition]
    ) -> MarkerCodes:
        """Return an error code for each partition: whether it is part of the transaction."""
        try:
            metadata = self._checked(transactional_id, producer)
        except RequestRefusedError as error:
            return dict.fromkeys(partitions, error.code)
        if metadata.now.state.is_prepared:
            return dict.fromkeys(partitions, CODE_BY_NAME["CONCURRENT_TRANSACTIONS"])
        missing = CODE_BY_NAME["TRANSACTION_ABORTABLE"]
        known = metadata.now.partitions
        return {each: _NONE if each in known else missing for each in partitions}

    def end(self, transactional_id: str, request: EndRequest, respond: OnProducer) -> None:
        """End a transaction, and answer when that can no longer be lost.

        Args:
            transactional_id: of the producer.
            request: what it asks.
            respond: gets the producer's id and epoch from now on, once, now or later.
        """
        try:
            metadata = self._known(transactional_id)
            if not is_end_prepared_by(request, metadata):
                now = metadata.now
                respond(ProducerIdAndEpoch(_NONE, now.producer_id, now.producer_epoch))
                return
            next_id = NO_PRODUCER_ID
            bumps_epoch = request.client_version >= EPOCH_BUMPS_SINCE
            if bumps_epoch and metadata.now.is_epoch_exhausted:
                next_id = self._new_producer_id()
        except RequestRefusedError as error:
            respond(ProducerIdAndEpoch(error.code))
            return
        transit = metadata.prepare_abort_or_commit(
            request.prepared, request.client_version, next_id, self.now_ms
        )
        self._end(metadata, transit, respond)

    def _prepare_init(
        self, metadata: TransactionMetadata, timeout_ms: int, expected: ProducerIdAndEpoch | None
    ) -> TxnTransitMetadata:
        """Prepare the id and the epoch of a producer that initializes.

        Raises:
            RequestRefusedError: PRODUCER_FENCED, COORDINATOR_LOAD_IN_PROGRESS.
        """
        now, now_ms = metadata.now, self.now_ms
        epoch = None if expected is None else expected.producer_epoch
        if now.is_epoch_exhausted and epoch in {None, now.producer_epoch}:
            return metadata.prepare_producer_id_rotation(
                self._new_producer_id(), timeout_ms, now_ms, is_last_epoch_kept=epoch is not None
            )
        return metadata.prepare_increment_producer_epoch(timeout_ms, epoch, now_ms)

    def _fence(self, metadata: TransactionMetadata, respond: OnError) -> None:
        """Bump the epoch of the producer of an ongoing transaction, and abort it."""
        fence = metadata.prepare_fence_producer_epoch()
        transit = metadata.prepare_fenced_abort(fence, self.now_ms)
        self._end(metadata, transit, lambda ended: respond(ended.error_code))

    def _end(
        self, metadata: TransactionMetadata, transit: TxnTransitMetadata, respond: OnProducer
    ) -> None:
        """Write what was prepared, answer, and write markers."""

        def handle(code: int) -> None:
            if code:
                respond(ProducerIdAndEpoch(code))
                return
            told = transit.producer_id, transit.producer_epoch
            if transit.next_producer_id != NO_PRODUCER_ID:
                told = transit.next_producer_id, 0
            respond(ProducerIdAndEpoch(_NONE, *told))
            self._write_markers(metadata)

        self._write(metadata, transit, handle)

    def _write_markers(self, metadata: TransactionMetadata) -> None:
        """Write the markers of a transaction whose end is prepared."""
        now = metadata.now
        if not self._is_coordinated(metadata) or not now.state.is_prepared:
            return
        partitions = now.partitions
        if not partitions:
            self._write(metadata, metadata.prepare_complete(self.now_ms), self._warn_of(metadata))
            return
        marker = EndMarker(
            now.producer_id,
            now.producer_epoch,
            now.state is TransactionState.PREPARE_COMMIT,
            self._coordinator_epoch(metadata.transactional_id),
        )
        self.markers.write(marker, partitions, lambda codes: self._handle_markers(metadata, codes))

    def _handle_markers(self, metadata: TransactionMetadata, codes: MarkerCodes) -> None:
        """Take note of markers that were written, and try those again that were not."""
        done = {each for each, code in codes.items() if not code or code in _DROPPED}
        for partition, code in codes.items():
            if code:
                LOG.info("%r: no marker in %s: %s", metadata, partition, error_name(code))
        metadata.now = metadata.now._replace(partitions=metadata.now.partitions - done)
        if metadata.now.partitions:
            delay_ns = self.config.marker_retry_ms * NS_PER_MS
            self.timer.add(delay_ns, partial(self._write_markers, metadata))
        else:
            self._write_markers(metadata)

    def _write(
        self, metadata: TransactionMetadata, transit: TxnTransitMetadata, respond: OnError
    ) -> None:
        """Write what was prepared; when the log has it, it is so."""

        def handle(code: int) -> None:
            if code:
                metadata.pending_state = None
            else:
                metadata.complete_transition_to(transit)
                self._schedule_timeout(metadata)
            respond(code)

        self._append(metadata, record_of(metadata.transactional_id, transit), handle)

    def _append(
        self, metadata: TransactionMetadata, record: CoordinatorRecord, respond: OnError
    ) -> None:
        partition = self.runtime.partition_of(metadata.transactional_id)
        self.runtime.append(partition, [record], respond)

    def _schedule_timeout(self, metadata: TransactionMetadata) -> None:
        """Have a transaction aborted when its time is over, as long as it is ongoing."""
        name = metadata.transactional_id
        task = self._timeouts.get(name)
        if metadata.now.state is not TransactionState.ONGOING:
            if task is not None:
                self._timeouts.pop(name).cancel()
        elif task is None:
            due_ms = metadata.now.start_ms + metadata.now.timeout_ms
            delay_ns = max(0, due_ms - self.now_ms) * NS_PER_MS
            self._timeouts[name] = self.timer.add(delay_ns, partial(self._time_out, metadata))

    def _time_out(self, metadata: TransactionMetadata) -> None:
        """Abort a transaction whose time is over."""
        self._timeouts.pop(metadata.transactional_id, None)
        if not self._is_coordinated(metadata) or metadata.now.state is not TransactionState.ONGOING:
            return
        if metadata.pending_state is not None:  # it is ending, or getting partitions
            retry_ns = self.config.marker_retry_ms * NS_PER_MS
            name = metadata.transactional_id
            self._timeouts[name] = self.timer.add(retry_ns, partial(self._time_out, metadata))
            return
        LOG.info("%r is aborted: %d ms are over", metadata, metadata.now.timeout_ms)
        self._fence(metadata, self._warn_of(metadata))

    def _schedule_expiration(self) -> None:
        delay_ns = self.config.expiration_check_interval_ms * NS_PER_MS
        self.timer.add(delay_ns, self._expire)

    def _expire(self) -> None:
        """Forget the ids that have rested for long."""
        self._schedule_expiration()
        before_ms = self.now_ms - self.config.transactional_id_expiration_ms
        for metadata in self.transactions:
            is_resting = metadata.now.state.is_expiration_allowed
            if (
                is_resting
                and metadata.pending_state is None
                and metadata.now.update_ms <= before_ms
            ):
                self._forget(metadata)

    def _forget(self, metadata: TransactionMetadata) -> None:
        metadata.prepare_dead()
        name = metadata.transactional_id

        def handle(code: int) -> None:
            metadata.pending_state = None
            if not code and self._is_coordinated(metadata):
                del self.runtime.shard_of(name).transactions[name]

        self._append(metadata, tombstone_of(name), handle)

    def _get_or_create(self, transactional_id: str, timeout_ms: int) -> TransactionMetadata:
        """Return the metadata of an id, which is new if nobody has used it.

        Raises:
            RequestRefusedError: INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT, NOT_COORDINATOR,
                COORDINATOR_LOAD_IN_PROGRESS.
        """
        if not transactional_id:
            raise RequestRefusedError("INVALID_REQUEST", "a transactional id is not empty")
        most = self.config.transaction_max_timeout_ms
        if not 0 < timeout_ms <= most:
            why = f"{timeout_ms} ms: expected 1 to {most}"
            raise RequestRefusedError("INVALID_TRANSACTION_TIMEOUT", why)
        shard = self.runtime.shard_of(transactional_id)
        metadata = shard.transactions.get(transactional_id)
        if metadata is None:
            new = TxnTransitMetadata(
                self._new_producer_id(), NO_EPOCH, timeout_ms, update_ms=self.now_ms
            )
            metadata = TransactionMetadata(transactional_id, new)
            shard.transactions[transactional_id] = metadata
        return metadata

    def _new_producer_id(self) -> int:
        """Return another producer id.

        Raises:
            RequestRefusedError: COORDINATOR_LOAD_IN_PROGRESS, so that the client asks again.
        """
        try:
            return self._generate_producer_id()
        except LogFileError as error:
            raise RequestRefusedError("COORDINATOR_LOAD_IN_PROGRESS", str(error)) from error

    def _known(self, transactional_id: str) -> TransactionMetadata:
        """Return the metadata of an id.

        Raises:
            RequestRefusedError: INVALID_PRODUCER_ID_MAPPING if nobody has used it; as `find`.
        """
        metadata = self.find(transactional_id)
        if metadata is None:
            why = f"no producer has the transactional id {transactional_id!r}"
            raise RequestRefusedError("INVALID_PRODUCER_ID_MAPPING", why)
        return metadata

    def _checked(self, transactional_id: str, producer: tuple[int, int]) -> TransactionMetadata:
        """Return the metadata of an id, whose producer this is.

        Raises:
            RequestRefusedError: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED; as `find`.
        """
        metadata = self._known(transactional_id)
        producer_id, epoch = producer
        if producer_id != metadata.now.producer_id:
            why = f"producer id {producer_id}, it is {metadata.now.producer_id}"
            raise RequestRefusedError("INVALID_PRODUCER_ID_MAPPING", why)
        if epoch != metadata.now.producer_epoch:
            why = f"epoch {epoch}, it is {metadata.now.producer_epoch}"
            raise RequestRefusedError("PRODUCER_FENCED", why)
        return metadata

    def _coordinator_epoch(self, transactional_id: str) -> int:
        """Return the leader epoch of the partition that keeps an id."""
        partition = self.runtime.partition_of(transactional_id)
        key = TopicPartitionOperationKey(TRANSACTION_TOPIC.name, partition)
        return self._replicas.partitions[key].leader_epoch

    def _is_coordinated(self, metadata: TransactionMetadata) -> bool:
        """Return whether the node still coordinates an id."""
        try:
            return self.find(metadata.transactional_id) is metadata
        except RequestRefusedError:
            return False

    def _warn_of(self, metadata: TransactionMetadata) -> OnError:
        def warn(code: int) -> None:
            if code:
                LOG.warning("%r: not written: %s", metadata, error_name(code))

        return warn

    def _make_shard(self, partition: int) -> TransactionShard:
        return TransactionShard(partition, self._handle_loaded, self._handle_unloaded)

    def _handle_loaded(self, shard: TransactionShard) -> None:
        """Complete what was prepared, and go on to wait for the end of what is ongoing."""
        for metadata in shard.transactions.values():
            self._schedule_timeout(metadata)
            if metadata.now.state.is_prepared:
                self.timer.add(0, partial(self._write_markers, metadata))

    def _handle_unloaded(self, shard: TransactionShard) -> None:
        for name in shard.transactions:
            task = self._timeouts.pop(name, None)
            if task is not None:
                task.cancel()


def _check_is_settled(metadata: TransactionMetadata) -> None:
    """Refuse a request while something is being written.

    Raises:
        RequestRefusedError: CONCURRENT_TRANSACTIONS.
    """
    if metadata.pending_state is not None or metadata.now.state.is_prepared:
        raise RequestRefusedError("CONCURRENT_TRANSACTIONS", f"{metadata!r} is changing")


def _check_is_known(metadata: TransactionMetadata, expected: ProducerIdAndEpoch | None) -> None:
    """Refuse a producer that initializes again, if the id is no longer its (KIP-360).

    Raises:
        RequestRefusedError: PRODUCER_FENCED.
    """
    if expected and not metadata.is_known_producer(*expected[1:]):
        why = f"producer id {expected.producer_id}, it is {metadata.now.producer_id}"
        raise RequestRefusedError("PRODUCER_FENCED", why)
