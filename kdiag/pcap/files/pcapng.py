"""The newer capture file: sections of blocks, each with its length at both ends.

A section names its byte order and its interfaces; a packet names its interface, which has the
link type and the unit of time. Blocks of other kinds may stand anywhere between.

Sections may be short: whoever joins captures of a second each makes thousands of them. So the
packets of all sections in a window are read together. An interface is known by its place among
those of all these sections:

    section        1          2             3
    interfaces     0 1        0             0 1 2
    place          0 1        2             3 4 5

A packet uses the interfaces of its section that stand before it. A later one is not known where
the window ends before it, so a file must not be read differently where both are in the window.
What stands behind the first senseless block has no effect either, for the same reason.

Source: draft-ietf-opsawg-pcapng.
"""

from collections.abc import Callable, Iterator
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kdiag.pcap.files.block import MAX_PACKET_BYTES, PacketBlock, distinct, gather
from kdiag.pcap.files.window import Window

if TYPE_CHECKING:
    from kdiag.errors import CaptureError

TLS_KEY_LOG: Final = 0x544C534B
_SECTION: Final = 0x0A0D0D0A  # the same in either byte order
_INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _STATISTICS, _PACKET, _SECRETS = 1, 2, 3, 5, 6, 10
_BYTE_ORDERS: Final = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_LEAST_BYTES: Final = {
    _SECTION: 28,
    _INTERFACE: 20,
    _OLD_PACKET: 32,
    _SIMPLE_PACKET: 16,
    _PACKET: 32,
    _SECRETS: 20,
}
_EMPTY_BLOCK_BYTES: Final = 12
_SIMPLE_DATA: Final = 12
_DATA: Final = 28
_MAX_INTERFACES: Final = 65_536
_MAX_SECRETS_BYTES: Final = 64 << 20
_RESOLUTION_OPTION, _TIME_OFFSET_OPTION = 9, 14
_START_OPTION, _INTERFACE_DROP_OPTION, _SYSTEM_DROP_OPTION = 2, 5, 7
_STATISTICS_BYTES: Final = 12  # of the interface and the time
_COUNTER_BYTES: Final = 8
_LARGEST_COUNT: Final = 1 << 48  # more is what stands for "not known"
_MICROSECONDS: Final = b"\x06"
_NS_DIGITS: Final = 9  # decimal places of a second
_NOT_A_USUAL_SIZE: Final = (1 << 32) - MAX_PACKET_BYTES | 3
"""The bits that the size of a block has only if it is too large, or no multiple of 4."""


class Secrets(NamedTuple):
    """The content of a Decryption Secrets Block.

    Attributes:
        kind: its type; `TLS_KEY_LOG` is an NSS key log, as text.
        data: the secrets.
    """

    kind: int
    data: bytes


