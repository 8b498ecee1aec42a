"""TCP segments as rows that Spark can sort and send between machines.

A `SegmentBatch` numbers IPv6 addresses in the order of its process and points into a block of
packets. A row has the addresses and the payload themselves:

    low, high   the ends of the connection: address (4 or 16 bytes, with its network in front if
                networks are told apart), then port (2); sorted, so that together they are its key
    is_high     whether the end `high` sent it

If all machines read the same files at the speed of memory, payloads can stay there: `file`,
`offset` and `captured` are their positions. Then `payload` is empty, except for payloads that no
file holds in one piece: those of compressed files, of object stores, and of datagrams joined from
fragments.

Who follows TCP needs two more facts of the headers: `identity`, which tells a copy of a packet from
one that was sent again, and the `options` of SYNs.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.tcp.sorted_batch import SYN
from kdiag.report.uri import map_file

PACKETS: Final = pa.schema(
    [
        ("packet", pa.int64()),
        ("time_ns", pa.int64()),
        ("low", pa.binary()),
        ("high", pa.binary()),
        ("is_high", pa.bool_()),
        ("sequence", pa.int64()),
        ("acknowledgment", pa.int64()),
        ("flags", pa.int16()),
        ("window", pa.int32()),
        ("wire_bytes", pa.int32()),
        ("payload", pa.binary()),
    ]
)
"""The columns, named and typed as Spark has them."""

POSITIONS: Final = pa.schema(
    [("file", pa.int32()), ("offset", pa.int64()), ("captured", pa.int32())]
)
"""More columns, for payloads that stay in the captures."""

HEADERS: Final = pa.schema([("identity", pa.int32()), ("options", pa.binary())])
"""More columns, for who follows TCP."""

NO_FILE: Final = -1

_PORT_BYTES: Final = 2


class BlockPosition(NamedTuple):
    """The position of a block of packets in a file.

    Attributes:
        file: the number of the file in the run; `NO_FILE` if no file holds the block unchanged.
        start: where the block begins in the file.
        size: how many bytes it has; its data may go on with bytes that no file holds.
    """

    file: int
    start: int
    size: int


NOWHERE: Final = BlockPosition(NO_FILE, 0, 0)


class _EndColumns(NamedTuple):
    """The ends of connections, in columns."""

    low: pa.Array
    high: pa.Array
    is_high: npt.NDArray[np.bool_]


class _CodedEnds(NamedTuple):
    """The ends in a batch, sorted, and for each segment the numbers of its two ends."""

    ends: list[bytes]
    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    is_high: npt.NDArray[np.bool_]


class PacketRows:
    """Makes rows of segments; remembers the ends it knows."""

    def __init__(self, addresses: AddressBook, columns: list[str] | None = None) -> None:
        """Begin.

        Args:
            addresses: the book of the segments.
            columns: the wanted ones, in the order of the schema; all by default.
        """
        self._addresses = addresses
        self._known: dict[int, bytes] = {}
        names = PACKETS.names if columns is None else columns
        fields = {field.name: field for field in (*PACKETS, *POSITIONS, *HEADERS)}
        self.schema = pa.schema([fields[name] for name in names])

    def batch(self, segments: SegmentBatch, position: BlockPosition = NOWHERE) -> pa.RecordBatch:
        """Return segments as rows.

        Args:
            segments: to make rows of.
            position: of their block, for the columns of `POSITIONS`.
        """
        ends: _EndColumns | None = None
        positions = _positions(segments, position)
        is_local = "offset" not in self.schema.names
        arrays = []
        for name in self.schema.names:
            if name in _EndColumns._fields:
                ends = ends or self._ends(segments)
                column = getattr(ends, name)
            elif name == "payload":
                here = None if is_local else positions.captured * (positions.file == NO_FILE)
                column = _payloads(segments, segments.payload_bytes if here is None else here)
            elif name in _PositionColumns._fields:
                column = getattr(positions, name)
            elif name in HEADERS.names:
                column = _HEADER_COLUMNS[name](segments)
            else:
                column = getattr(segments, name)
            type_ = self.schema.field(name).type
            is_array = isinstance(column, pa.Array)
            arrays.append(
                column if is_array else pa.array(column.astype(type_.to_pandas_dtype()), type_)
            )
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def keys(self, segments: SegmentBatch) -> tuple[list[bytes], npt.NDArray[np.int64]]:
        """Return the keys of connections, `low` and then `high`, and the index of each row's."""
        ends, low, high, _ = self._coded(segments)
        pairs, index = np.unique(low * len(ends) + high, return_inverse=True)
        return [ends[pair // len(ends)] + ends[pair % len(ends)] for pair in pairs.tolist()], index

    def parts(
        self, segments: SegmentBatch, part_of: Callable[[bytes], int]
    ) -> npt.NDArray[np.int64]:
        """Return the part of each row, by a function of its connection's key."""
        keys, index = self.keys(segments)
        return np.array([part_of(key) for key in keys], np.int64)[index]

    def _ends(self, segments: SegmentBatch) -> _EndColumns:
        ends, low, high, is_high = self._coded(segments)
        known = pa.array(ends, pa.binary())
        return _EndColumns(known.take(pa.array(low)), known.take(pa.array(high)), is_high)

    def _coded(self, segments: SegmentBatch) -> _CodedEnds:
        both = np.concatenate([segments.source, segments.destination])
        numbers, index = np.unique(both, return_inverse=True)
        ends = [self._known.get(each) or self._learn(each) for each in numbers.tolist()]
        order = sorted(range(len(ends)), key=ends.__getitem__)
        rank = np.empty(len(ends), np.int64)
        rank[order] = np.arange(len(ends))
        source, destination = np.split(rank[index], 2)
        return _CodedEnds(
            [ends[each] for each in order],
            np.minimum(source, destination),
            np.maximum(source, destination),
            source > destination,
        )

    def _learn(self, endpoint: int) -> bytes:
        address = self._addresses.address_bytes(endpoint)
        end = self._known[endpoint] = address + (endpoint & 0xFFFF).to_bytes(_PORT_BYTES, "big")
        return end


class _PositionColumns(NamedTuple):
    """The columns of `POSITIONS`."""

    file: npt.NDArray[np.int64]
    offset: npt.NDArray[np.int64]
    captured: npt.NDArray[np.int64]


def _positions(segments: SegmentBatch, position: BlockPosition) -> _PositionColumns:
    has_position = segments.payload_offset + segments.payload_bytes <= position.size
    return _PositionColumns(
        np.where(has_position, position.file, NO_FILE).astype(np.int64),
        segments.payload_offset + position.start,
        segments.payload_bytes,
    )


def _identities(segments: SegmentBatch) -> npt.NDArray[Any]:
    return np.zeros(len(segments.packet)) if segments.identity is None else segments.identity


def _options(segments: SegmentBatch) -> pa.Array:
    """Return the options of SYNs; null elsewhere, and where they were cut off."""
    options: list[bytes | None] = [None] * len(segments.packet)
    for row in np.flatnonzero(segments.flags & SYN).tolist():
        options[row] = segments.options(row)
    return pa.array(options, pa.binary())


_HEADER_COLUMNS: Final = {"identity": _identities, "options": _options}


def _payloads(segments: SegmentBatch, size: npt.NDArray[np.int64]) -> pa.Array:
    count = len(segments.packet)
    view = memoryview(segments.data)
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(size, out=offsets[1:])
    start = segments.payload_offset
    parts = [
        view[first:last]
        for first, last in zip(start.tolist(), (start + size).tolist(), strict=True)
    ]
    buffers: list[Any] = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


class RowSegments:
    """Makes segments of rows; remembers the ends it knows."""

    def __init__(self) -> None:
        self.addresses = AddressBook()
        self._known: dict[bytes, int] = {}

    def batches(
        self, rows: pa.RecordBatch, files: "MappedFiles"
    ) -> Iterator[tuple[int, SegmentBatch]]:
        """Yield the number of a file and its segments, for each file in turn.

        Args:
            rows: have all columns of `PACKETS`, and may have those of `POSITIONS` and `HEADERS`.
            files: hold the payloads that are not in the rows.
        """
        if "file" not in rows.schema.names:
            yield NO_FILE, self.batch(rows)
            return
        column = rows.column("file").to_numpy()
        edges = [0, *(np.flatnonzero(np.diff(column)) + 1).tolist(), len(column)]
        for first, last in pairwise(edges):
            part = rows.slice(first, last - first)
            batch = self.batch(part)
            number = int(column[first])
            if number != NO_FILE:
                batch = batch._replace(
                    data=files.view(number),
                    payload_offset=part.column("offset").to_numpy(),
                    payload_bytes=part.column("captured").to_numpy().astype(np.int64),
                )
            yield number, batch

    def batch(self, rows: pa.RecordBatch) -> SegmentBatch:
        """Return rows, which have all columns of `PACKETS`, as segments; see `batches`."""
        low, high = self._endpoints(rows.column("low")), self._endpoints(rows.column("high"))
        is_high = rows.column("is_high").to_numpy(zero_copy_only=False)
        payload = rows.column("payload")
        _, offsets, data = payload.buffers()
        first, last = payload.offset, payload.offset + len(payload)
        edges = np.frombuffer(offsets, np.int32)[first : last + 1].astype(np.int64)
        return SegmentBatch(
            memoryview(b"" if data is None else data),
            rows.column("packet").to_numpy(),
            rows.column("time_ns").to_numpy(),
            np.where(is_high, high, low),
            np.where(is_high, low, high),
            rows.column("sequence").to_numpy().astype(np.uint32),
            rows.column("acknowledgment").to_numpy().astype(np.uint32),
            rows.column("flags").to_numpy().astype(np.uint8),
            rows.column("window").to_numpy().astype(np.uint16),
            edges[:-1],
            np.diff(edges),
            rows.column("wire_bytes").to_numpy().astype(np.int64),
            **_read_headers(rows),
        )

    def _endpoints(self, ends: pa.Array) -> npt.NDArray[np.uint64]:
        coded = ends.dictionary_encode()
        known = [
            self._known.get(each) or self._learn(each) for each in coded.dictionary.to_pylist()
        ]
        rows: npt.NDArray[np.int64] = coded.indices.to_numpy()
        return np.array(known, np.uint64)[rows]

    def _learn(self, end: bytes) -> int:
        number = self.addresses.number_of(end[:-_PORT_BYTES])
        port = int.from_bytes(end[-_PORT_BYTES:], "big")
        endpoint = self._known[end] = (number << 16) | port
        return endpoint


def _read_headers(rows: pa.RecordBatch) -> dict[str, Any]:
    """Return what of `HEADERS` rows have, as columns of segments."""
    if HEADERS.names[0] not in rows.schema.names:
        return {}
    options = rows.column("options")
    syn_options = np.full(len(options), None, np.object_)
    for row in np.flatnonzero(options.is_valid().to_numpy(zero_copy_only=False)).tolist():
        syn_options[row] = options[row].as_py()
    identity = rows.column("identity").to_numpy().astype(np.uint16)
    return {"identity": identity, "syn_options": syn_options}


class MappedFiles:
    """The files of a run, mapped into memory when they are first read."""

    def __init__(self, uris: Sequence[str]) -> None:
        """Open no file yet; a file's number is its index."""
        self._uris = uris
        self._views: dict[int, memoryview] = {}

    def view(self, number: int) -> memoryview:
        """Return the bytes of a file.

        Raises:
            CaptureError: if it cannot be opened or is not local.
        """
        if number not in self._views:
            self._views[number] = map_file(self._uris[number])
        return self._views[number]


NO_FILES: Final = MappedFiles(())
