"""Links: a client's connection to a proxy and the one behind it, with everything that waits.

    waiting    frames that are to go to the broker, in the order of the client
    awaited    requests of which the broker owes an answer, in its order
    turn       requests of which the client is owed an answer, in its order

A request that a fault refuses is in `turn` alone; one that was answered early, because its group
lost its coordinator, is in `awaited` alone, and what the broker answers is dropped. A client is not
read while too much of its requests waits, and a broker not while too many answers do.
"""

from collections import deque
from typing import Final

import msgspec

from kdiag.lab.fault.fault_plan import FaultPlan
from kdiag.lab.proxy.relayed_request import RelayedRequest, RequestReader
from kdiag.net.address import Address

MOST_REQUESTS: Final = 64
"""So many requests of a client are under way; the next one is not read before."""
MOST_WAITING_BYTES: Final = 4 << 20
"""So many bytes wait for a broker, and one frame more."""
MOST_ANSWERS: Final = 16
"""So many answers wait for a client."""


class RelayedCall(msgspec.Struct, eq=False):
    """A request on its way, and its answer on the way back.

    Attributes:
        request: as far as it is understood.
        plan: what goes wrong with it; None if nothing can.
        answer: the frame; None as long as there is none.
        is_answered: whether the client has its answer, or has none to get.
        is_silent: whether the connection falls silent instead of an answer.
        is_last: whether it is closed instead.
    """

    request: RelayedRequest
    plan: FaultPlan | None = None
    answer: bytes | None = None
    is_answered: bool = False
    is_silent: bool = False
    is_last: bool = False


class WaitingFrame(msgspec.Struct, eq=False):
    """A frame that is to go to a broker.

    Attributes:
        frame: its bytes.
        call: its request.
        due_ns: when it may go.
    """

    frame: bytes
    call: RelayedCall
    due_ns: int = 0


class ProxyLink:
    """A client's connection, and the one to its broker.

    Attributes:
        client_id, broker_id: the ids of the two in the selector.
        node_id: the broker.
        number: of the client's connection, from 1 for each broker.
        reader: reads its requests.
        addresses: of the broker that have not been tried yet.
        waiting, awaited, turn: as above.
        waiting_bytes: of the frames that wait.
        is_ending: whether the broker has ended, and the client gets only what is here.
        is_deaf: whether the client is not read any more, for ever.
    """

    def __init__(
        self, number: int, node_id: int, addresses: list[Address], reader: RequestReader
    ) -> None:
        """Begin with nothing.

        Args:
            number: of the connection at its broker.
            node_id: the broker.
            addresses: to be tried one by one.
            reader: reads requests.
        """
        self.client_id = f"c{node_id}-{number}"
        self.broker_id = f"b{node_id}-{number}"
        self.node_id = node_id
        self.number = number
        self.reader = reader
        self.addresses = deque(addresses)
        self.waiting: deque[WaitingFrame] = deque()
        self.awaited: deque[RelayedCall] = deque()
        self.turn: deque[RelayedCall] = deque()
        self.waiting_bytes = 0
        self.is_ending = False
        self.is_deaf = False

    def __repr__(self) -> str:
        return f"<ProxyLink {self.number} to broker {self.node_id}: {len(self.turn)} requests>"

    @property
    def is_full(self) -> bool:
        """Return whether the client is not to be read now."""
        is_much = len(self.turn) >= MOST_REQUESTS or self.waiting_bytes >= MOST_WAITING_BYTES
        return is_much or self.is_deaf

    def forward(self, frame: bytes, call: RelayedCall, due_ns: int = 0) -> None:
        """Have a frame go to the broker, after those before it."""
        self.waiting.append(WaitingFrame(frame, call, due_ns))
        self.waiting_bytes += len(frame)

    def next_frame(self, now_ns: int) -> bytes | None:
        """Return the frame that goes to the broker next, once; None if none is due."""
        if not self.waiting or self.waiting[0].due_ns > now_ns:
            return None
        each = self.waiting.popleft()
        self.waiting_bytes -= len(each.frame)
        if each.call.request.expects_answer:
            self.awaited.append(each.call)
        return each.frame

    def expect(self, call: RelayedCall) -> None:
        """Note that the client is owed an answer."""
        self.turn.append(call)

    def pop_ready(self) -> RelayedCall | None:
        """Return, once, the request that is next to be answered; None if it has to wait."""
        while self.turn and self.turn[0].is_answered:
            self.turn.popleft()
        if not self.turn:
            return None
        first = self.turn[0]
        if first.answer is None and not first.is_silent and not first.is_last:
            return None
        first.is_answered = True
        return self.turn.popleft()
