"""Packets of some connections -> their exchanges, gaps and what else only their order can tell.

What is fed are rows of `packet_rows.PACKETS` in the order of the capture: all those of each
connection, from however many files. What comes out, in batches:

    frames        exchanges with the bytes of their frames: `frame_rows.FRAMES`
    fetches       the fetches among them once more, with no more of the response than its first
                  bytes: fetch sessions belong to a broker, which others' connections reach too
    names         topic ids with their names, which any other exchange may need
    connections   as in the table
    gaps          as in the table
    unsure        as frames: responses without requests, of which what others ask may tell what they
                  are
    kinds         what clients ask, by their host and the broker, to tell them by

The state machines are those of `kdiag decode`. Numbers are made unique over the parts of a run.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
from pyarrow import compute

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.fence import suppress_faults
from kdiag.exchange.fetch_session import FIRST_WITH_SESSIONS
from kdiag.exchange.model import Connection, Exchange
from kdiag.exchange.topic_names import TopicNames, may_tell_names
from kdiag.pcap.decoder import CaptureDecoder, Item, Limits, Recording
from kdiag.pcap.files.pcapng import Secrets
from kdiag.pcap.kafka.trial_decoding import RequestKind
from kdiag.pcap.kafka.unmatched_responses import UnmatchedResponses, asked_among, hosts_of
from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pipeline.rows.frame_spans import LEAST_BYTES, FramePlaces
from kdiag.pipeline.rows.frames import FRAMES, frame_row, read_exchanges, row_bytes
from kdiag.pipeline.rows.packets import NO_FILE, NO_FILES, MappedFiles, Segments
from kdiag.report.arrow import Emit, RowBatches, TableBatches
from kdiag.wire import api_keys
from kdiag.wire.frame import Frame

FETCHES: Final = FRAMES.append(pa.field("place", pa.int64()))
"""The columns of fetches; `place` orders them over all connections as they were complete."""

KINDS: Final = pa.schema(
    [
        ("client_host", pa.string()),
        ("broker", pa.string()),
        ("api_key", pa.int32()),
        ("version", pa.int32()),
    ]
)

NAMES: Final = pa.schema([("topic_id", pa.string()), ("name", pa.string())])

_RESPONSE_HEAD_BYTES: Final = 64
_AT_THE_END: Final = 1 << 62
_MAX_ROWS: Final = 8192
_MAX_BYTES: Final = 16 << 20


_NO_PLACES: Final = FramePlaces(AddressBook())


class FlowRules(NamedTuple):
    """How connections are read; the same in all parts of a run.

    Attributes:
        ports: those that carry Kafka whatever the bytes look like.
        keylog: secrets of TLS connections, in the form of a key log.
        secrets: those that the captures brought along.
        limits: what bounds the memory; None for the usual limits.
        files: the captures, where payloads stay in them.
        placed_bytes: from which size on frames stay there too, until they are looked into.
    """

    ports: tuple[int, ...] = ()
    keylog: bytes = b""
    secrets: tuple[Secrets, ...] = ()
    limits: Limits | None = None
    files: tuple[str, ...] = ()
    placed_bytes: int = LEAST_BYTES


class Part(NamedTuple):
    """Which part of a run's connections this is.

    Attributes:
        number: from 0.
        of: how many parts the run has.
    """

    number: int
    of: int

    def renumbered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with numbers that no other part gives."""
        for name in ("number", "connection"):
            at = batch.schema.get_field_index(name)
            if at >= 0:
                numbers = compute.multiply(batch.column(at), pa.scalar(self.of, pa.int64()))
                numbers = compute.add(numbers, pa.scalar(self.number, pa.int64()))
                batch = batch.set_column(at, batch.schema.field(at), numbers)
        return batch

    def emit_by(self, emit: Emit) -> Emit:
        """Return what emits rows with numbers that no other part gives."""
        return lambda name, batch: emit(name, self.renumbered(batch))


def decode_rows(
    rows: Iterable[pa.RecordBatch],
    emit: Emit,
    part: Part,
    recording: Recording,
    rules: FlowRules,
) -> None:
    """Decode the connections of a part.

    Args:
        rows: their packets, in the order of the capture.
        emit: called with a name and a batch of rows.
        part: which part this is.
        recording: tells of the packets of other parts.
        rules: how connections are read.
    """
    decoder = PartDecoder(part, rules)
    unsure: list[Exchange] = []
    decoder.unmatched_responses.unsure = unsure
    decoder.feed(rows, emit, recording, MappedFiles(rules.files))
    decoder.finish(emit, recording)
    outcome = _Outcome(part.emit_by(emit))
    outcome.take_unsure(unsure)
    outcome.take_kinds(decoder.unmatched_responses.asked_between)
    outcome.flush()


