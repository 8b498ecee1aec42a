"""The outbox of answers: brings them onto their connections as their plans say.

    outbox.put(LeavingAnswer(channel_id, plan, payload, done))

Each connection has a queue, so that answers never overtake each other but by a fault. Time is that
of a timer: whoever has the loop advances it. Answers that leave together wait for each other, and
for `HOLD_NS` at the most: their requests count as answered meanwhile, so that more are read.

    coalesce=2    A is held, B comes: [A B] in one write
    reorder=2     A is held, B comes: B, then A
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.lab.fault.answers.frame_steps import AnswerEnd, Departure, WriteStep, framed, leave_by
from kdiag.lab.fault.fault_plan import FaultPlan
from kdiag.lab.timer.system_timer import SystemTimer
from kdiag.net.selector.selector import Selector
from kdiag.net.send import RawSend

if TYPE_CHECKING:
    from kdiag.lab.timer.wheel import TimerTask

HOLD_NS: Final = NS_PER_S
"""How long an answer waits for others to leave with it."""


class LeavingAnswer(NamedTuple):
    """An answer that is to leave.

    Attributes:
        channel_id: its connection.
        plan: what goes wrong with it; None for nothing.
        payload: the frame, without its length prefix.
        done: is called when it has left; not if the connection ends or falls silent.
    """

    channel_id: str
    plan: FaultPlan | None
    payload: bytes
    done: Callable[[], object]


class _Leaving(NamedTuple):
    """What leaves: an answer, or several together.

    Attributes:
        departure: its writes.
        wait_ns: before the first of them.
        throttle_ns: from the last of them until it counts as answered.
        done: is called then.
    """

    departure: Departure
    wait_ns: int
    throttle_ns: int
    done: Callable[[], object]


class _Queue:
    """What is to leave on a connection."""

    def __init__(self) -> None:
        self.waiting: deque[_Leaving] = deque()
        self.current: _Leaving | None = None
        self.held: list[LeavingAnswer] = []
        self.held_plan: FaultPlan | None = None
        self.hold_task: TimerTask | None = None
        self.step_task: TimerTask | None = None
        self.is_silent = False

    @property
    def is_idle(self) -> bool:
        return not (self.waiting or self.held or self.current or self.is_silent)


class AnswerOutbox:
    """The answers of the connections of one selector; for its thread."""

    def __init__(
        self, selector: Selector, timer: SystemTimer, end: Callable[[str], object]
    ) -> None:
        """Begin without answers.

        Args:
            selector: over the connections.
            timer: of pauses.
            end: closes a connection.
        """
        self._selector = selector
        self._timer = timer
        self._end = end
        self._queues: dict[str, _Queue] = {}

    def __repr__(self) -> str:
        return f"<AnswerOutbox of {len(self._queues)} connections>"

    def is_busy(self, channel_id: str) -> bool:
        """Return whether an answer that left now would overtake another one."""
        return channel_id in self._queues

    def is_silent(self, channel_id: str) -> bool:
        """Return whether nothing leaves on a connection any more."""
        queue = self._queues.get(channel_id)
        return queue is not None and queue.is_silent

    def queued_count(self, channel_id: str) -> int:
        """Return how many answers have not left yet."""
        queue = self._queues.get(channel_id)
        return 0 if queue is None else len(queue.waiting) + len(queue.held)

    def put(self, answer: LeavingAnswer) -> None:
        """Have an answer leave."""
        queue = self._queues.setdefault(answer.channel_id, _Queue())
        if queue.is_silent:
            return
        plan = answer.plan
        if plan is not None and _together(plan) > 1:
            self._hold(queue, answer, plan)
            return
        self._release(answer.channel_id, queue)
        if plan is None or not plan.planned:
            at_once = iter((WriteStep(framed(answer.payload)),))
            leaving = _Leaving(Departure(at_once, AnswerEnd.DONE), 0, 0, answer.done)
        else:
            departure = leave_by(plan, answer.payload)
            leaving = _Leaving(departure, plan.answer_delay_ns, plan.throttle_ns, answer.done)
        queue.waiting.append(leaving)
        self._advance(answer.channel_id, queue)

    def silence(self, channel_id: str) -> None:
        """Let nothing leave on a connection any more."""
        queue = self._queues.setdefault(channel_id, _Queue())
        _cancel(queue)
        queue.is_silent = True

    def forget(self, channel_id: str) -> None:
        """Drop the answers of a connection that has ended."""
        queue = self._queues.pop(channel_id, None)
        if queue is not None:
            _cancel(queue)

    def _hold(self, queue: _Queue, answer: LeavingAnswer, plan: FaultPlan) -> None:
        """Keep an answer until there are enough to leave together."""
        if not queue.held:
            queue.held_plan = plan
            queue.hold_task = self._timer.add(
                HOLD_NS, lambda: self._release(answer.channel_id, queue)
            )
        queue.held.append(answer)
        if len(queue.held) >= _together(queue.held_plan or plan):
            self._release(answer.channel_id, queue)
        else:
            answer.done()

    def _release(self, channel_id: str, queue: _Queue) -> None:
        """Let held answers leave."""
        plan = queue.held_plan
        if not queue.held or plan is None:
            return
        held, queue.held = queue.held, []
        if queue.hold_task is not None:
            queue.hold_task.cancel()
            queue.hold_task = None
        frames = [framed(each.payload) for each in held]
        if plan.most("reorder") > 1:
            frames.reverse()
        is_joined = plan.most("coalesce") > 1
        steps = [WriteStep(b"".join(frames))] if is_joined else [*map(WriteStep, frames)]
        is_full = len(held) >= _together(plan)
        done = held[-1].done if is_full else _nothing  # those before are answered already
        departure = Departure(iter(steps), AnswerEnd.DONE)
        queue.waiting.append(_Leaving(departure, plan.answer_delay_ns, 0, done))
        self._advance(channel_id, queue)

    def _advance(self, channel_id: str, queue: _Queue) -> None:
        """Begin with the next answer, unless one is leaving."""
        if queue.current is not None or queue.is_silent:
            return
        if not queue.waiting:
            if queue.is_idle and self._queues.get(channel_id) is queue:
                del self._queues[channel_id]
            return
        queue.current = queue.waiting.popleft()
        self._after(queue, queue.current.wait_ns, lambda: self._step(channel_id, queue))

    def _after(self, queue: _Queue, wait_ns: int, run: Callable[[], object]) -> None:
        if wait_ns > 0:
            queue.step_task = self._timer.add(wait_ns, run)
        else:
            run()

    def _step(self, channel_id: str, queue: _Queue) -> None:
        """Write what comes next of the answer that is leaving."""
        leaving = queue.current
        if leaving is None or queue.is_silent:
            return
        step = next(leaving.departure.steps, None)
        if step is None:
            self._end_of(channel_id, queue, leaving)
        else:
            self._after(queue, step.wait_ns, lambda: self._write(channel_id, queue, step))

    def _write(self, channel_id: str, queue: _Queue, step: WriteStep) -> None:
        if self._selector.channel(channel_id) is None:
            self.forget(channel_id)
            return
        send = RawSend(channel_id, step.data, lambda: self._step(channel_id, queue))
        self._selector.send(send)

    def _end_of(self, channel_id: str, queue: _Queue, leaving: _Leaving) -> None:
        if leaving.departure.ending is AnswerEnd.SILENCE:
            self.silence(channel_id)
        elif leaving.departure.ending is AnswerEnd.CLOSE:
            self.forget(channel_id)
            self._end(channel_id)
        else:
            self._after(
                queue, leaving.throttle_ns, lambda: self._finish(channel_id, queue, leaving)
            )

    def _finish(self, channel_id: str, queue: _Queue, leaving: _Leaving) -> None:
        queue.current = None
        self._advance(channel_id, queue)
        leaving.done()


def _together(plan: FaultPlan) -> int:
    """Return how many answers leave together."""
    return max(plan.most("coalesce"), plan.most("reorder"))


def _cancel(queue: _Queue) -> None:
    """Take back everything that a connection waits for."""
    for task in (queue.hold_task, queue.step_task):
        if task is not None:
            task.cancel()
    queue.waiting.clear()
    queue.held.clear()
    queue.current = None


def _nothing() -> None:
    """Stand for what was done before."""
