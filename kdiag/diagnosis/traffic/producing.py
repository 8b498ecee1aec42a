"""How clients write: the size of batches, codecs, acks, and partitions that get most of it.

A rate counts where a client writes much: a record a second in a request of its own is no problem.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import Any, Final, NamedTuple

import msgspec

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.traffic.ledgers import (
    Asker,
    Case,
    Ledgers,
    client_of,
    findings_of,
)
from kdiag.errors import DecodeError
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, Status
from kdiag.exchange.side import Side
from kdiag.exchange.summary.counts import Again, AgainOn
from kdiag.findings.finding import Finding
from kdiag.wire.codec.explain import Span, explain
from kdiag.wire.primitives import uuid_text
from kdiag.wire.records.batch import MAGIC_2, RecordBatch
from kdiag.wire.records.record import CODEC_MASK

LARGEST_BATCH_BYTES: Final = 1_048_588
"""Kafka's default of `message.max.bytes`."""

_LEAST_REQUESTS: Final = 100
_LEAST_PER_S: Final = 20
_ABOUT_ONE: Final = 1.1  # record per request: the first may wait for metadata, and gather some
_TINY_BYTES: Final = 1_000
_TINY_PER_S: Final = 50
_LEAST_PLAIN_BYTES: Final = 1_000_000
_PLAIN_BATCH_BYTES: Final = (
    4_096  # a codec sees one batch at a time, and small ones have no repeats
)
_SAMPLE_BYTES: Final = 16_384  # of a batch
_MOST_SAMPLES: Final = 8  # of a client and topic
_FAST: Final = 1
_HEADER_BYTES: Final = 61
_CODEC_AT: Final = 22  # in a batch of magic 2
_COUNT_AT: Final = 57
_NUMBER_BYTES: Final = 4
_LEAST_SAVED: Final = 0.5
HOT_BYTES: Final = 1_000_000
"""What a topic is written at least before one of its partitions is hot."""
_HOT_BATCHES: Final = 100
_HOT_SHARE: Final = 0.5
_HOT_TIMES: Final = 3
_LEAST_PARTITIONS: Final = 4