class DropCounts:
    """Adds up what recorders say they dropped, in the statistics of their interfaces.

    The numbers of a block count from the start of the recording, so that of several blocks of one
    interface the last says it all, also where a recording went on in the next file.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[bytes, int], tuple[int, int]] = {}

    @property
    def interface(self) -> int:
        """Return the packets that interfaces dropped: the card and its driver."""
        return sum(of_interface for of_interface, _ in self._last.values())

    @property
    def system(self) -> int:
        """Return the packets that operating systems dropped."""
        return sum(of_system for _, of_system in self._last.values())

    def note(self, recording: bytes, interface: int, dropped: tuple[int, int]) -> None:
        """Note the drops of an interface so far.

        Args:
            recording: what tells it from others: its start.
            interface: its number.
            dropped: packets that the interface dropped, and those that the system did.
        """
        key = recording, interface
        if key in self._last or len(self._last) < _MAX_INTERFACES:
            before = self._last.get(key, (0, 0))
            self._last[key] = max(before[0], dropped[0]), max(before[1], dropped[1])


class _Interface(NamedTuple):
    """Where packets were captured: link type, length limit (0 is none) and clock."""

    link_type: int
    snaplen: int
    resolution: int
    offset_s: int


_NO_INTERFACE: Final = _Interface(0, 0, 0, 0)


def is_pcapng(start: bytes) -> bool:
    """Return whether a file that starts with these bytes is a pcapng file."""
    return start[:4] == _SECTION.to_bytes(4) and start[8:12] in _BYTE_ORDERS


def read_pcapng(
    window: Window,
    secrets: list[Secrets],
    preamble: bytearray | None = None,
    drops: DropCounts | None = None,
) -> Iterator[PacketBlock]:
    """Yield the packets of a file whose first bytes are in the window.

    Args:
        window: the file.
        secrets: receives the secrets found, before the packets that follow them.
        preamble: holds, whenever packets are yielded, the blocks without which what begins with
            the window could not be read: the header and the interfaces of its section.
        drops: learns of the packets that were dropped.

    Raises:
        CaptureError: the file ends within a block or stops making sense; every packet before
            that has been yielded.
    """
    blocks = _Blocks(window, secrets, bytearray() if preamble is None else preamble, drops)
    while True:
        has_turned = blocks.walk()
        packets = blocks.read_packets()
        if len(packets.offset):
            yield packets
        if blocks.broken is not None:
            raise blocks.broken
        if not has_turned and not blocks.advance():
            break
    window.check_end()


def find_secrets(window: Window) -> list[Secrets]:
    """Return the secrets in a file whose first bytes are in the window, without its packets.

    Where it is damaged they end; reading it reports that.
    """
    secrets: list[Secrets] = []
    blocks = _Blocks(window, secrets, bytearray())
    while blocks.broken is None:
        at_section = blocks.walk()
        blocks.pass_over_packets()
        if not at_section and not blocks.advance():
            break
    return secrets


class _PacketRun(NamedTuple):
    """Packets that follow one another with the same interfaces known.

    Attributes:
        first_packet: the place of the first one among the packets noted.
        first_interface: the place of the section's first interface among those known.
        room: how many interfaces of the section stand before these packets.
    """

    first_packet: int
    first_interface: int
    room: int


class _SectionInterfaces:
    """The interfaces of the sections in the window, and which packets may use which of them.

    Attributes:
        known: the interfaces, in the order of the file.
    """

    def __init__(self) -> None:
        self.known: list[_Interface] = []
        self._runs = [_PacketRun(0, 0, 0)]

    @property
    def room(self) -> int:
        """Return how many interfaces the last section has so far."""
        return self._runs[-1].room

    def begin_section(self, packets: int) -> None:
        """Begin a section behind so many packets."""
        self._runs.append(_PacketRun(packets, len(self.known), 0))

    def add(self, interface: _Interface, packets: int) -> None:
        """Add an interface of the last section, for what follows so many packets."""
        self.known.append(interface)
        last = self._runs[-1]
        run = last._replace(first_packet=packets, room=last.room + 1)
        if last.first_packet == packets:
            self._runs[-1] = run
        else:
            self._runs.append(run)

    def forget_packets(self) -> None:
        """Count packets from 0 again, and forget the sections that have ended."""
        last = self._runs[-1]
        del self.known[: last.first_interface]
        self._runs = [_PacketRun(0, 0, last.room)]

    def of_packets(self, packets: int) -> "_Interfaces":
        """Return which interfaces each of so many packets may use."""
        firsts, places, rooms = (
            np.array(column, np.int64) for column in zip(*self._runs, strict=True)
        )
        counts = np.diff(firsts, append=packets)
        return _Interfaces(
            self.known or [_NO_INTERFACE], np.repeat(places, counts), np.repeat(rooms, counts)
        )


class _Blocks:
    """The blocks of a file in their order, and the interfaces of the sections in the window.

    Attributes:
        broken: the error that ended the reading; None so far.
    """

    def __init__(
        self,
        window: Window,
        secrets: list[Secrets],
        preamble: bytearray,
        drops: DropCounts | None = None,
    ) -> None:
        self.broken: CaptureError | None = None
        self._window = window
        self._secrets = secrets
        self._secrets_bytes = 0
        self._position = 0
        self._need = 0
        self._byte_order = "<"
        self._interfaces = _SectionInterfaces()
        self._starts: list[int] = []
        self._effects: list[tuple[int, Callable[[], None]]] = []
        self._preamble = preamble
        self._header: list[bytes] = []
        self._drops = DropCounts() if drops is None else drops
        self._section_count = 0

    def advance(self) -> bool:
        """Read on from the block that is not whole in the window yet; false at the end."""
        used, self._position = self._position, 0
        self._preamble[:] = b"".join(self._header)
        return self._window.advance(used, self._need)

    def walk(self) -> bool:
        """Note the packets up to the window's end, a turn of bytes or the first broken block.

        Returns:
            Whether a section comes next in which numbers have another byte order.
        """
        view = self._window.data.data
        head = Struct(self._byte_order + "II").unpack_from
        position, end, append = self._position, len(view), self._starts.append
        self._need = 0
        while (left := end - position) >= _EMPTY_BLOCK_BYTES:
            kind, size = head(view, position)
            if kind == _PACKET and _DATA < size <= left and not size & _NOT_A_USUAL_SIZE:
                append(position)
                position += size
                continue
            self._position = position
            if kind == _SECTION:
                if self._starts and self._next_byte_order() != self._byte_order:
                    return True
                self._begin_section()
                head = Struct(self._byte_order + "II").unpack_from
                kind, size = head(view, position)
            if not self._read_block(kind, size, left):
                return False
            position += size
        self._position = position
        return False

    def _next_byte_order(self) -> str | None:
        """Return the byte order of the section that begins here."""
        start = self._position + 8
        return _BYTE_ORDERS.get(self._window.data[start : start + 4].tobytes())

    def _begin_section(self) -> None:
        byte_order = self._next_byte_order()
        if byte_order is None:
            self._break("a section header has no byte order mark")
            return
        self._byte_order = byte_order
        self._section_count += 1
        self._interfaces.begin_section(len(self._starts))

    def _read_block(self, kind: int, size: int, left: int) -> bool:
        """Read a block that is not the usual packet; return false if that is impossible."""
        if size < _LEAST_BYTES.get(kind, _EMPTY_BLOCK_BYTES) or size % 4 or size > MAX_PACKET_BYTES:
            self._break(f"a block should be here, but it gives its length as {size} bytes")
        if self.broken is not None:
            return False
        if size > left:
            self._need = size
            return False
        block = self._window.data[self._position : self._position + size].tobytes()
        body = block[8:-4]
        if kind == _SECTION:
            self._header = [block]
        elif kind == _INTERFACE:
            self._header.append(block)
            self._add_interface(body)
        elif kind == _STATISTICS:
            self._add_statistics(body)
        elif kind == _SECRETS:
            self._add_secrets(body)
        elif kind in (_OLD_PACKET, _SIMPLE_PACKET, _PACKET):
            self._starts.append(self._position)
        return self.broken is None

    def _add_interface(self, body: bytes) -> None:
        link_type, snaplen = Struct(self._byte_order + "HxxI").unpack_from(body)
        options = self._options(body[8:])
        resolution = options.get(_RESOLUTION_OPTION) or _MICROSECONDS
        offset = options.get(_TIME_OFFSET_OPTION, b"")
        offset_s = Struct(self._byte_order + "q").unpack(offset[:8].ljust(8, b"\0"))[0]
        interface = _Interface(link_type, snaplen, resolution[0], offset_s)
        self._interfaces.add(interface, len(self._starts))
        if self._interfaces.room > _MAX_INTERFACES:
            self._break(f"a section has more than {_MAX_INTERFACES} interfaces")

    def _add_statistics(self, body: bytes) -> None:
        """Note what an interface says it dropped."""
        if len(body) < _STATISTICS_BYTES:
            return
        (interface,) = Struct(self._byte_order + "I").unpack_from(body)
        options = self._options(body[_STATISTICS_BYTES:])
        by_interface, by_system = (
            self._counter(options.get(code, b""))
            for code in (_INTERFACE_DROP_OPTION, _SYSTEM_DROP_OPTION)
        )
        if by_interface or by_system:
            section = f"{self._window.name} {self._section_count}"
            recording = options.get(_START_OPTION) or section.encode(errors="replace")
            drops = by_interface, by_system
            note = partial(self._drops.note, recording, interface, drops)
            self._effects.append((len(self._starts), note))

    def _counter(self, value: bytes) -> int:
        """Return a counter; 0 where it has another size, or says that it is not known."""
        if len(value) != _COUNTER_BYTES:
            return 0
        count: int = Struct(self._byte_order + "Q").unpack(value)[0]
        return count if count < _LARGEST_COUNT else 0

    def _options(self, options: bytes) -> dict[int, bytes]:
        """Return the options of a block by their codes; of several alike, the last."""
        found = {}
        head = Struct(self._byte_order + "HH")
        position = 0
        while position + head.size <= len(options):
            code, size = head.unpack_from(options, position)
            position += head.size
            found[code] = options[position : position + size]
            position += size + -size % 4
        return found

    def _add_secrets(self, body: bytes) -> None:
        kind, size = Struct(self._byte_order + "II").unpack_from(body)
        self._secrets_bytes += size
        if size > len(body) - 8 or self._secrets_bytes > _MAX_SECRETS_BYTES:
            self._break(f"secrets should be here, but they give their length as {size} bytes")
        else:
            add = partial(self._secrets.append, Secrets(kind, body[8 : 8 + size]))
            self._effects.append((len(self._starts), add))

    def _break(self, why: str, position: int | None = None) -> None:
        place = self._position if position is None else position
        self.broken = self._window.error(
            f"{why}: the file is damaged from here on; everything before is read", place
        )

    def pass_over_packets(self) -> None:
        """Forget the packets noted since the last call; what stands among them has its effect."""
        self._settle(len(self._starts))

    def _settle(self, packets: int) -> None:
        """Forget the packets noted; what stands behind no more than so many has its effect."""
        for before, effect in self._effects:
            if before <= packets:
                effect()
        self._effects.clear()
        self._starts.clear()
        self._interfaces.forget_packets()

    def read_packets(self) -> PacketBlock:
        """Return the packets noted since the last call, up to the first that makes no sense."""
        starts = np.array(self._starts, np.int64)
        interfaces = self._interfaces.of_packets(len(starts))
        block, broken = _packets(self._window.data, starts, self._byte_order, interfaces)
        sound = len(starts)
        if broken.any():
            sound = int(broken.argmax())
            self._break("a packet block contradicts itself or its section", int(starts[sound]))
            block = block.first(sound)
        self._settle(sound)
        return block


class _Interfaces(NamedTuple):
    """The interfaces of packets that may lie in several sections.

    Attributes:
        known: those of all the sections.
        first: the place of the first one of each packet's section (int64).
        room: how many of that section stand before the packet (int64).
    """

    known: list[_Interface]
    first: npt.NDArray[np.int64]
    room: npt.NDArray[np.int64]

    def column(self, name: str, place: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return an attribute of the interfaces at some places."""
        values = np.array([getattr(each, name) for each in self.known], np.int64)
        return values[np.minimum(place, len(values) - 1)]