class PartDecoder:
    """Decodes the connections of a part, in one go or, kept in between, batch by batch."""

    def __init__(self, part: Part, rules: FlowRules) -> None:
        """Know nothing yet.

        Args:
            part: which part this is.
            rules: how connections are read.
        """
        self._part = part
        self._segments = Segments()
        self._names = TopicNames()
        self._places: dict[str, int] = {}
        self._placed_bytes = rules.placed_bytes
        keylog = KeyLog.parse(rules.keylog)
        keylog.add_secrets(list(rules.secrets))
        self._decoder = CaptureDecoder(
            self._segments.addresses.endpoint_text,
            ports=rules.ports,
            keylog=keylog,
            limits=rules.limits or Limits(),
        )

    @property
    def unmatched_responses(self) -> UnmatchedResponses:
        """Return what holds the responses whose requests were not seen."""
        return self._decoder.unmatched_responses

    def feed(
        self,
        rows: Iterable[pa.RecordBatch],
        emit: Emit,
        recording: Recording,
        files: MappedFiles = NO_FILES,
    ) -> None:
        """Take the next packets, in the order of the capture."""
        self._decoder.recording = recording
        frame_places = FramePlaces(self._segments.addresses, self._placed_bytes)
        outcome = _Outcome(self._part.emit_by(emit), self._names, self._places, frame_places)
        for batch in rows:
            if batch.num_rows:
                for file, segments in self._segments.batches(batch, files):
                    if file != NO_FILE:
                        frame_places.take(file, segments)
                    outcome.take(self._decoder.feed(segments))
        outcome.flush()
        self._decoder.recording = None

    def end_idle(self, before_ns: int, emit: Emit, recording: Recording) -> None:
        """End the connections whose last packet was before a time."""
        self._decoder.recording = recording
        outcome = _Outcome(self._part.emit_by(emit), self._names, self._places)
        outcome.take(self._decoder.end_idle(before_ns))
        outcome.flush()
        self._decoder.recording = None

    def finish(self, emit: Emit, recording: Recording) -> None:
        """End all connections, for no more packets will come."""
        self._decoder.recording = recording
        outcome = _Outcome(self._part.emit_by(emit), self._names, self._places)
        outcome.take(self._decoder.finish())
        outcome.flush()


def resolve_unsure(
    unsure: Iterable[pa.RecordBatch], kinds: Iterable[pa.RecordBatch], emit: Emit
) -> None:
    """Find out what responses are, now that it is known what all ask between their hosts.

    Args:
        unsure: the responses, as `decode_rows` emits them.
        kinds: all that is asked between the same hosts, from all parts.
        emit: called with names and batches of rows, as by `decode_rows`.
    """
    asked: dict[tuple[str, str], dict[RequestKind, None]] = {}
    for batch in kinds:
        for host, broker, api_key, version in _rows_of(batch.select(KINDS.names)):
            asked.setdefault((host, broker), {})[api_key, version] = None
    outcome = _Outcome(emit)
    for batch in unsure:
        for exchange in read_exchanges(batch):
            assert exchange.response is not None
            others = asked.get(hosts_of(exchange.connection), {})
            found = asked_among(others, exchange.response.data)
            if found is not None:
                exchange.api_key, exchange.version = found
                exchange.guessed = True
            outcome.take([exchange])
    outcome.flush()


def _rows_of(batch: pa.RecordBatch) -> Iterable[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


class _Outcome:
    """Makes rows of what a decoder has completed."""

    def __init__(
        self,
        emit: Emit,
        names: TopicNames | None = None,
        places: dict[str, int] | None = None,
        frame_places: FramePlaces = _NO_PLACES,
    ) -> None:
        self._names = TopicNames() if names is None else names
        self._known = self._names.known
        self._emit = emit
        self._tables = TableBatches(emit, self._names)
        self._frames = _rows("frames", FRAMES, emit)
        self._fetches = _rows("fetches", FETCHES, emit)
        self._unsure = _rows("unsure", FRAMES, emit)
        self._kinds = _rows("kinds", KINDS, emit)
        self._places = {} if places is None else places
        self._frame_places = frame_places

    def take(self, items: Iterable[Item]) -> None:
        """Take what is complete, in its order."""
        for item in items:
            if isinstance(item, Exchange):
                self._frames.add(frame_row(item, self._frame_places.of(item)), row_bytes(item))
                if may_tell_names(item):
                    with suppress_faults():
                        self._names.learn(Dissection(item))
                if item.api_key == api_keys.FETCH and (item.version or 0) >= FIRST_WITH_SESSIONS:
                    self._take_fetch(item)
            elif isinstance(item, Connection):
                self._places.pop(item.connection_id, None)
                self._tables.connection(item)
            else:
                self._tables.gap(item)

    def take_unsure(self, exchanges: list[Exchange]) -> None:
        """Take responses that this part alone cannot tell; the list is empty afterwards."""
        for each in exchanges:
            self._unsure.add(frame_row(each), row_bytes(each))
        exchanges.clear()

    def take_kinds(self, asked_between: Mapping[tuple[str, str], Collection[RequestKind]]) -> None:
        """Take what clients ask."""
        for hosts, kinds in asked_between.items():
            for kind in kinds:
                self._kinds.add((*hosts, *kind), 0)

    def flush(self) -> None:
        """Emit what is left."""
        self._unsure.flush()
        self._kinds.flush()
        self._tables.flush()
        self._frames.flush()
        self._fetches.flush()
        names = [each for each in self._names.known.items() if each[0] not in self._known]
        if names:
            columns = [pa.array(column, pa.string()) for column in zip(*names, strict=True)]
            self._emit("names", pa.RecordBatch.from_arrays(columns, schema=NAMES))

    def _take_fetch(self, fetch: Exchange) -> None:
        """Note a fetch; those of a connection keep their order."""
        if fetch.request is None:
            return
        last = fetch.response or fetch.request
        connection_id = fetch.connection.connection_id
        # One that is never answered is given up when its connection has ended.
        place = last.last_packet if fetch.response else _AT_THE_END
        place = max(self._places.get(connection_id, 0), place)
        self._places[connection_id] = place
        response = fetch.response and _head_of(fetch.response)
        short = msgspec.structs.replace(fetch, response=response)
        self._fetches.add((*frame_row(short), place), row_bytes(short))


def _head_of(frame: Frame) -> Frame:
    return msgspec.structs.replace(frame, data=frame.data[:_RESPONSE_HEAD_BYTES])


def _rows(name: str, schema: pa.Schema, emit: Emit) -> RowBatches:
    return RowBatches(name, schema, emit, _MAX_ROWS, _MAX_BYTES)
