"""Receivers that closed their window: a pass over whole columns, cheap enough for every summary.

    consumer   ack, window 0   <------ 3.99 s, it reads nothing ------>   ack, window 4096

It costs one comparison for each packet where no window is closed. What else TCP shows takes the
facts of each connection (`tracker.py`).

Source: RFC 9293, section 3.8.6.
"""

from typing import Final

import numpy as np

from kdiag.exchange.tcp_facts import WindowStall
from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.tcp.sorted_batch import ACK, RST, SYN

_NO_WINDOW: Final = SYN | RST
"""The window of a SYN says nothing of what was read, and that of a RST is 0 mostly."""

_MOST: Final = 10_000

_Direction = tuple[int, int]
"""Sender and receiver of the acknowledgements."""


class ClosedWindows:
    """Collects for how long each receiver kept its window closed."""

    def __init__(self, addresses: AddressBook) -> None:
        self._addresses = addresses
        self._since_ns: dict[_Direction, int] = {}
        self._stalls: dict[_Direction, WindowStall] = {}

    def add(self, batch: SegmentBatch) -> None:
        """Add segments."""
        if not self._since_ns and batch.window.all():
            return
        closed = batch.window == 0
        closed &= (batch.flags & (ACK | _NO_WINDOW)) == ACK
        senders = {int(each) for each in np.unique(batch.source[closed])}
        senders |= {sender for sender, _ in self._since_ns}
        if not senders:
            return
        for row in np.flatnonzero(np.isin(batch.source, np.array(sorted(senders), np.uint64))):
            key = int(batch.source[row]), int(batch.destination[row])
            self._note(key, int(batch.time_ns[row]), is_closed=bool(closed[row]))

    def _note(self, key: _Direction, time_ns: int, *, is_closed: bool) -> None:
        since_ns = self._since_ns.get(key)
        if is_closed and since_ns is None and len(self._stalls) < _MOST:
            self._since_ns[key] = time_ns
        elif not is_closed and since_ns is not None:
            del self._since_ns[key]
            self._stall(key).add(since_ns, time_ns)

    def _stall(self, key: _Direction) -> WindowStall:
        stall = self._stalls.get(key)
        if stall is None:
            receiver, sender = map(self._addresses.endpoint_text, key)
            stall = self._stalls[key] = WindowStall(receiver, sender)
        return stall

    def finish(self, last_ns: int) -> list[WindowStall]:
        """Return the receivers that closed their windows.

        Args:
            last_ns: the end of the capture, up to which some may be closed.
        """
        for key, since_ns in self._since_ns.items():
            self._stall(key).add(since_ns, last_ns)
        self._since_ns.clear()
        return list(self._stalls.values())
