"""Facts of a connected socket: its round trip, its windows and its buffers, as the system has them.

Linux keeps them in `struct tcp_info`, which has only ever grown at its end: fields that an older
kernel lacks are None. Other systems give the buffers alone.

Source: Linux, `include/uapi/linux/tcp.h`, `tcp_get_info` in `net/ipv4/tcp.c`; tcp(7), socket(7).
"""

import os
import socket
import struct
import sys
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_US

_U8: Final = struct.Struct("=B")
_U32: Final = struct.Struct("=I")
_U64: Final = struct.Struct("=Q")
_NEVER_MEASURED: Final = 0xFFFF_FFFF

_OPTIONS_AT: Final = 5
_SCALES_AT: Final = 6
_HAS_TIMESTAMPS: Final = 1
_HAS_SACK: Final = 2
_HAS_WINDOW_SCALE: Final = 4

_MOST_INFO_BYTES: Final = 512
_MOST_NAME_BYTES: Final = 16
_KEPT_PER_BYTE_SET: Final = 2 if sys.platform == "linux" else 1
"""Linux doubles the size that is set, for its own bookkeeping (socket(7))."""


class SocketFacts(NamedTuple):
    """Facts of one connection; None for those that the system does not give.

    Attributes:
        send_buffer_bytes, receive_buffer_bytes: SO_SNDBUF and SO_RCVBUF as the system keeps them;
            those left to the system grow with use.
        congestion_control: the algorithm of this end: `cubic`.
        rtt_ns, rtt_var_ns: smoothed round trip, and its mean deviation.
        min_rtt_ns: the shortest round trip of the last minutes.
        send_mss, receive_mss: payload of a segment to the peer, and from it, in bytes.
        send_window_scale: by how many bits the peer shifts its window; also None where either end
            did not offer scaling, so that no window is larger than 64 KiB.
        receive_window_scale: the same for this end's window.
        has_sack, has_timestamps: whether both ends use them.
        congestion_window_segments: how much this end may have in flight.
        retransmits: segments sent again since the connection began.
        acked_bytes: payload that the peer has acknowledged since then.
        received_bytes: payload that came from the peer since then.
        peer_window_bytes: how much the peer accepts beyond what it has acknowledged.
        receive_window_bytes: the same for this end.
        receive_space_bytes: how much the program reads in a round trip; the system grows the
            receive buffer accordingly.
        delivery_rate_bytes_per_s: how fast the peer last acknowledged what was sent.
        busy_ns: for how long anything was in flight.
        receiver_limited_ns: for how long of it the peer's window was full.
        send_buffer_limited_ns: for how long of it the send buffer was.
    """

    send_buffer_bytes: int
    receive_buffer_bytes: int
    congestion_control: str | None = None
    rtt_ns: int | None = None
    rtt_var_ns: int | None = None
    min_rtt_ns: int | None = None
    send_mss: int | None = None
    receive_mss: int | None = None
    send_window_scale: int | None = None
    receive_window_scale: int | None = None
    has_sack: bool | None = None
    has_timestamps: bool | None = None
    congestion_window_segments: int | None = None
    retransmits: int | None = None
    acked_bytes: int | None = None
    received_bytes: int | None = None
    peer_window_bytes: int | None = None
    receive_window_bytes: int | None = None
    receive_space_bytes: int | None = None
    delivery_rate_bytes_per_s: int | None = None
    busy_ns: int | None = None
    receiver_limited_ns: int | None = None
    send_buffer_limited_ns: int | None = None

    @property
    def effective_send_buffer_bytes(self) -> int:
        """Return the SO_SNDBUF to set for this send buffer."""
        return self.send_buffer_bytes // _KEPT_PER_BYTE_SET

    @property
    def effective_receive_buffer_bytes(self) -> int:
        """Return the SO_RCVBUF to set for this receive buffer."""
        return self.receive_buffer_bytes // _KEPT_PER_BYTE_SET


def read_socket_facts(fileno: int) -> SocketFacts:
    """Return the facts of a socket as they are now.

    Args:
        fileno: its file descriptor, which stays open.

    Raises:
        OSError: if it is not a socket.
    """
    with socket.socket(fileno=os.dup(fileno)) as sock:
        facts = SocketFacts(
            sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
            sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
        )
        if sys.platform != "linux":
            return facts
        try:
            info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _MOST_INFO_BYTES)
            name = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _MOST_NAME_BYTES)
        except OSError:  # not a TCP socket
            return facts
    return with_tcp_info(facts, info)._replace(congestion_control=name.rstrip(b"\0").decode())


def with_tcp_info(facts: SocketFacts, info: bytes) -> SocketFacts:
    """Return facts with those of Linux's `struct tcp_info`, as far as it goes."""
    send_scale, receive_scale = _scales(info)
    return facts._replace(
        send_mss=_read(info, _U32, 16),
        receive_mss=_read(info, _U32, 20),
        rtt_ns=_in_ns(_read(info, _U32, 68) or None),
        rtt_var_ns=_in_ns(_read(info, _U32, 72)),
        congestion_window_segments=_read(info, _U32, 80),
        receive_space_bytes=_read(info, _U32, 96),
        retransmits=_read(info, _U32, 100),
        acked_bytes=_read(info, _U64, 120),
        received_bytes=_read(info, _U64, 128),
        min_rtt_ns=_in_ns(_measured(_read(info, _U32, 148))),
        delivery_rate_bytes_per_s=_read(info, _U64, 160),
        busy_ns=_in_ns(_read(info, _U64, 168)),
        receiver_limited_ns=_in_ns(_read(info, _U64, 176)),
        send_buffer_limited_ns=_in_ns(_read(info, _U64, 184)),
        peer_window_bytes=_read(info, _U32, 228),
        receive_window_bytes=_read(info, _U32, 232),
        send_window_scale=send_scale,
        receive_window_scale=receive_scale,
        has_sack=_has(info, _HAS_SACK),
        has_timestamps=_has(info, _HAS_TIMESTAMPS),
    )


def _read(info: bytes, form: struct.Struct, offset: int) -> int | None:
    if offset + form.size > len(info):
        return None
    number: int = form.unpack_from(info, offset)[0]
    return number


def _in_ns(time_us: int | None) -> int | None:
    return None if time_us is None else time_us * NS_PER_US


def _measured(number: int | None) -> int | None:
    return None if number == _NEVER_MEASURED else number


def _has(info: bytes, option: int) -> bool | None:
    options = _read(info, _U8, _OPTIONS_AT)
    return None if options is None else bool(options & option)


def _scales(info: bytes) -> tuple[int | None, int | None]:
    """Return the window scales of the peer and of this end: two bit fields of one byte."""
    both = _read(info, _U8, _SCALES_AT)
    if both is None or not _has(info, _HAS_WINDOW_SCALE):
        return None, None
    low, high = both & 15, both >> 4
    return (low, high) if sys.byteorder == "little" else (high, low)
