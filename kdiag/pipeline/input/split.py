"""Splits: parts of a capture that can be read on their own, packets numbered as in one run.

Neither pcap nor pcapng can be entered in the middle: a packet's position is known only from the one
before. So one task walks each file once, header by header, with the same reader that reads captures
on one machine, and records a position at about every so many bytes. Hence a split ends exactly
where the next one begins, and a damaged file ends where reading it whole would end:

    file     |header|packets ....................................|damage...|
    splits          |--- 0: 1 to 8,213 ---|--- 1: 8,214 to 9,900 -|

A split is read after its preamble, the header of the file or of the pcapng section: together they
are a capture. A compressed file cannot be entered, and is one split.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, Final, NamedTuple, cast

import numpy as np

from kdiag.errors import CaptureError
from kdiag.pcap.files.block import PacketBlock
from kdiag.pcap.files.capture_facts import CaptureFacts
from kdiag.pcap.files.pcapng import TLS_KEY_LOG, Secrets
from kdiag.pcap.files.window import BLOCK_BYTES, Window, open_window
from kdiag.pcap.reader import read_blocks
from kdiag.pcap.tls.handshake import client_randoms_in
from kdiag.pcap.tls.keylog import DEFAULT_MAX_SECRETS
from kdiag.pipeline.rows.partitioner import Weights, WeightSampler
from kdiag.report.run_log import ReadCapture
from kdiag.report.uri import FileState, canonical, open_file, state_of

DEFAULT_SPLIT_BYTES: Final = 64 << 20
_MAX_PREAMBLE_BYTES: Final = 1 << 20
_NEVER_NS: Final = (1 << 63) - 1
_DISORDER_NS: Final = (
    10_000_000  # recorders on several processors write times that go back a little
)


class Split(NamedTuple):
    """A part of a capture.

    Attributes:
        uri: the file.
        start, end: its bytes in the file as it is stored.
        preamble: the bytes to read before them.
        first_packet: number of its first packet, from 1 over all inputs of the run.
        packets: how many packets it has.
        first_ns, last_ns: the earliest and the latest time of its packets, since 1970.
        lag_ns: how much earlier, at most, one of its packets is than another before it in the run.
    """

    uri: str
    start: int
    end: int
    preamble: bytes
    first_packet: int
    packets: int
    first_ns: int
    last_ns: int
    lag_ns: int = 0

    def overlaps(self, from_ns: int | None, to_ns: int | None) -> bool:
        """Return whether it may hold packets from a time on (included) to another (not)."""
        is_before = from_ns is not None and self.last_ns < from_ns
        is_after = to_ns is not None and self.first_ns >= to_ns
        return not (is_before or is_after)


class Walk(NamedTuple):
    """The result of a walk through a file.

    Attributes:
        uri: the file.
        first_ns: time of its first packet; the largest possible time if it has none.
        splits: its parts, packets numbered from 1 in this file.
        warning: the error that ended the walk before the end of the file; empty without one.
        secrets: the TLS key logs in it.
        client_randoms: of its TLS connections, as far as each lies in one packet.
        weights: of its connections, by a sample.
        state: of the file before the walk.
    """

    uri: str
    first_ns: int
    splits: list[Split]
    warning: str
    secrets: list[Secrets]
    weights: Weights
    state: FileState = FileState(0, 0)
    client_randoms: frozenset[bytes] = frozenset()

    @property
    def capture(self) -> ReadCapture:
        """Return the file as the log of a run has it."""
        first_ns = min((split.first_ns for split in self.splits), default=_NEVER_NS)
        last_ns = max((split.last_ns for split in self.splits), default=-_NEVER_NS)
        return ReadCapture(canonical(self.uri), *self.state, first_ns, last_ns)

    @property
    def file(self) -> CaptureFacts:
        """Return the file as the table `captures` has it."""
        full = [each for each in self.splits if each.packets]
        return CaptureFacts(
            self.uri,
            self.state.size,
            self.state.mtime_ns,
            sum(each.packets for each in full),
            min((each.first_ns for each in full), default=None),
            max((each.last_ns for each in full), default=None),
            self.warning or None,
        )


def walk(uri: str, split_bytes: int = DEFAULT_SPLIT_BYTES) -> Walk:
    """Find the splits of a capture.

    Raises:
        CaptureError: if it cannot be opened, is empty or not a capture.
    """
    state = state_of(uri)
    secrets: list[Secrets] = []
    client_randoms: set[bytes] = set()
    preamble = bytearray()
    with _open_split(uri, 0, state.size, b"", min(split_bytes, BLOCK_BYTES)) as window:
        walker = _Walker(uri, window, split_bytes)
        blocks = read_blocks(window, secrets, preamble)
        warning = ""
        try:
            for block in blocks:
                walker.add(block, preamble)
                if len(client_randoms) <= DEFAULT_MAX_SECRETS:
                    client_randoms.update(client_randoms_in(block.data.data))
        except CaptureError as error:
            warning = str(CaptureError(uri, error.why, offset=error.offset))
        splits = walker.splits(state.size)
    first_ns = walker.file_first_ns
    keys = [each for each in secrets if each.kind == TLS_KEY_LOG]
    weights = walker.sampler.weights
    return Walk(uri, first_ns, splits, warning, keys, weights, state, frozenset(client_randoms))


class _Walker:
    """Cuts one file."""

    def __init__(self, uri: str, window: Window, split_bytes: int) -> None:
        self.file_first_ns = _NEVER_NS
        self.sampler = WeightSampler()
        self._uri = uri
        self._window = window
        self._split_bytes = split_bytes
        self._done: list[Split] = []
        self._start = 0
        self._preamble = b""
        self._packets = 0
        self._first_packet = 1
        self._first_ns, self._last_ns = _NEVER_NS, -_NEVER_NS
        self._latest_ns, self._lag_ns = -_NEVER_NS, 0

    def add(self, block: PacketBlock, preamble: bytearray) -> None:
        """Add the next packets."""
        if not self._packets and not self._done:
            self.file_first_ns = int(block.time_ns[0])
        offset = self._window.offset
        may_cut = not self._window.is_compressed and len(preamble) <= _MAX_PREAMBLE_BYTES
        if offset - self._start >= self._split_bytes and self._packets and may_cut:
            self._done.append(self._split(offset))
            self._start, self._preamble = offset, bytes(preamble)
            self._first_packet += self._packets
            self._packets = 0
            self._first_ns, self._last_ns = _NEVER_NS, -_NEVER_NS
            self._lag_ns = 0
        self.sampler.add(block)
        self._packets += len(block.time_ns)
        self._first_ns = min(self._first_ns, int(block.time_ns.min()))
        self._last_ns = max(self._last_ns, int(block.time_ns.max()))
        latest_ns = np.maximum(np.maximum.accumulate(block.time_ns), self._latest_ns)
        self._lag_ns = max(self._lag_ns, int((latest_ns - block.time_ns).max()))
        self._latest_ns = int(latest_ns[-1])

    def splits(self, size: int) -> list[Split]:
        """Return the splits of a file of so many bytes."""
        return [*self._done, self._split(size)]

    def _split(self, end: int) -> Split:
        return Split(
            self._uri,
            self._start,
            end,
            self._preamble,
            self._first_packet,
            self._packets,
            self._first_ns,
            self._last_ns,
            self._lag_ns,
        )


def in_order(walks: Sequence[Walk], packets: int = 0, latest_ns: int = -_NEVER_NS) -> list[Split]:
    """Return the splits of all files of a run, numbered through: files by their first packets.

    Args:
        walks: through the files.
        packets: how many the run had before.
        latest_ns: the latest time of these.
    """
    splits: list[Split] = []
    for each in sorted(walks, key=lambda each: each.first_ns):
        for split in each.splits:
            lag_ns = max(split.lag_ns, latest_ns - split.first_ns)
            first_packet = packets + split.first_packet
            splits.append(split._replace(first_packet=first_packet, lag_ns=lag_ns))
        packets += sum(split.packets for split in each.splits)
        latest_ns = max([latest_ns, *(split.last_ns for split in each.splits)])
    return splits


def note_overlap(walks: Sequence[Walk]) -> list[str]:
    """Return a warning if a connection is in files that overlap in time.

    Packets are read file by file here, while `CaptureReader` merges such files: responses and
    requests that two recorders saw may then be paired otherwise, and packets have other numbers.
    """
    ends: dict[bytes, tuple[int, str]] = {}
    for each in sorted(walks, key=lambda each: each.first_ns):
        last_ns = max((split.last_ns for split in each.splits), default=-_NEVER_NS)
        for key in each.weights.heaviest:
            before_ns, uri = ends.get(key, (-_NEVER_NS, ""))
            if before_ns - each.first_ns > _DISORDER_NS:
                told = f"{uri} and {each.uri} overlap in time and share connections"
                rule = "Spark reads one after the other, while kdiag decode merges them by time"
                return [f"{told}: {rule}"]
            ends[key] = max(ends.get(key, (last_ns, each.uri)), (last_ns, each.uri))
    return []


def uris_of(splits: Sequence[Split]) -> list[str]:
    """Return the files of splits, each once; its index is its number."""
    return list(dict.fromkeys(split.uri for split in splits))


def whole(uri: str) -> Split:
    """Return a file as one split, whatever is in it.

    Raises:
        CaptureError: if there is no such file.
    """
    return Split(uri, 0, state_of(uri).size, b"", 1, _NEVER_NS, -_NEVER_NS, _NEVER_NS)


def read_positioned(
    split: Split, block_bytes: int = BLOCK_BYTES
) -> Iterator[tuple[int | None, PacketBlock]]:
    """Yield the packets of a split, and where each block begins in the file.

    The position is None in a compressed file. The first block begins with the preamble, which holds
    no packets; so its position is before that of the split.

    Raises:
        CaptureError: if the file cannot be read any further; the blocks before were yielded.
    """
    uri, start, end, preamble, *_ = split
    with _open_split(uri, start, end, preamble, block_bytes) as window:
        for block in read_blocks(window, []):
            position = start - len(preamble) + window.offset
            yield None if window.is_compressed else position, block


@contextmanager
def _open_split(
    uri: str, start: int, end: int, preamble: bytes, block_bytes: int
) -> Iterator[Window]:
    with open_file(uri) as file:
        part = _SplitStream(uri, file, (start, end), preamble)
        with open_window(cast("BinaryIO", part), block_bytes) as window:
            yield window


class _SplitStream(io.RawIOBase):
    """A preamble and a part of a file, as one stream."""

    def __init__(self, name: str, file: BinaryIO, part: tuple[int, int], preamble: bytes) -> None:
        super().__init__()
        self.name = name
        self._file = file
        self._preamble = preamble
        start, end = part
        self._left = end - start
        file.seek(start)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        view = memoryview(buffer)
        if self._preamble:
            count = min(len(view), len(self._preamble))
            view[:count] = self._preamble[:count]
            self._preamble = self._preamble[count:]
            return count
        count = min(len(view), self._left)
        read = cast("io.RawIOBase", self._file).readinto(view[:count]) or 0
        self._left -= read
        return read