class ProducerLedger(msgspec.Struct):
    """What a client wrote.

    Attributes:
        requests, batches, records, bytes: Produce requests, and what was in their batches.
        unanswered: those with acks=0.
        first_ns, last_ns: of the requests, since 1970.
        largest_bytes: of a batch.
        example, largest_example, unanswered_example: numbers of exchanges.
    """

    requests: int = 0
    batches: int = 0
    records: int = 0
    bytes: int = 0
    unanswered: int = 0
    first_ns: int = 0
    last_ns: int = 0
    largest_bytes: int = 0
    example: int = 0
    largest_example: int = 0
    unanswered_example: int = 0

    def begin(self, times_ns: Sequence[int]) -> None:
        """Add requests, of these times."""
        self.requests += len(times_ns)
        self.last_ns = max(self.last_ns, *times_ns)

    def add(self, records: int, size_bytes: int, count: int = 1) -> None:
        """Add a batch, or as many like it."""
        self.batches += count
        self.records += count * records
        self.bytes += count * size_bytes

    @property
    def per_s(self) -> int:
        """Return how many requests it sent a second, while it did."""
        span_ns = max(self.last_ns - self.first_ns, NS_PER_S // 10)
        return self.requests * NS_PER_S // span_ns


class PlainLedger(msgspec.Struct):
    """What a client wrote to a topic without compression, in batches that are worth it.

    Attributes:
        size_bytes: all of it.
        samples: the begins of some batches, each of which would be compressed by itself.
        example: the number of an exchange.
    """

    size_bytes: int = 0
    samples: list[bytes] = []
    example: int = 0

    def saved(self) -> float:
        """Return which part of the samples a codec would spare."""
        whole = sum(map(len, self.samples))
        packed = sum(len(zlib.compress(each, _FAST)) for each in self.samples)
        return 1 - packed / whole if whole else 0.0


class PartitionLedger(msgspec.Struct):
    """What was written to a partition."""

    bytes: int = 0
    batches: int = 0

    def add(self, size_bytes: int, count: int = 1) -> None:
        """Add a batch, or as many like it."""
        self.bytes += count * size_bytes
        self.batches += count


_Mark = tuple[str, int, int, int, int]
"""Topic, partition and field of a batch, its start in that field, and its size."""


class _PlacedBatch(NamedTuple):
    """A batch in a Produce request.

    Attributes:
        topic, partition: where it goes; the topic by id where the version has no names.
        field: which of the `records` fields of the request holds it, from 0.
        batch: the batch.
    """

    topic: str
    partition: int
    field: int
    batch: RecordBatch


class _Writer(NamedTuple):
    """A client, and what it wrote."""

    client: Asker
    producer: ProducerLedger


class _BatchPlace(NamedTuple):
    """Where the facts of a batch are in all requests that are like one another.

    Attributes:
        topic: the topic, which all of them name.
        size_bytes: of the batch.
        read: returns the partition, the low byte of the batch's attributes, which has its codec,
            and how many records it says it has, of a frame.
    """

    topic: str
    size_bytes: int
    read: Callable[[bytes], tuple[Any, ...]]


class Producing:
    """Looks at Produce requests.

    Attributes:
        producers: what each client wrote.
        partitions: what was written to each partition, by topic and number.
        partition_counts: how many partitions each topic has, as brokers told last.
    """

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self.producers: Ledgers[Asker, ProducerLedger] = Ledgers(ProducerLedger)
        self._plain: Ledgers[tuple[Asker, str], PlainLedger] = Ledgers(PlainLedger)
        self.partitions: Ledgers[tuple[str, int], PartitionLedger] = Ledgers(PartitionLedger)
        self.partition_counts: dict[str, int] = {}

    @property
    def left_out(self) -> int:
        """Return how often there was no room for a client, topic or partition."""
        return self.producers.left_out + self._plain.left_out + self.partitions.left_out

    def learn_partitions(self, response: Any) -> None:
        """Learn from a Metadata response how many partitions topics have."""
        for topic in response.topics or ():
            if topic.partitions and topic.name:
                self.partition_counts[topic.name] = len(topic.partitions)

    def add(self, dissection: Dissection) -> AgainOn | None:
        """Add a Produce exchange; return who adds those like it."""
        exchange, request = dissection.exchange, dissection.request
        if request is None or request.status is not Status.OK:
            return None
        batches = list(_batches(request))
        writer = self._writer_of(exchange)
        if writer is not None:
            producer = writer.producer
            if request.message.acks == 0:
                producer.unanswered += 1
                producer.unanswered_example = producer.unanswered_example or exchange.number
            producer.begin([exchange.time_ns])
            for each in batches:
                self._read_batch(writer, each, exchange.number)
        if any(each.batch.magic != MAGIC_2 for each in batches):
            return None
        return self._again_on(request, batches)

    def _writer_of(self, exchange: Exchange) -> _Writer | None:
        """Return the writer of an exchange; None if there is no room for another."""
        client = client_of(exchange)
        producer = self.producers.of(client)
        if producer is None:
            return None
        if not producer.first_ns:
            producer.first_ns, producer.example = exchange.time_ns, exchange.number
        return _Writer(client, producer)

    def _read_batch(self, writer: _Writer, placed: _PlacedBatch, number: int) -> None:
        """Count a batch that was read, with what it alone tells."""
        batch, producer = placed.batch, writer.producer
        try:
            records = batch.record_count
        except DecodeError:
            return
        size_bytes = batch.size_in_bytes
        producer.add(records, size_bytes)
        partition = self.partitions.of((placed.topic, placed.partition))
        if partition is not None:
            partition.add(size_bytes)
        if size_bytes > producer.largest_bytes:
            producer.largest_bytes, producer.largest_example = size_bytes, number
        is_plain = batch.compression == "none" and size_bytes >= _PLAIN_BATCH_BYTES
        plain = self._plain_of(writer, placed.topic, size_bytes) if is_plain else None
        if plain is not None:
            _take_sample(plain, batch, number)

    def _again_on(self, request: Side, batches: Sequence[_PlacedBatch]) -> AgainOn:
        """Return who adds requests like one that was read.

        Numbers differ between them: the partitions, how many records a batch has, its codec.
        """
        cls, version, start = type(request.message), request.version, request.body_offset
        marks = [(*each[:3], each.batch.start, each.batch.size_in_bytes) for each in batches]
        places: list[_BatchPlace] = []

        def again_on(exchange: Exchange) -> Again | None:
            writer = self._writer_of(exchange)
            if not places and exchange.request is not None:
                spans = explain(cls, version, exchange.request.data, start).spans
                places.extend(_places(spans, marks))
            return None if writer is None else self._again(writer, places)

        return again_on

    def _again(self, writer: _Writer, places: Sequence[_BatchPlace]) -> Again:
        """Return what adds requests of a writer, with batches in these places."""
        producer = writer.producer

        def again(exchanges: Sequence[Exchange]) -> None:
            frames = [each.request for each in exchanges if each.request is not None]
            producer.begin([frame.first_byte_ns for frame in frames])
            data = [frame.data for frame in frames]
            for topic, size_bytes, read in places:
                for (index, codec, records), count in Counter(map(read, data)).items():
                    producer.add(records, size_bytes, count)
                    partition = self.partitions.of((topic, index))
                    if partition is not None:
                        partition.add(size_bytes, count)
                    if size_bytes >= _PLAIN_BATCH_BYTES and not codec & CODEC_MASK:
                        self._plain_of(writer, topic, count * size_bytes)

        return again

    def _plain_of(self, writer: _Writer, topic: str, size_bytes: int) -> PlainLedger | None:
        """Add a batch without compression; return the ledger of its client and topic."""
        plain = self._plain.of((writer.client, topic))
        if plain is not None:
            plain.size_bytes += size_bytes
        return plain

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong."""
        singles, tiny, unanswered, large = [], [], [], []
        for client, of in self.producers.items():
            evidence = self._evidence(client, of)
            if of.requests >= _LEAST_REQUESTS and of.records <= _ABOUT_ONE * of.requests:
                if of.per_s >= _LEAST_PER_S:
                    singles.append(Case(of.requests, str(client), evidence))
            elif self._is_tiny(of):
                tiny.append(Case(of.requests, str(client), evidence))
            if of.unanswered:
                changed = {"requests": of.unanswered, "exchange": of.unanswered_example}
                unanswered.append(Case(of.unanswered, str(client), evidence | changed))
            if of.largest_bytes > LARGEST_BATCH_BYTES:
                changed = {"exchange": of.largest_example}
                large.append(Case(of.largest_bytes, str(client), evidence | changed))
        yield from findings_of("KD4101", singles)
        yield from findings_of("KD4102", tiny)
        yield from findings_of("KD4103", list(self._compressible()))
        yield from findings_of("KD4104", unanswered)
        yield from findings_of("KD4105", large)
        yield from findings_of("KD4106", list(self._hot()))

    @staticmethod
    def _is_tiny(of: ProducerLedger) -> bool:
        is_often = of.requests >= _LEAST_REQUESTS and of.per_s >= _TINY_PER_S
        return is_often and of.bytes < _TINY_BYTES * of.batches

    @staticmethod
    def _evidence(client: Asker, of: ProducerLedger) -> dict[str, Any]:
        return {
            "client": str(client),
            "client_id": client.client_id,
            "client_host": client.host,
            "requests": of.requests,
            "batches": of.batches,
            "records": of.records,
            "bytes_per_batch": of.bytes // max(1, of.batches),
            "largest_bytes": of.largest_bytes,
            "per_s": of.per_s,
            "exchange": of.example,
        }

    def _compressible(self) -> Iterator[Case]:
        """Yield what was written as it is, and would be less than half as large."""
        for (client, topic), of in self._plain.items():
            saved = of.saved() if of.size_bytes >= _LEAST_PLAIN_BYTES else 0.0
            if saved < _LEAST_SAVED:
                continue
            name = self._names.name(topic) or topic
            evidence = {
                "client": str(client),
                "client_id": client.client_id,
                "client_host": client.host,
                "topic": name,
                "megabytes": round(of.size_bytes / 1e6, 1),
                "saved_pct": int(saved * 100),
                "sample_bytes": sum(map(len, of.samples)),
                "exchange": of.example,
            }
            yield Case(of.size_bytes * saved, f"{client} to {name}", evidence)

    def _hot(self) -> Iterator[Case]:
        """Yield partitions that get much more than the others of their topic."""
        topics: dict[str, dict[int, PartitionLedger]] = {}
        for (topic, index), of in self.partitions.items():
            topics.setdefault(self._names.name(topic) or topic, {})[index] = of
        for topic, partitions in topics.items():
            count = max(self.partition_counts.get(topic, 0), len(partitions))
            total = sum(of.bytes for of in partitions.values())
            batches = sum(of.batches for of in partitions.values())
            if count < _LEAST_PARTITIONS or total < HOT_BYTES or batches < _HOT_BATCHES:
                continue
            index, hottest = max(partitions.items(), key=lambda item: item[1].bytes)
            share = hottest.bytes / total
            if share >= _HOT_SHARE and share * count >= _HOT_TIMES:
                evidence = {
                    "topic": topic,
                    "partition": index,
                    "partitions": count,
                    "bytes": hottest.bytes,
                    "share_pct": int(share * 100),
                    "times_mean": round(share * count, 1),
                }
                yield Case(hottest.bytes, f"{topic}[{index}]", evidence)


def _batches(request: Side) -> Iterator[_PlacedBatch]:
    """Yield the batches of a Produce request."""
    field = 0
    for topic in request.message.topic_data:
        name = topic.name or uuid_text(topic.topic_id)
        for partition in topic.partition_data:
            for batch in (request.batches[field] if field < len(request.batches) else None) or ():
                yield _PlacedBatch(name, partition.index, field, batch)
            field += 1


def _places(spans: Sequence[Span], marks: Sequence[_Mark]) -> Iterator[_BatchPlace]:
    """Yield where the facts of batches are in a frame, by the spans of its fields."""
    partitions = [span.offset for span in spans if span.path.endswith(".index")]
    fields = [
        span.offset
        for span in spans
        if span.path.endswith(".records") and not (isinstance(span.value, int) and span.value > 0)
    ]
    for topic, _, field, start, size_bytes in marks:
        at, batch_at = partitions[field], fields[field] + start
        to_codec = batch_at + _CODEC_AT - at - _NUMBER_BYTES
        to_count = _COUNT_AT - _CODEC_AT - 1
        read = Struct(f">{at}xi{to_codec}xB{to_count}xi").unpack_from
        yield _BatchPlace(topic, size_bytes, read)


def _take_sample(ledger: PlainLedger, batch: RecordBatch, number: int) -> None:
    """Keep the begin of a batch's records, until there are enough."""
    if len(ledger.samples) < _MOST_SAMPLES:
        ledger.example = ledger.example or number
        start = batch.start + _HEADER_BYTES
        end = min(batch.start + batch.size_in_bytes, start + _SAMPLE_BYTES)
        ledger.samples.append(bytes(batch.data[start:end]))