def _packets(
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    byte_order: str,
    interfaces: _Interfaces,
) -> tuple[PacketBlock, npt.NDArray[np.bool_]]:
    """Return the packets of the blocks that start there, and which of them make no sense."""
    fields, simple = _packet_fields(data, starts, byte_order)
    size, interface, captured, original = (
        fields[name].astype(np.int64) for name in ("size", "interface", "captured", "original")
    )
    if simple.any():
        snaplen = interfaces.column("snaplen", interfaces.first[simple])
        snaplen = np.where(snaplen == 0, MAX_PACKET_BYTES, snaplen)
        captured[simple] = np.minimum(original[simple], snaplen)
    last = gather(data, starts + size - 4, np.dtype([("size", byte_order + "u4")]))["size"]
    data_at = np.where(simple, _SIMPLE_DATA, _DATA)
    broken = (last != size) | (captured > size - 4 - data_at) | (interface >= interfaces.room)
    ticks = (fields["high"].astype(np.uint64) << np.uint64(32)) | fields["low"]
    place = interfaces.first + interface
    block = PacketBlock(
        data,
        starts + data_at,
        captured,
        np.maximum(original, captured),
        _time_ns(ticks, place, interfaces),
        interfaces.column("link_type", place),
        interface,
    )
    return block, broken


