"""The gate of a broker: requests come in by it, and answers leave by it, as the faults say.

    dispatch -> gate.handle(arrival, answer) -> the handler -> gate -> the connection

Without a fault that concerns it, a request costs a look, and its answer takes the usual way.
Everything else waits on the gate's own timer, by the broker's clock.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from kdiag.clock import Clock
from kdiag.errors import EncodeError
from kdiag.lab.fault.answers.answer_edit import edit_answer
from kdiag.lab.fault.answers.answer_outbox import AnswerOutbox, LeavingAnswer
from kdiag.lab.fault.answers.refused_answer import refused_answer
from kdiag.lab.fault.fault_book import FaultBook
from kdiag.lab.fault.fault_plan import FaultCall, FaultPlan
from kdiag.lab.fault.request_subject import RequestSubjects, TopicName
from kdiag.lab.fault.situation import JOINING
from kdiag.lab.timer.system_timer import SystemTimer
from kdiag.net.server.processor import Processor
from kdiag.wire.catalog import Api
from kdiag.wire.codec.messages import encode_parts
from kdiag.wire.header import RequestHeader, response_header_bytes
from kdiag.wire.schema import Struct

LOG: Final = logging.getLogger(__name__)

_MOST_NUMBERS: Final = 10_000

Respond = Callable[[Struct | None], None]
"""Takes the answer to a request; None where the client expects none."""


class Arrival(NamedTuple):
    """A request that has come.

    Attributes:
        channel_id: its connection.
        api: the API.
        header: its header.
        request: what it asks.
        respond: the usual way of its answer.
    """

    channel_id: str
    api: Api
    header: RequestHeader
    request: Struct
    respond: Respond


class FaultGate:
    """The gate of one broker; for the thread of its processor."""

    def __init__(self, book: FaultBook, node_id: int, topic_name: TopicName, clock: Clock) -> None:
        """Begin without a processor: `connect` has to be called before the first request.

        Args:
            book: the faults.
            node_id: the broker.
            topic_name: names topics by their ids.
            clock: of the broker.
        """
        self.book = book
        self._node_id = node_id
        self._subjects = RequestSubjects(topic_name)
        self._timer = SystemTimer(clock)
        self._joining: dict[str, tuple[Arrival, FaultCall]] = {}
        self._numbers: dict[str, str] = {}
        self._connection_count = 0

    def __repr__(self) -> str:
        return f"<FaultGate of broker {self._node_id}>"

    def connect(self, processor: Processor) -> None:
        """Have answers leave on the connections of a processor."""
        self._processor = processor
        self._outbox = AnswerOutbox(processor.selector, self._timer, processor.end)

    def advance(self) -> int | None:
        """Do what is due, and return when something is due next."""
        self._timer.advance()
        return self._timer.next_ns

    def forget(self, channel_id: str) -> None:
        """Forget a connection that has ended."""
        self._outbox.forget(channel_id)
        self._subjects.forget(channel_id)
        self._joining.pop(channel_id, None)
        self._numbers.pop(channel_id, None)

    def handle(self, arrival: Arrival, answer: Callable[[Respond], None]) -> None:
        """Have a request handled, if it is to be, and its answer leave as the faults say.

        Args:
            arrival: the request.
            answer: has it handled, and its answer given to what it is called with.
        """
        if self._outbox.is_silent(arrival.channel_id):
            self._read_on(arrival)
            return
        plan = self._plan(arrival)
        self._end_joins()
        if plan.is_half_open:
            self._outbox.silence(arrival.channel_id)
        elif plan.first("drop") == "request":
            self._outbox.silence(arrival.channel_id)
            self._read_on(arrival)
        elif plan.is_refused_version:
            self._processor.end(arrival.channel_id)
        elif plan.handling_delay_ns:
            self._timer.add(plan.handling_delay_ns, lambda: self._proceed(plan, arrival, answer))
        else:
            self._proceed(plan, arrival, answer)

    def edit_versions(self, arrival: Arrival, response: Struct) -> None:
        """Change the answer to ApiVersions of a client that has not logged in yet."""
        edit_answer(self._plan(arrival), response)

    def _plan(self, arrival: Arrival) -> FaultPlan:
        subject = self._subjects.read(arrival.channel_id, arrival.request)
        header = arrival.header
        call = FaultCall(
            api=arrival.api,
            version=header.version,
            client_id=header.client_id,
            node=self._node_id,
            connection=self._number_of(arrival.channel_id),
            request=arrival.request,
            subject=subject,
        )
        return self.book.plan(call)

    def _number_of(self, channel_id: str) -> str:
        """Return the number of a connection, in the order of their first requests."""
        number = self._numbers.get(channel_id)
        if number is None:
            if len(self._numbers) > _MOST_NUMBERS:  # of those that were closed from here
                there = {each.id for each in self._processor.selector.channels}
                self._numbers = {key: kept for key, kept in self._numbers.items() if key in there}
            self._connection_count += 1
            number = self._numbers[channel_id] = str(self._connection_count)
        return number

    def _read_on(self, arrival: Arrival) -> None:
        """Read a silent connection though it is not answered, so that its end is noticed."""
        self._processor.respond(arrival.channel_id, None)

    def _proceed(
        self, plan: FaultPlan, arrival: Arrival, answer: Callable[[Respond], None]
    ) -> None:
        refused = refused_answer(plan)
        if refused is not None:
            self._leave(plan, arrival, refused)
            return
        if arrival.api.key in JOINING:
            self._joining[arrival.channel_id] = arrival, plan.call
            answer(partial(self._leave_joined, plan, arrival))
        elif plan.planned or self._outbox.is_busy(arrival.channel_id):
            answer(partial(self._leave, plan, arrival))
        else:
            answer(arrival.respond)

    def _end_joins(self) -> None:
        """Refuse those who wait for members of a group that has lost its coordinator."""
        for situation in self.book.moved_groups():
            for channel_id, (arrival, call) in [*self._joining.items()]:
                planned = situation.effect_on(call)
                refused = planned and refused_answer(FaultPlan(call, (planned,)))
                if refused:
                    del self._joining[channel_id]
                    self._leave(FaultPlan(call), arrival, refused)

    def _leave_joined(self, plan: FaultPlan, arrival: Arrival, response: Struct | None) -> None:
        """Let the answer of a join leave, unless it was given before."""
        joining = self._joining.get(arrival.channel_id)
        if joining is not None and joining[0] is arrival:
            del self._joining[arrival.channel_id]
            self._leave(plan, arrival, response)

    def _leave(self, plan: FaultPlan, arrival: Arrival, response: Struct | None) -> None:
        """Let an answer leave, in the processor's thread."""
        if response is None:
            self._leave_without_answer(plan, arrival)
            return
        if not plan.planned and not self._outbox.is_busy(arrival.channel_id):
            arrival.respond(response)
            return
        for match in edit_answer(plan, response):
            self.book.count_passed(match)
        try:
            payload = _payload(arrival, response)
        except (EncodeError, OSError) as error:
            LOG.warning("the answer to %s cannot be changed so: %s", arrival.api.name, error)
            self._processor.end(arrival.channel_id)
            return
        done = partial(self._processor.respond, arrival.channel_id, None)
        self._processor.call(
            lambda: self._outbox.put(LeavingAnswer(arrival.channel_id, plan, payload, done))
        )

    def _leave_without_answer(self, plan: FaultPlan, arrival: Arrival) -> None:
        """Go on after a request that expects no answer (acks=0)."""
        if plan.first("close") is not None:
            self._processor.end(arrival.channel_id)
        elif plan.first("drop") is None:
            arrival.respond(None)
        else:
            self._processor.call(lambda: self._outbox.silence(arrival.channel_id))


def _payload(arrival: Arrival, response: Struct) -> bytes:
    """Return the frame of an answer; what lies in files is read."""
    header = arrival.header
    head = response_header_bytes(arrival.api, header.version, header.correlation_id)
    parts: list[Any] = [head, *encode_parts(response, header.version)]
    return b"".join(each if isinstance(each, bytes) else each.read() for each in parts)
