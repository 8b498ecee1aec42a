"""Makes the bytes of TCP packets, checksums included, for captures that nobody captured.

Source: RFC 791 and 8200 (IP), RFC 9293 (TCP), RFC 1071 (the checksum), RFC 7323 (window scale).
"""

from ipaddress import ip_address
from struct import Struct
from typing import Final, NamedTuple, Self

FIN: Final = 0x01
SYN: Final = 0x02
RST: Final = 0x04
PSH: Final = 0x08
ACK: Final = 0x10

MAX_PAYLOAD_BYTES: Final = 65_475
"""The most that fits into one packet whose length has 16 bits: a loopback's segment."""

_IPV4: Final = Struct(">BBHHHBBH4s4s")
_IPV6: Final = Struct(">IHBB16s16s")
_TCP: Final = Struct(">HHIIBBHHH")
_PSEUDO_END: Final = Struct(">IHH")
_PROTOCOL_TCP: Final = 6
_DONT_FRAGMENT: Final = 0x4000
_HOP_LIMIT: Final = 64
_WINDOW: Final = 65_535
_SYN_OPTIONS: Final = Struct(">BBHBBBB").pack(2, 4, MAX_PAYLOAD_BYTES, 1, 3, 3, 14)
"""Maximum segment size, and a window scale of 14: no segment is ever outside of the window."""


class Endpoint(NamedTuple):
    """One end of a connection: its address in network order, and its port."""

    address: bytes
    port: int

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Return the endpoint that `ip:port` means, an IPv6 address in brackets.

        Raises:
            ValueError: if it is none.
        """
        host, _, port = text.rpartition(":")
        return cls(ip_address(host.removeprefix("[").removesuffix("]")).packed, int(port))


class Segment(NamedTuple):
    """A TCP segment, without its ports.

    Attributes:
        sequence: number of its first byte.
        acknowledgement: number of the byte that its sender waits for; 0 without `ACK`.
        flags: of `FIN`, `SYN`, `RST`, `PSH` and `ACK`.
        payload: at most `MAX_PAYLOAD_BYTES`.
    """

    sequence: int
    acknowledgement: int
    flags: int
    payload: bytes = b""


def tcp_packet(source: Endpoint, target: Endpoint, segment: Segment) -> bytes:
    """Return an IP packet between addresses of one IP version.

    Sequence numbers are taken modulo 2**32.
    """
    options = _SYN_OPTIONS if segment.flags & SYN else b""
    head_bytes = _TCP.size + len(options)
    size = head_bytes + len(segment.payload)
    fields = (
        source.port,
        target.port,
        segment.sequence & 0xFFFFFFFF,
        segment.acknowledgement & 0xFFFFFFFF,
        head_bytes // 4 << 4,
        segment.flags,
        _WINDOW,
    )
    rest = options + segment.payload
    addresses = source.address + target.address
    pseudo_header = addresses + _PSEUDO_END.pack(size, 0, _PROTOCOL_TCP)
    checksum = _checksum(pseudo_header + _TCP.pack(*fields, 0, 0) + rest)
    return _ip_header(source, target, size) + _TCP.pack(*fields, checksum, 0) + rest


def _ip_header(source: Endpoint, target: Endpoint, size: int) -> bytes:
    """Return the IP header in front of `size` bytes of TCP."""
    ends = (source.address, target.address)
    if len(source.address) == 16:  # noqa: PLR2004 - an IPv6 address
        return _IPV6.pack(6 << 28, size, _PROTOCOL_TCP, _HOP_LIMIT, *ends)
    length = _IPV4.size + size
    fields = (0x45, 0, length, 0, _DONT_FRAGMENT, _HOP_LIMIT, _PROTOCOL_TCP)
    return _IPV4.pack(*fields, _checksum(_IPV4.pack(*fields, 0, *ends)), *ends)


def _checksum(data: bytes) -> int:
    """Return the internet checksum: the complement of the sum of 16-bit words, carries added.

    As 2**16 is 1 modulo 65535, that sum is the remainder of the bytes taken as one number; the
    sum of a header is never 0, so a remainder of 0 stands for 65535.
    """
    number = int.from_bytes(data) << (8 if len(data) % 2 else 0)
    return 0xFFFF - (number % 0xFFFF or 0xFFFF)
