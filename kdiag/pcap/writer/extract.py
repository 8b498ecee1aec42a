"""An extract of captures: the packets of some connections, without secrets.

The first reading decodes everything, and notes the connections that are wanted, where their
packets are, and where in their streams secrets lie. `write_extract` reads the packets again and
writes those of these connections as they were captured. Every packet that carries a secret byte,
the first one and those sent again, gets `x` there, and a checksum that fits if it fitted before.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from kdiag.errors import CaptureError
from kdiag.exchange.model import Exchange
from kdiag.pcap.decoder import CaptureDecoder, Item
from kdiag.pcap.files.block import PacketBlock
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.tcp.extent import SEQUENCE_NUMBERS, Extent
from kdiag.pcap.tcp.sorted_batch import SYN
from kdiag.pcap.writer.packet_file import PacketFile
from kdiag.pcap.writer.packet_owners import OwnedSegments, PacketOwners
from kdiag.pcap.writer.stream_masks import Mask, StreamMasks

_DIRECTION_BITS: Final = 33
_ENDS_AND_PACKET: Final = attrgetter("endpoints", "first_packet")
_CHECKSUM: Final = Struct(">H")
_CHECKSUM_AT: Final = 16

Integers = npt.NDArray[np.int64]

_Place: TypeAlias = tuple[int, int, Mask]
"""Where in a payload a mask starts and stops, and the mask cut to that."""


class ExtractCounts(NamedTuple):
    """The counts of an extract.

    Attributes:
        packets: how many were written.
        connections: those that they belong to.
        secret_packets: those in which a secret was overwritten.
        unknown_packets: those in which bytes were overwritten that nothing tells the meaning of.
        masked_bytes: how many were overwritten, those of each packet that carries them again.
        fragmented: segments that are left out, because they came in IP fragments.
        encrypted: those of the connections that carry TLS, for which no keys are written.
    """

    packets: int
    connections: int
    secret_packets: int
    unknown_packets: int
    masked_bytes: int
    fragmented: int
    encrypted: int


class ExtractNotes:
    """What the first reading notes for an extract.

    Attributes:
        wanted: the numbers of the connections that are wanted; the caller adds them.
    """

    def __init__(self, decoder: CaptureDecoder, *, keeps_secrets: bool = False) -> None:
        """Begin before the first packet.

        Args:
            decoder: reads the captures.
            keeps_secrets: whether secrets stay as they are.
        """
        self.wanted: set[int] = set()
        self._extents = decoder.note_extents()
        self._masks = None if keeps_secrets else StreamMasks()

    def note(self, items: Iterable[Item]) -> None:
        """Note what the decoder has completed, whether it is wanted or not."""
        if self._masks is not None:
            for item in items:
                if isinstance(item, Exchange):
                    self._masks.note(item)

    def owners(self) -> PacketOwners:
        """Return what finds the packets of the wanted connections."""
        return PacketOwners(self._extents, self.wanted | set(self._successors()))

    def _successors(self) -> Iterator[int]:
        """Yield the connections whose packets show that a wanted one was over (`jump`)."""
        found = sorted(self._extents.found, key=_ENDS_AND_PACKET)
        for former, extent in pairwise(found):
            is_same = former.endpoints == extent.endpoints
            is_wanted = former.connection.number in self.wanted
            if is_same and is_wanted and former.connection.close_reason == "jump":
                yield extent.connection.number

    @property
    def keeps_secrets(self) -> bool:
        """Return whether nothing is overwritten."""
        return self._masks is None

    def masks_of(self, extent: Extent, side: int) -> list[Mask]:
        """Return what is overwritten in a direction."""
        return [] if self._masks is None else self._masks.of(extent, side)


def write_extract(
    notes: ExtractNotes, reader: CaptureReader, path: Path, last: int
) -> ExtractCounts:
    """Write the packets of the wanted connections.

    Args:
        notes: of the first reading.
        reader: the same captures once more, with the address book of the first reading.
        path: the file; one of that name is lost.
        last: the number of the last packet of the first reading; later ones came meanwhile.

    Raises:
        CaptureError: the file cannot be written, or the captures are others now.
    """
    with PacketFile(path, is_private=notes.keeps_secrets) as file:
        writer = _ExtractWriter(notes, file, reader)
        before = 0
        for block, batch in reader.read_blocks():
            writer.add(block, batch, before)
            before += len(block.offset)
            if before >= last:
                break
        if before < last:
            raise _changed(reader)
    return writer.counts()


class _ExtractWriter:
    """Writes the packets of blocks that are of wanted connections."""

    def __init__(self, notes: ExtractNotes, file: PacketFile, reader: CaptureReader) -> None:
        self._owners = notes.owners()
        self._file = file
        self._reader = reader
        self._masked: dict[bool, int] = {True: 0, False: 0}
        self._masked_bytes = 0
        self._fragmented = 0
        extents = self._owners.extents
        self._first = {each.first_packet: each.connection.first_ns for each in extents}
        self._firsts = np.array(sorted(self._first), np.int64)
        origins = [origin or 0 for each in extents for origin in each.origins]
        self._origins = np.array(origins, np.int64)
        self._masks: list[Mask] = []
        directions = []
        for number, extent in enumerate(extents):
            for side in (0, 1):
                masks = notes.masks_of(extent, side)
                self._masks += masks
                directions += [number * 2 + side] * len(masks)
        key = np.array(directions, np.int64) << _DIRECTION_BITS
        self._starts = key + np.array([each.start for each in self._masks], np.int64)
        self._stops = key + np.array([each.stop for each in self._masks], np.int64)

    def counts(self) -> ExtractCounts:
        """Return the counts so far."""
        return ExtractCounts(
            self._file.packets,
            len(self._owners.extents),
            self._masked[True],
            self._masked[False],
            self._masked_bytes,
            self._fragmented,
            sum(each.is_encrypted for each in self._owners.extents),
        )

    def add(self, block: PacketBlock, batch: SegmentBatch, before: int) -> None:
        """Write the packets of a block that are wanted; `before` came before it."""
        self._check(block, before)
        found = self._owners.find(batch)
        is_joined = batch.payload_offset[found.row] > len(block.data)
        if batch.header_bytes is not None:
            is_joined &= batch.header_bytes[found.row] > 0
        if is_joined.any():
            self._fragmented += int(np.count_nonzero(is_joined))
            found = OwnedSegments(*(column[~is_joined] for column in found))
        rows = batch.packet[found.row] - (before + 1)
        changed: dict[int, bytes] = {}
        for at, places in self._hits(batch, found):
            row = int(rows[at])
            start = int(block.offset[row])
            packet = block.data[start : start + int(block.captured[row])].tobytes()
            payload = _Payload.of(batch, int(found.row[at]), start)
            changed[row] = _overwritten(packet, payload, places)
            self._masked[any(mask.is_secret for _, _, mask in places)] += 1
            self._masked_bytes += sum(stop - start for start, stop, _ in places)
        self._file.write(block, rows, changed)

    def _check(self, block: PacketBlock, before: int) -> None:
        """Look whether the first packets of connections are where they were."""
        first, last = np.searchsorted(self._firsts, [before + 1, before + len(block.offset) + 1])
        for packet in self._firsts[first:last].tolist():
            if int(block.time_ns[packet - before - 1]) != self._first[packet]:
                raise _changed(self._reader)

    def _hits(
        self, batch: SegmentBatch, found: OwnedSegments
    ) -> Iterable[tuple[int, list[_Place]]]:
        """Yield the segments with bytes to overwrite: start and stop in the payload, and the mask.

        A payload may go on at number 0: then it has two parts.
        """
        size = batch.payload_bytes[found.row]
        direction = found.owner * 2 + found.side
        is_syn = (batch.flags[found.row] & SYN) != 0
        number = batch.sequence[found.row].astype(np.int64) + is_syn
        place = (number - self._origins[direction]) % SEQUENCE_NUMBERS
        here = np.minimum(size, SEQUENCE_NUMBERS - place)
        first, last = self._between(direction, place, here)
        over = size - here
        again, end = self._between(direction, place * 0, over)
        for at in np.flatnonzero((first < last) | (again < end)).tolist():
            start, skip = int(place[at]), int(here[at])
            spans = [
                *((each, start, 0, skip) for each in range(first[at], last[at])),
                *((each, 0, skip, int(over[at])) for each in range(again[at], end[at])),
            ]
            yield at, [self._span(*span) for span in spans]

    def _between(
        self, direction: Integers, place: Integers, size: Integers
    ) -> tuple[Integers, Integers]:
        """Return the first mask in so many bytes from a place, and the one after the last."""
        key = (direction << _DIRECTION_BITS) + place
        first = np.searchsorted(self._stops, key, "right")
        return first, np.where(size > 0, np.searchsorted(self._starts, key + size, "left"), 0)

    def _span(self, number: int, place: int, skip: int, size: int) -> _Place:
        """Return where in a payload a mask lies, and the mask cut to that."""
        mask = self._masks[number]
        start, stop = max(mask.start, place), min(mask.stop, place + size)
        data = mask.bytes and mask.bytes[start - mask.start : stop - mask.start]
        return skip + start - place, skip + stop - place, mask._replace(bytes=data)


class _Payload(NamedTuple):
    """Where in a packet a TCP payload is, and how many bytes of header come before it."""

    start: int
    stop: int
    header_bytes: int

    @classmethod
    def of(cls, batch: SegmentBatch, segment: int, packet_offset: int) -> Self:
        """Return the payload of a segment whose packet starts there in the data."""
        start = int(batch.payload_offset[segment]) - packet_offset
        header = 0 if batch.header_bytes is None else int(batch.header_bytes[segment])
        return cls(start, start + int(batch.payload_bytes[segment]), header)


def _overwritten(packet: bytes, payload: _Payload, places: Collection[_Place]) -> bytes:
    """Return a packet with bytes of its payload overwritten, and the TCP checksum for that."""
    changed = bytearray(packet)
    text = memoryview(changed)[payload.start : payload.stop]
    for start, stop, mask in places:
        text[start:stop] = b"x" * (stop - start) if mask.bytes is None else mask.bytes
    if payload.header_bytes:
        at = payload.start - payload.header_bytes + _CHECKSUM_AT
        (checksum,) = _CHECKSUM.unpack_from(packet, at)
        changes = _sum(text.tobytes()) - _sum(packet[payload.start : payload.stop])
        _CHECKSUM.pack_into(changed, at, _folded(checksum, changes))
    return bytes(changed)


def _sum(data: bytes) -> int:
    """Return the sum of the numbers of 16 bits in a payload, which a checksum is made of."""
    even = data + bytes(len(data) % 2)
    return int(np.frombuffer(even, ">u2").sum(dtype=np.int64))


def _folded(checksum: int, changes: int) -> int:
    """Return a checksum once the sum of what it covers has changed (RFC 1624)."""
    total = (~checksum & 0xFFFF) + changes % 0xFFFF
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def _changed(reader: CaptureReader) -> CaptureError:
    names = ", ".join(str(each) for each in reader.inputs)
    return CaptureError(names, "changed while it was read: the extract is not written")
