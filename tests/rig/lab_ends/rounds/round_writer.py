"""A producer that writes numbers through faults, and knows which were acknowledged, and where.

    writer = RoundWriter(clients, partitions, chance, is_idempotent=True)
    writer.write(begins=True)      a batch for each partition, or those before once more
    writer.acked                   [AckedBatch(orders[0], 17, ["once 0 5", "once 0 6"]), ...]

It has acks=all, and one batch of each partition under way. Whatever a broker says of one, it is
sent again, with the sequence that it had, until it is acknowledged.
"""

from random import Random
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.request_future import is_retriable
from kdiag.errors import KdiagError
from kdiag.probe.topic_requests import produce_request
from kdiag.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kdiag.wire.api.produce import ProduceResponse
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from kdiag.wire.schema import ZERO_UUID
from lab_ends.rounds.round_clients import RoundClients

_CODECS: Final = ("none", "none", "gzip", "snappy", "lz4")
_ALL: Final = -1
_NO_ID: Final = -1
_TURN_NS: Final = 1_000_000_000


class AckedBatch(NamedTuple):
    """A batch that a broker has acknowledged.

    Attributes:
        key: the partition.
        offset: of its first record, as the broker says.
        values: of its records.
    """

    key: PartitionKey
    offset: int
    values: list[str]

    @property
    def offsets(self) -> range:
        """Return where its records must be."""
        return range(self.offset, self.offset + len(self.values))


class _Batch(NamedTuple):
    values: list[str]
    sequence: int
    codec: str


class _LedTopic(NamedTuple):
    topic: str
    topic_id: bytes


class RoundWriter:
    """Writes to all partitions of a topic; for one thread.

    Attributes:
        acked: what was acknowledged, in that order.
        errors: what went wrong, in a few words each.
    """

    def __init__(
        self,
        clients: RoundClients,
        keys: list[PartitionKey],
        chance: Random,
        *,
        is_idempotent: bool,
    ) -> None:
        """Write nothing yet.

        Args:
            clients: makes the client.
            keys: the partitions, all of one topic.
            chance: how much is written.
            is_idempotent: whether the broker drops what comes twice.
        """
        self.acked: list[AckedBatch] = []
        self.errors: list[str] = []
        self._clients = clients
        self._chance = chance
        self._topic = keys[0].topic
        self._prefix = "once" if is_idempotent else "again"
        self._producer = None if is_idempotent else (_NO_ID, _NO_ID)
        self._client: ClusterClient | None = None
        self._is_stale = True
        self._waiting: dict[PartitionKey, _Batch] = {}
        self._numbers = dict.fromkeys(keys, 0)

    @property
    def is_done(self) -> bool:
        """Return whether everything that was begun is acknowledged."""
        return not self._waiting

    def write(self, *, begins: bool) -> None:
        """Send what waits for its acknowledgement, once.

        Args:
            begins: whether to begin with new batches where none waits.
        """
        if begins:
            self._begin()
        if not self._waiting:
            return
        try:
            client = self._ready()
            self._send(client)
        except KdiagError as error:
            self.errors.append(f"{type(error).__name__}: {error}")
            self._is_stale = True
            if self._client is not None and not is_retriable(error):
                self._clients.close(self._client)
                self._client = None

    def _begin(self) -> None:
        for key, number in self._numbers.items():
            if key not in self._waiting and self._chance.random() < 0.7:
                count = self._chance.choice((1, 1, 3, 8))
                values = [f"{self._prefix} {each}" for each in range(number, number + count)]
                self._waiting[key] = _Batch(values, number, self._chance.choice(_CODECS))
                self._numbers[key] = number + count

    def _ready(self) -> ClusterClient:
        """Return a client, once there is one, and an id of the producer.

        Raises:
            KdiagError: if the cluster cannot be asked.
        """
        if self._client is None:
            self._client = self._clients.connect(f"fuzz-{self._prefix}")
            self._is_stale = True
        client = self._client
        if self._producer is None:
            asked = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
            given = client.ask_any(asked, InitProducerIdResponse)
            if given.error_code:
                raise KdiagError(f"InitProducerId: error {given.error_code}")
            self._producer = given.producer_id, given.producer_epoch
        if self._is_stale:
            client.refresh([self._topic])
            self._is_stale = False
        return client

    def _send(self, client: ClusterClient) -> None:
        """Send each batch to its leader, and take the answers."""
        cluster = client.cluster
        found = cluster.topics.get(self._topic)
        topic = _LedTopic(self._topic, ZERO_UUID if found is None else found.topic_id)
        leaders = {key: cluster.leader_id(*key) for key in self._waiting}
        led = [(key, node) for key, node in leaders.items() if node is not None]
        if len(led) < len(leaders):
            self._is_stale = True
        if not led:
            client.wait(_TURN_NS // 10)
            return
        questions = [
            (node, produce_request(topic, key.partition, _ALL, self._bytes(key)))
            for key, node in led
        ]
        answers = client.ask_each(questions, ProduceResponse)
        for (key, _), answer in zip(led, answers, strict=True):
            if answer.body is not None:
                self._take(key, answer.body)
        for answer in answers:
            if answer.error is not None:
                raise answer.error

    def _bytes(self, key: PartitionKey) -> bytes:
        batch = self._waiting[key]
        assert self._producer is not None
        producer_id, producer_epoch = self._producer
        header = BatchHeader(
            compression=batch.codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=_NO_ID if producer_id == _NO_ID else batch.sequence,
        )
        now_ms = self._clients.clock.epoch_ns() // 1_000_000
        records = [
            Record(at, now_ms, None, value.encode()) for at, value in enumerate(batch.values)
        ]
        return write_batch(records, header)

    def _take(self, key: PartitionKey, response: ProduceResponse) -> None:
        """Note what was acknowledged, if it was."""
        told = [each for topic in response.responses for each in topic.partition_responses]
        mine = next((each for each in told if each.index == key.partition), None)
        if mine is None or mine.error_code:
            self.errors.append(f"Produce {key}: {mine and mine.error_code}")
            self._is_stale = True
        else:
            batch = self._waiting.pop(key)
            self.acked.append(AckedBatch(key, mine.base_offset, batch.values))
