"""Exchanges as a capture file, for traffic that nobody recorded on its way.

Each connection gets the packets that a capture of it would have: a handshake, data, an end. Times
are those of the exchanges, sequence numbers and checksums are right; how bytes are spread over
segments is made up.

An exchange is known when its response is complete: after requests that were sent later, on its
own connection or on others. Packets are therefore kept for a while and written in the order of
their times. What comes later still is written at once, with its own time where its connection has
none later.
"""

from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from kdiag.exchange.model import Exchange
from kdiag.exchange.secrets.masking import mask_secrets
from kdiag.pcap.writer.connection import Delivery, Sender, SyntheticConnection
from kdiag.pcap.writer.savefile import LINKTYPE_RAW, SavefileWriter

if TYPE_CHECKING:
    from kdiag.pcap.writer.packet import Endpoint

HOLD_NS: Final = 5_000_000_000
"""How long packets wait for others that were seen before; a fetch takes half a second."""

MAX_HELD_BYTES: Final = 16 * 1024 * 1024
"""How many bytes of frames wait at most; beyond that the oldest are written."""

_FIRST: Final = -1
"""Less than any number of an exchange: the handshake comes before frames of the same time."""


class ExchangeWriter:
    """A capture file that exchanges are written to; a context manager, which closes it.

    Passwords and tokens are overwritten in it unless they are asked to be kept.

    Raises:
        CaptureError: from any method, when the file cannot be written.
    """

    def __init__(self, path: Path, *, keep_secrets: bool = False) -> None:
        """Start a file; one of that name is lost."""
        self._file = SavefileWriter(path, LINKTYPE_RAW, is_private=keep_secrets)
        self._keep_secrets = keep_secrets
        self._connections: dict[str, SyntheticConnection] = {}
        self._open: dict[tuple[Endpoint, Endpoint], SyntheticConnection] = {}
        self._waiting: list[tuple[tuple[int, ...], Callable[[int], None]]] = []
        self._added = 0
        self._held_bytes = 0
        self._newest_ns = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def write(self, exchange: Exchange) -> None:
        """Add an exchange that is complete, or will never be."""
        if not self._keep_secrets:
            exchange = mask_secrets(exchange)
        connection = self._connection(exchange)
        first_ns = 0
        for side, frame in ((Sender.CLIENT, exchange.request), (Sender.BROKER, exchange.response)):
            if frame is not None:
                # A wall clock may go back; a response does not come before its request.
                first_ns = max(first_ns, frame.first_byte_ns)
                last_ns = max(first_ns, frame.last_byte_ns)
                rank = (first_ns, exchange.number, side)
                self._add_frame(connection, Delivery.of_frame(side, frame), last_ns, rank)
        self._write_until(self._newest_ns - HOLD_NS)

    def close(self) -> None:
        """Write the waiting packets, end every connection, and close the file."""
        if self._file.is_closed:
            return  # what could not be written was told
        try:
            for each in self._connections.values():
                end_ns = max(each.last_frame_ns, each.connection.last_ns)
                self._add((end_ns, end_ns + 1), partial(self._end, each))
            self._connections.clear()
            self._write_until(None)
        finally:
            self._file.close()

    def _connection(self, exchange: Exchange) -> SyntheticConnection:
        """Return the connection of an exchange, which a handshake begins."""
        known = exchange.connection
        connection = self._connections.get(known.connection_id)
        if connection is None:
            connection = SyntheticConnection(known, self._file)
            self._connections[known.connection_id] = connection
            start_ns = min(known.first_ns, exchange.time_ns)
            rank = (start_ns, start_ns, _FIRST, known.number)
            self._add(rank, partial(self._start, connection))
        return connection

    def _add_frame(
        self,
        connection: SyntheticConnection,
        delivery: Delivery,
        last_ns: int,
        rank: tuple[int, int, int],
    ) -> None:
        """Let a frame wait, of which the first byte was seen at the time that its rank begins with.

        Of what was seen at the same time the earlier frame's comes first, then the request.
        """
        self._add((rank[0], *rank), partial(self._begin, connection, delivery))
        if delivery.last:
            self._add((last_ns, *rank), partial(connection.send_rest, delivery))
        self._held_bytes += delivery.size
        connection.last_frame_ns = max(connection.last_frame_ns, last_ns)
        self._newest_ns = max(self._newest_ns, last_ns)

    def _add(self, rank: tuple[int, ...], action: Callable[[int], None]) -> None:
        """Let an action wait for its turn; a rank starts with the time, which the action gets."""
        self._added += 1
        heappush(self._waiting, ((*rank, self._added), action))

    def _write_until(self, time_ns: int | None) -> None:
        """Write the packets from before a time, or all, and those for which there is no room."""
        waiting = self._waiting
        while waiting and (
            time_ns is None or waiting[0][0][0] < time_ns or self._held_bytes > MAX_HELD_BYTES
        ):
            rank, action = heappop(waiting)
            action(rank[0])
        self._file.flush()

    def _start(self, connection: SyntheticConnection, time_ns: int) -> None:
        reused = self._open.get(connection.ends)
        if reused is not None:
            reused.close(time_ns)
        self._open[connection.ends] = connection
        connection.open(time_ns)

    def _begin(self, connection: SyntheticConnection, delivery: Delivery, time_ns: int) -> None:
        self._held_bytes -= delivery.size
        connection.begin(delivery, time_ns)

    def _end(self, connection: SyntheticConnection, time_ns: int) -> None:
        if self._open.get(connection.ends) is connection:
            connection.close(time_ns)
