"""Captures in, columns of TCP segments out: all inputs of a run, read as one recording."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from kdiag.errors import CaptureError
from kdiag.pcap.encapsulation import NO_PORTS
from kdiag.pcap.files.block import PacketBlock
from kdiag.pcap.files.capture_facts import CaptureFacts
from kdiag.pcap.files.merge import MAX_MERGED, TimedInput, merge_inputs
from kdiag.pcap.files.pcap import SAVEFILE_HEADER_BYTES, is_savefile, read_savefile
from kdiag.pcap.files.pcapng import DropCounts, Secrets, find_secrets, is_pcapng, read_pcapng
from kdiag.pcap.files.repeats import RepeatedPackets
from kdiag.pcap.files.time_order import TimeOrder
from kdiag.pcap.files.window import BLOCK_BYTES, STDIN, Window, open_window
from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.packets.index import PacketIndex, SegmentBatch

Source: TypeAlias = str | Path | BinaryIO

_PROBE_BYTES: Final = 64 << 10
_LEAST_BLOCK_BYTES: Final = 64 << 10
_CONVERT: Final = "convert it with `editcap -F pcap`"
_HEX_DUMP: Final = re.compile(rb"^\s*(?:0x)?0000:?\s+(?:[0-9a-fA-F]{2,4}\s+){4}", re.MULTILINE)
_HINTS: Final = {  # by the first bytes of what people hand over by mistake
    b"PK\x03\x04": "is a zip archive: unpack it first",
    b"7z\xbc\xaf": "is a 7z archive: unpack it first",
    b"\x02\x21\x4c\x18": "is packed with lz4's legacy format: unpack it first",
    b"snoop\x00": f"is a snoop capture: {_CONVERT}",
    b"GMBU": f"is a Network Monitor capture: {_CONVERT}",
    b"# TLS secrets": "is a TLS key log: it goes beside a capture, not in its place",
    b"CLIENT_": "is a TLS key log: it goes beside a capture, not in its place",
    b"SERVER_": "is a TLS key log: it goes beside a capture, not in its place",
}


class CaptureReader:
    """Reads captures as one recording; packets are numbered from 1 over all of them.

    Files are read in the order of their first packets, so that a rotated set may be given in any
    order; those that overlap in time are merged. A folder stands for the captures that lie in it.
    Pipes come after the files.

    Attributes:
        index: finds the segments, and counts the packets.
        secrets: TLS keys that pcapng files brought along.
        drops: packets that the recorders dropped, as pcapng files tell.
        repeats: the packets that are in more than one input, which are read once.
        time_order: counts the packets that were written late, which are read in their order.
        warnings: what could not be read: an input that ends early or is damaged from some place
            on (everything before was delivered), packets in what nobody here reads.
        files: what was read of each input, in the order in which they were opened.
        total_bytes: size of all inputs as they are stored; None when one is a pipe.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        block_bytes: int = BLOCK_BYTES,
        separates_networks: bool = False,
        tunnel_ports: Mapping[int, str] = NO_PORTS,
    ) -> None:
        """Look into the files, without reading them.

        Args:
            sources: files, folders and pipes.
            block_bytes: how much is read at once.
            separates_networks: as for `PacketIndex`.
            tunnel_ports: as for `PacketIndex`.

        Raises:
            CaptureError: a file cannot be opened, is empty or not a capture, or a folder holds
                none.
        """
        inputs = self._known = _in_order(sources)
        self.index = PacketIndex(separates_networks=separates_networks, tunnel_ports=tunnel_ports)
        self.secrets: list[Secrets] = []
        self.drops = DropCounts()
        self.repeats = RepeatedPackets()
        self.time_order = TimeOrder()
        self.warnings: list[CaptureError] = []
        self.files: list[CaptureFacts] = []
        sizes = [known.stored_bytes for known in inputs]
        self.total_bytes = None if None in sizes else sum(size or 0 for size in sizes)
        self._block_bytes = block_bytes
        self._windows: list[Window] = []
        self._merged: list[str] = []
        self._bytes_before = 0

    @property
    def inputs(self) -> list[Source]:
        """Return the inputs, in the order of their first packets."""
        return [known.source for known in self._known]

    @property
    def first_ns(self) -> int | None:
        """Return when the first packet of the files was captured; None without files."""
        first = self._known[0].first_ns if self._known else inf
        return int(first) if first < inf else None

    @property
    def addresses(self) -> AddressBook:
        """Return what writes the endpoints of the segments as text."""
        return self.index.addresses

    @property
    def packets(self) -> int:
        """Packets read so far; the number of the last one."""
        return self.index.packets

    @property
    def bytes_read(self) -> int:
        """Bytes read so far of the inputs as they are stored, for showing progress."""
        return self._bytes_before + sum(window.bytes_read for window in self._windows)

    def read_segments(self) -> Iterator[SegmentBatch]:
        """Yield the TCP segments of all inputs, a block at a time; can be done once.

        Raises:
            CaptureError: a pipe is empty or carries no capture, or a file has gone meanwhile.
                What goes wrong later in an input ends that input and becomes a warning.
        """
        for _, batch in self.read_blocks():
            yield batch

    def read_blocks(self) -> Iterator[tuple[PacketBlock, SegmentBatch]]:
        """Yield the same with the packets that the segments were found in."""
        inputs = [TimedInput(each.first_ns, partial(self._read, each)) for each in self._known]
        for block in merge_inputs(inputs, self._note_crowd, self.repeats):
            yield block, self.index.index_block(block)

    def find_secrets(self) -> Iterator[list[Secrets]]:
        """Yield the TLS keys of each file that brings some along, without reading its packets.

        So they are known before the packets that need them, wherever in the inputs they are; pipes
        cannot be looked at before they are read.
        """
        for known in self._known:
            if known.stored_bytes is None:
                continue
            with suppress(CaptureError), open_window(known.source) as window:
                if is_pcapng(window.data[:16].tobytes()):
                    yield find_secrets(window)

    @property
    def repeated(self) -> tuple[int, str, str]:
        """How many packets were in more than one input, and the first two inputs with one."""
        one, other = self.repeats.first or (0, 0)
        names = [
            str(each) if isinstance(each, str | Path) else each.name for each in self.inputs
        ] or [""]
        return self.repeats.count, names[one], names[other]

    def _read(self, known: "_Input", place: int) -> Iterator[PacketBlock]:
        """Yield the packets of an input, which is one of several that are open.

        Args:
            known: the input.
            place: how many were opened before; so much smaller are the blocks, so that all together
                need little more memory than one.
        """
        block_bytes = max(self._block_bytes // (place + 1), _LEAST_BLOCK_BYTES)
        with open_window(known.source, block_bytes if place else self._block_bytes) as window:
            self._windows.append(window)
            self._merged.append(window.name)
            file = CaptureFacts(window.name, known.stored_bytes, known.modified_ns)
            self.files.append(file)
            damage: list[CaptureError] = []
            blocks = read_blocks(window, self.secrets, drops=self.drops)
            blocks = _until_damage(blocks, file, damage)
            yield from self.time_order.sorted(blocks, is_live=window.is_pipe)
            for error in damage:
                self._warn(window.name, error.why, error.offset)
                file.break_off(error)
            self._windows.remove(window)
            self._bytes_before += window.bytes_read
        if not self._windows:
            self._note_unread()

    def _note_unread(self) -> None:
        """Report the packets that nobody reads, of the inputs that were merged."""
        name, *others = self._merged
        self._merged.clear()
        for note in self.index.dissector.notes():
            self._warn(f"{name} and {len(others)} more" if others else name, note, None)
        self.index.dissector.clear()

    def _note_crowd(self) -> None:
        """Report that more inputs overlap than are merged."""
        why = f"more than {MAX_MERGED} inputs overlap in time: those beyond are read after others"
        self._warn(self._merged[0], why, None)

    def _warn(self, name: str, why: str, offset: int | None) -> None:
        self.warnings.append(CaptureError(name, why, offset=offset, packet=self.packets))


def _until_damage(
    blocks: Iterator[PacketBlock], file: CaptureFacts, damage: list[CaptureError]
) -> Iterator[PacketBlock]:
    """Yield the blocks of a file up to its end or its damage, and note what it has."""
    try:
        for block in blocks:
            file.add(block.time_ns)
            yield block
    except CaptureError as error:
        damage.append(error)


def read_blocks(
    window: Window,
    secrets: list[Secrets],
    preamble: bytearray | None = None,
    drops: DropCounts | None = None,
) -> Iterator[PacketBlock]:
    """Return the packets of a capture, whichever its format is.

    Args:
        window: the capture, with its first bytes.
        secrets: receives the TLS keys in the capture.
        preamble: holds, whenever packets are yielded, the bytes that in front of those of the
            window make a capture of its own; the first window needs none.
        drops: learns of the packets that the recorder dropped, where the file tells.

    Raises:
        CaptureError: at once if this is not a capture; while iterating, after the last good
            packet, if it ends early or is damaged.
    """
    start = window.data[:16].tobytes()
    if is_savefile(start):
        if preamble is not None:
            preamble[:] = window.data[:SAVEFILE_HEADER_BYTES].tobytes()
        return read_savefile(window)
    if is_pcapng(start):
        return read_pcapng(window, secrets, preamble, drops)
    for magic, hint in _HINTS.items():
        if start.startswith(magic):
            raise window.error(hint)
    if _HEX_DUMP.search(window.data[:_PROBE_BYTES].tobytes()):
        raise window.error("is a hex dump: `text2pcap` makes a capture of one")
    raise window.error(
        f"is neither pcap nor pcapng, it starts with {start[:8].hex(' ')}: give the file that "
        f"tcpdump or Wireshark wrote; if it is a capture of another format, {_CONVERT}"
    )


class _Input(NamedTuple):
    """One input: a file or a pipe.

    Attributes:
        first_ns: when its first packet was captured; infinity where that is not known.
        source: its path or file.
        stored_bytes: its size as it is stored; None for a pipe.
        modified_ns: when it was written last, since 1970; None for a pipe.
    """

    first_ns: float
    source: Source
    stored_bytes: int | None
    modified_ns: int | None = None


def _in_order(sources: Sequence[Source]) -> list[_Input]:
    """Return the inputs with folders replaced by their captures, by time of first packet."""
    inputs: list[_Input] = []
    for source in sources:
        if not isinstance(source, str | Path) or source == STDIN:
            inputs.append(_Input(inf, source, None))
            continue
        try:
            inputs += _look_up(Path(source))
        except OSError as error:
            raise CaptureError(str(source), f"cannot be opened: {error.strerror}") from error
    return sorted(inputs, key=lambda known: known.first_ns)


def _look_up(path: Path) -> list[_Input]:
    if path.is_dir():
        return _captures_in(path)
    if path.is_file() or not path.exists():
        return [_look_into(path)]
    return [_Input(inf, path, None)]  # a named pipe can be read only once


def _captures_in(folder: Path) -> list[_Input]:
    inputs = []
    for path in sorted(folder.iterdir()):
        if path.is_file():
            try:
                inputs.append(_look_into(path))
            except CaptureError as error:
                if error.__cause__ is not None:  # it cannot be read, which is not "no capture"
                    raise
    if not inputs:
        raise CaptureError(str(folder), "holds no capture file")
    return inputs


def _look_into(path: Path) -> _Input:
    """Return a file as an input; its first packet may be missing or damaged."""
    state = path.stat()
    with open_window(path, _PROBE_BYTES) as window:
        blocks = read_blocks(window, [])
        try:
            block = next(blocks, None)
        except CaptureError:  # reading will come to it again and report it
            block = None
    return _Input(
        inf if block is None else int(block.time_ns[0]), path, state.st_size, state.st_mtime_ns
    )
