"""Packets of some connections -> their exchanges, gaps and everything else that needs their order.

The input is rows of `rows.packets.PACKETS` in the order of the capture: all those of each
connection, from any number of files. The output, in batches:

    frames        exchanges with the bytes of their frames: `rows.frames.FRAMES`
    fetches       the fetches among them once more, with only the first bytes of the response: fetch
                  sessions belong to a broker, and connections of other parts use them too
    names         topic ids with their names, which any other exchange may need, and `order`
    connections   as in the table
    tcp           as in the table, if it was chosen
    gaps          as in the table
    unsure        as frames: unmatched responses that only the requests of others can identify
    kinds         the APIs and versions of requests, by client host and broker, to identify these by

The state machines are those of `kdiag decode`. Numbers are made unique over the parts of a run. The
`order` of fetches, names, unsure responses and kinds is the packet at which one process, which has
all connections, would have come to them: it tells what that would have known by then.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
from pyarrow import compute

from kdiag.exchange.context.fetch_session import FIRST_WITH_SESSIONS, without_topics
from kdiag.exchange.context.topic_names import TopicNames, may_tell_names
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.fence import suppress_faults
from kdiag.exchange.model import Connection, Exchange
from kdiag.pcap.decoder import CaptureDecoder, Item
from kdiag.pcap.files.pcapng import Secrets
from kdiag.pcap.kafka.trial_decoding import RequestKind
from kdiag.pcap.kafka.unmatched_responses import (
    UnmatchedResponses,
    asked_among,
    first_asked,
    hosts_of,
    name_by_trial,
)
from kdiag.pcap.memory_budget import Limits
from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pipeline.input.segment_timestamps import SegmentTimestamps
from kdiag.pipeline.rows.frame_spans import LEAST_BYTES, FrameSpans
from kdiag.pipeline.rows.frames import FRAMES, frame_row, read_exchanges, row_bytes
from kdiag.pipeline.rows.packets import NO_FILE, NO_FILES, MappedFiles, RowSegments
from kdiag.pipeline.tabulate import NAMES, name_bytes
from kdiag.report.arrow import CaptureOf, Emit, RowBatches, TableBatches
from kdiag.report.tables.catalog import TableChoice
from kdiag.wire import api_keys

FETCHES: Final = FRAMES.append(pa.field("order", pa.int64()))
"""The columns of fetches; `order` sorts them over all connections by when they were complete."""

FETCH_ORDER: Final = ("order", "request_first_packet", "number")
"""Their columns to sort by."""

UNSURE: Final = FETCHES
"""The columns of unmatched responses; by `order` no more of the others' requests was waited for."""

KINDS: Final = pa.schema(
    [
        ("client_host", pa.string()),
        ("broker", pa.string()),
        ("api_key", pa.int32()),
        ("version", pa.int32()),
        ("order", pa.int64()),
    ]
)

_MAX_ROWS: Final = 8192
_MAX_BYTES: Final = 16 << 20


_WITH_TCP: Final = TableChoice(tcp=True)
"""Only connections whose TCP was followed give rows."""

_NO_SPANS: Final = FrameSpans(AddressBook())


class FlowRules(NamedTuple):
    """The rules by which connections are read; the same in all parts of a run.

    Attributes:
        ports: those that carry Kafka whatever the bytes look like.
        keylogs: files with the secrets of TLS connections, as URIs.
        secrets: those of the connections in the captures.
        limits: of memory; None for the usual ones.
        files: the captures, if payloads stay in them.
        least_span_bytes: the size from which on frames stay there too, until they are read.
        follows_tcp: whether connections get the facts of TCP.
    """

    ports: tuple[int, ...] = ()
    keylogs: tuple[str, ...] = ()
    secrets: tuple[Secrets, ...] = ()
    limits: Limits | None = None
    files: Sequence[str] = ()
    least_span_bytes: int = LEAST_BYTES
    follows_tcp: bool = False