def _packet_fields(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], byte_order: str
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.bool_]]:
    """Return the fields of packet blocks, and which are simple ones (no interface, no time)."""
    names = ("kind", "size", "interface", "high", "low", "captured", "original")
    shape = np.dtype([(name, byte_order + "u4") for name in names])
    head = gather(data, starts, np.dtype([(name, byte_order + "u4") for name in names[:3]]))
    simple = head["kind"] == _SIMPLE_PACKET
    if not simple.any():
        fields = gather(data, starts, shape)
    else:
        fields = np.zeros(len(starts), shape)
        fields[~simple] = gather(data, starts[~simple], shape)
        fields["size"][simple] = head["size"][simple]
        fields["original"][simple] = head["interface"][simple]
    old = fields["kind"] == _OLD_PACKET
    if old.any():  # only 16 bits of the interface, then a count of drops
        narrow = np.dtype([("interface", byte_order + "u2")])
        fields["interface"][old] = gather(data, starts[old] + 8, narrow)["interface"]
    return fields, simple


def _time_ns(
    ticks: npt.NDArray[np.uint64], place: npt.NDArray[np.int64], interfaces: _Interfaces
) -> npt.NDArray[np.int64]:
    """Return when packets were captured; each interface has its own unit and offset."""
    time_ns = np.zeros(len(ticks), np.uint64)
    resolution = interfaces.column("resolution", place)
    for each in distinct(resolution):
        chosen = resolution == each
        time_ns[chosen] = _to_ns(ticks[chosen], each)
    # Absurd times of damaged files wrap around instead of failing.
    offset_s = interfaces.column("offset_s", place).view(np.uint64)
    return (time_ns + offset_s * np.uint64(10**_NS_DIGITS)).view(np.int64)


def _to_ns(ticks: npt.NDArray[np.uint64], resolution: int) -> npt.NDArray[np.uint64]:
    """Return nanoseconds; the resolution is a negative power of 10 or, with its top bit, of 2."""
    if resolution & 0x80:
        bits = np.uint64(min(resolution & 0x7F, 63))
        whole, fraction = ticks >> bits, ticks & ((np.uint64(1) << bits) - np.uint64(1))
        lost = np.uint64(max(int(bits) - 32, 0))  # so that the product fits into 64 bits
        part = ((fraction >> lost) * np.uint64(10**_NS_DIGITS)) >> (bits - lost)
        return whole * np.uint64(10**_NS_DIGITS) + part
    if resolution <= _NS_DIGITS:
        return ticks * np.uint64(10 ** (_NS_DIGITS - resolution))
    return ticks // np.uint64(10 ** min(resolution - _NS_DIGITS, 19))
