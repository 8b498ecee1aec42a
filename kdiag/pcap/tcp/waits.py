"""Why a sender waited: one direction's segments against the receiver's acknowledgments.

How it works. What counts is what the sender knew when it sent. Packets may be seen far from it, so
an answer seen at time t is taken as known to the sender at t plus the round trip between vantage
point and sender, when compared with segments, which are seen on their way from it:

    vantage point 8 ms from the sender, 12 ms from the receiver; 64 KiB sent at 0 ms pass by at
    4 ms, and their acknowledgement at 16 ms; what this lets the sender send, at 20 ms, passes by at
    24 ms: 8 ms later

The time between two segments is divided in this order: while the window had less room than a
quarter of its largest size, the receiver was waited for; while everything was acknowledged, the
sender's program; what is left is recovery if something lost had not arrived yet, and else held:
there was data in flight and room for more, so the program, the send buffer or the congestion window
held it back.
"""

from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from kdiag.exchange.tcp_facts import TcpDirection

Integers = npt.NDArray[np.int64]

_NEVER: Final = 1 << 62
_ROOM_DIVISOR: Final = 4  # senders wait rather than send little (RFC 9293, 3.8.6.2.1; Linux's TSO)
_CLOSED_DIVISOR: Final = 2
_SLACK_DIVISOR: Final = 8
_MOST_ANSWERS: Final = 1 << 14


class Sent(NamedTuple):
    """Segments with payload that one end sent, in columns.

    Attributes:
        time_ns: when they were seen, never decreasing.
        before: the end of the bytes sent before, as an offset in the stream.
        after: the same with the segment.
        is_recovering: whether something lost had not been acknowledged yet.
    """

    time_ns: Integers
    before: Integers
    after: Integers
    is_recovering: npt.NDArray[np.bool_]

    @classmethod
    def none(cls) -> Self:
        """Return no segments."""
        nothing = np.zeros(0, np.int64)
        return cls(nothing, nothing, nothing, nothing > 0)


class Answers(NamedTuple):
    """The receiver's acknowledgments, in columns; those alone that change something.

    Attributes:
        time_ns: when it was seen, never decreasing.
        acknowledged: how much of the stream had arrived, never decreasing.
        edge: up to where the sender may send, never decreasing; far away if not known.
        window: the room that the receiver had.
    """

    time_ns: Integers
    acknowledged: Integers
    edge: Integers
    window: Integers

    @classmethod
    def none(cls) -> Self:
        """Return no answers."""
        return cls(*(np.zeros(0, np.int64) for _ in range(4)))

    def followed_by(self, later: Self) -> Self:
        """Return these and then others."""
        pairs = zip(self, later, strict=True)
        return type(self)(*(np.concatenate(pair) for pair in pairs))

    def since(self, first: int) -> Self:
        """Return the answers from one on."""
        return type(self)(*(column[first:] for column in self))


class Waits:
    """Adds up the reasons why a sender waited."""

    __slots__ = ("_answers", "_known", "_largest_window", "_last")

    def __init__(self) -> None:
        self._answers = Answers.none()
        self._known = -1
        self._largest_window = 0
        self._last: tuple[int, int] | None = None

    def add(
        self, sent: Sent, answers: Answers, rtt_to_sender_ns: int, direction: TcpDirection
    ) -> Integers:
        """Divide the times between segments; return the bytes in flight after each.

        Args:
            sent: the next segments.
            answers: the next answers.
            rtt_to_sender_ns: round trip between vantage point and sender.
            direction: gets the times.
        """
        delayed = answers._replace(time_ns=answers.time_ns + rtt_to_sender_ns)
        known = self._answers.followed_by(delayed)
        known = known._replace(time_ns=np.maximum.accumulate(known.time_ns))
        self._answers = known
        if not len(sent.time_ns):  # a capture may have one direction only
            self._answers = known.since(max(0, len(known.time_ns) - _MOST_ANSWERS))
            return np.zeros(0, np.int64)
        at = np.searchsorted(known.time_ns, sent.time_ns, "right") - 1
        acknowledged = _before_any(known.acknowledged, at, 0)
        self._divide(sent, at, rtt_to_sender_ns // _SLACK_DIVISOR, direction)
        self._last = int(sent.time_ns[-1]), int(sent.after[-1])
        self._answers = known.since(max(int(at[-1]), 0))
        in_flight: Integers = np.maximum(sent.after - acknowledged, 0)
        return in_flight

    def _divide(self, sent: Sent, at: Integers, slack_ns: int, direction: TcpDirection) -> None:
        """Add the times between the segments, from the last one of before on, to the sums.

        A sender that goes on within `slack_ns` of being let to has waited for that: round trips
        are not always as short as the least.
        """
        known = self._answers
        if self._last is None:
            self._last = int(sent.time_ns[0]), int(sent.before[0])
            direction.first_ns = int(sent.time_ns[0])
        start = np.concatenate(([self._last[0]], sent.time_ns[:-1]))
        stop = sent.time_ns
        direction.last_ns = int(stop[-1])
        flown = sent.before
        was = np.concatenate(([self._known], at[:-1]))
        self._known = min(int(at[-1]), 0)
        growing = np.maximum.accumulate(np.append(self._largest_window, known.window))[1:]
        if at[-1] >= 0:
            self._largest_window = int(growing[at[-1]])
        largest = _before_any(growing, was, _NEVER)
        goals = np.minimum(flown, _NEVER - largest // _ROOM_DIVISOR) + largest // _ROOM_DIVISOR
        opener = np.searchsorted(known.edge, goals)
        opened = np.append(known.time_ns, _NEVER)[opener]
        opened = np.where(opened > start, opened + slack_ns, start)
        emptied = np.append(known.time_ns, _NEVER)[np.searchsorted(known.acknowledged, flown)]
        blocked = np.where(was < 0, 0, np.minimum(opened, stop) - start)
        idle = stop - np.clip(np.maximum(emptied, start + blocked), start, stop)
        rest = stop - start - blocked - idle
        last_closed = np.maximum(np.minimum(opener - 1, at), was)
        window = _before_any(known.window, last_closed, _NEVER)
        is_closed = window < largest // _CLOSED_DIVISOR
        direction.window_closed_ns += int(blocked[is_closed].sum())
        direction.window_full_ns += int(blocked[~is_closed].sum())
        direction.idle_ns += int(idle.sum())
        direction.recovery_ns += int(rest[sent.is_recovering].sum())
        direction.held_ns += int(rest[~sent.is_recovering].sum())


def _before_any(values: Integers, at: Integers, otherwise: int) -> Integers:
    """Return the values at places; `otherwise` at place -1."""
    found: Integers = np.append(values, otherwise)[at]
    return found