class RunPart(NamedTuple):
    """A part of a run's connections.

    Attributes:
        number: from 0.
        of: how many parts the run has.
    """

    number: int
    of: int

    def renumbered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with numbers that no other part uses."""
        for name in ("number", "connection"):
            at = batch.schema.get_field_index(name)
            if at >= 0:
                numbers = compute.multiply(batch.column(at), pa.scalar(self.of, pa.int64()))
                numbers = compute.add(numbers, pa.scalar(self.number, pa.int64()))
                batch = batch.set_column(at, batch.schema.field(at), numbers)
        return batch

    def emit_by(self, emit: Emit) -> Emit:
        """Return an `emit` that renumbers rows first."""
        return lambda name, batch: emit(name, self.renumbered(batch))


def decode_rows(
    rows: Iterable[pa.RecordBatch],
    emit: Emit,
    part: RunPart,
    recording: SegmentTimestamps,
    rules: FlowRules,
) -> None:
    """Decode the connections of a part.

    Args:
        rows: their packets, in the order of the capture.
        emit: called with a name and a batch of rows.
        part: of the run.
        recording: knows the packets of other parts, and the captures of all.
        rules: for reading connections.
    """
    decoder = PartDecoder(part, rules)
    unsure: list[tuple[Exchange, int]] = []
    decoder.unmatched_responses.unsure = unsure
    decoder.feed(rows, emit, recording, MappedFiles(rules.files))
    decoder.finish(emit, recording)
    emitter = _RowEmitter(part.emit_by(emit), recording.capture_of)
    emitter.add_unsure(unsure)
    emitter.add_kinds(decoder.unmatched_responses.asked_between)
    emitter.flush()


class PartDecoder:
    """Decodes the connections of a part: at once, or batch by batch with a state saved between."""

    def __init__(self, part: RunPart, rules: FlowRules) -> None:
        """Start without packets.

        Args:
            part: of the run.
            rules: for reading connections.
        """
        self._part = part
        self._segments = RowSegments()
        self._names = TopicNames()
        self._orders: dict[str, int] = {}
        self._least_span_bytes = rules.least_span_bytes
        keylog = self._keylog = KeyLog()
        self.learn_secrets(rules)
        self._decoder = CaptureDecoder(
            self._segments.addresses,
            ports=rules.ports,
            keylog=keylog,
            limits=rules.limits or Limits(),
        )
        if rules.follows_tcp:
            self.follow_tcp()

    def follow_tcp(self) -> None:
        """Make rows of `tcp` for the connections that begin from now on."""
        self._decoder.follow_tcp()

    def has_one_clock(self, *, is_so: bool) -> None:
        """Say whether no packets come much later than others of their time."""
        self._decoder.silence.has_one_clock = is_so

    def learn_secrets(self, rules: FlowRules) -> None:
        """Learn the secrets of TLS connections that are not known yet."""
        self._keylog.add_secrets([*rules.secrets])

    @property
    def unmatched_responses(self) -> UnmatchedResponses:
        """Return the responses whose requests were not seen."""
        return self._decoder.unmatched_responses

    def feed(
        self,
        rows: Iterable[pa.RecordBatch],
        emit: Emit,
        recording: SegmentTimestamps,
        files: MappedFiles = NO_FILES,
    ) -> None:
        """Decode the next packets, in the order of the capture."""
        self._decoder.recording = recording
        frame_spans = FrameSpans(self._segments.addresses, self._least_span_bytes)
        emitter = self._emitter(emit, recording, frame_spans)
        for batch in rows:
            if batch.num_rows:
                for file, segments in self._segments.batches(batch, files):
                    if file != NO_FILE:
                        frame_spans.add(file, segments)
                    emitter.add(self._decoder.feed(segments), self._decoder.turns.of_exchanges)
        emitter.flush()
        self._decoder.recording = None

    def _emitter(
        self, emit: Emit, recording: SegmentTimestamps, frame_spans: FrameSpans = _NO_SPANS
    ) -> "_RowEmitter":
        emit = self._part.emit_by(emit)
        return _RowEmitter(emit, recording.capture_of, self._names, self._orders, frame_spans)

    def end_idle(self, before_ns: int, emit: Emit, recording: SegmentTimestamps) -> None:
        """End the connections whose last packet was before a time."""
        self._decoder.recording = recording
        emitter = self._emitter(emit, recording)
        emitter.add(self._decoder.end_idle(before_ns), self._decoder.turns.of_exchanges)
        emitter.flush()
        self._decoder.recording = None

    def finish(self, emit: Emit, recording: SegmentTimestamps) -> None:
        """End all connections: no more packets will come."""
        self._decoder.recording = recording
        emitter = self._emitter(emit, recording)
        emitter.add(self._decoder.finish(), self._decoder.turns.of_exchanges)
        emitter.flush()


def resolve_unsure(
    unsure: Iterable[pa.RecordBatch], kinds: Iterable[pa.RecordBatch], emit: Emit
) -> None:
    """Identify unmatched responses by all requests between the same hosts that came in time.

    Args:
        unsure: the responses, as `decode_rows` emits them.
        kinds: the requests of all parts.
        emit: called with names and batches of rows, as by `decode_rows`.
    """
    asked: dict[tuple[str, str], dict[RequestKind, int]] = {}
    for batch in kinds:
        for host, broker, api_key, version, order in _rows_of(batch.select(KINDS.names)):
            between = asked.setdefault((host, broker), {})
            between[api_key, version] = min(between.get((api_key, version), order), order)
    emitter = _RowEmitter(emit)
    for batch in unsure:
        orders = batch.column("order").to_pylist()
        for exchange, order in zip(read_exchanges(batch), orders, strict=True):
            assert exchange.response is not None
            others = first_asked(asked.get(hosts_of(exchange.connection), {}), order)
            found = asked_among(others, exchange.response.data)
            if found is not None:
                exchange.api_key, exchange.version = found
                exchange.guessed = True
            else:
                name_by_trial(exchange)
            emitter.add([exchange], [order])
    emitter.flush()


def _rows_of(batch: pa.RecordBatch) -> Iterable[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _of_no_capture(_: int) -> str | None:
    return None


class _RowEmitter:
    """Makes rows of exchanges, connections and gaps."""

    def __init__(
        self,
        emit: Emit,
        capture_of: CaptureOf = _of_no_capture,
        names: TopicNames | None = None,
        orders: dict[str, int] | None = None,
        frame_spans: FrameSpans = _NO_SPANS,
    ) -> None:
        self._names = TopicNames() if names is None else names
        self._tables = TableBatches(emit, self._names, _WITH_TCP, capture_of=capture_of)
        self._frames = _rows("frames", FRAMES, emit)
        self._fetches = _rows("fetches", FETCHES, emit)
        self._unsure = _rows("unsure", UNSURE, emit)
        self._new_names = _rows("names", NAMES, emit)
        self._kinds = _rows("kinds", KINDS, emit)
        self._orders = {} if orders is None else orders
        self._frame_spans = frame_spans

    def add(self, items: Iterable[Item], orders: Iterable[int]) -> None:
        """Add what a decoder has completed, in its order, and the order of the exchanges."""
        order_of_next = iter(orders)
        for item in items:
            if isinstance(item, Exchange):
                order = next(order_of_next)
                self._frames.add(frame_row(item, self._frame_spans.of(item)), row_bytes(item))
                if may_tell_names(item):
                    self._add_names(item, order)
                if item.api_key == api_keys.FETCH and (item.version or 0) >= FIRST_WITH_SESSIONS:
                    self._add_fetch(item, order)
            elif isinstance(item, Connection):
                self._orders.pop(item.connection_id, None)
                self._tables.connection(item)
            else:
                self._tables.gap(item)

    def add_unsure(self, exchanges: list[tuple[Exchange, int]]) -> None:
        """Add responses that this part alone cannot identify, and empty the list."""
        for each, order in exchanges:
            self._unsure.add((*frame_row(each), order), row_bytes(each))
        exchanges.clear()

    def add_kinds(self, asked_between: Mapping[tuple[str, str], Mapping[RequestKind, int]]) -> None:
        """Add the kinds of clients' requests."""
        for hosts, kinds in asked_between.items():
            for kind, order in kinds.items():
                self._kinds.add((*hosts, *kind, order), 0)

    def flush(self) -> None:
        """Emit the rows that have not filled a batch."""
        self._unsure.flush()
        self._kinds.flush()
        self._tables.flush()
        self._frames.flush()
        self._fetches.flush()
        self._new_names.flush()

    def _add_names(self, exchange: Exchange, order: int) -> None:
        """Add the names in an exchange that are not known."""
        count = len(self._names)
        with suppress_faults():
            self._names.learn(Dissection(exchange))
        new = self._names.newest(len(self._names) - count)
        for topic_id, name in name_bytes(new).items():
            self._new_names.add((topic_id, name, order), 0)

    def _add_fetch(self, fetch: Exchange, order: int) -> None:
        """Add a fetch; those of a connection keep their order."""
        if fetch.request is None:
            return
        connection_id = fetch.connection.connection_id
        order = max(self._orders.get(connection_id, 0), order)
        self._orders[connection_id] = order
        response = fetch.response and without_topics(fetch.response, fetch.version or 0)
        short = msgspec.structs.replace(fetch, response=response)
        self._fetches.add((*frame_row(short), order), row_bytes(short))


def _rows(name: str, schema: pa.Schema, emit: Emit) -> RowBatches:
    return RowBatches(name, schema, emit, _MAX_ROWS, _MAX_BYTES)
