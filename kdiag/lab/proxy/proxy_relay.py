"""The relay: the loop of a proxy's one thread, over the connections of all clients and brokers.

    accepted socket  ->  a link; its broker is connected to
    client's frame   ->  read as far as needed; a fault may refuse, hold or drop it; to the broker
    broker's frame   ->  matched to its request, changed where it must be, into the outbox
    outbox           ->  to the client, as the plan of faults says

Nothing here waits: time is that of a timer, and what is too much is not read.
"""

import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

from kdiag.clock import NS_PER_S, Clock, wait_ns
from kdiag.lab.fault.answers.answer_outbox import AnswerOutbox, LeavingAnswer
from kdiag.lab.fault.answers.refused_answer import refused_answer
from kdiag.lab.fault.fault_book import FaultBook
from kdiag.lab.fault.fault_plan import FaultCall, FaultPlan
from kdiag.lab.fault.request_subject import RequestSubject, RequestSubjects
from kdiag.lab.fault.situation import JOINING
from kdiag.lab.proxy.answer_reading import own_answer, relayed_answer
from kdiag.lab.proxy.broker_addresses import BrokerAddresses
from kdiag.lab.proxy.proxy_link import MOST_ANSWERS, ProxyLink, RelayedCall
from kdiag.lab.proxy.relayed_request import RelayedRequest, RequestReader
from kdiag.lab.timer.system_timer import SystemTimer
from kdiag.net.address import Address
from kdiag.net.channel import Disconnection
from kdiag.net.selector.selector import MakeChannel, Selector, SelectorSettings
from kdiag.net.send import NetworkSend, RawSend

LOG: Final = logging.getLogger(__name__)

CONNECT_NS: Final = 30 * NS_PER_S
"""How long a broker may take to be connected to, with TLS and SASL."""
SILENT_NS: Final = 600 * NS_PER_S
"""How long a silent connection is open: nobody notices that its client has gone."""

NO_SUBJECT: Final = RequestSubject()


class _Accepted(NamedTuple):
    sock: Any
    node_id: int
    addresses: list[Address]


class ProxyRelay:
    """The connections of a proxy.

    Attributes:
        selector: over them.
        request_count: how many requests there have been.
        passed_count: how many of these were not understood, so that no fault could concern them.
    """

    def __init__(
        self,
        clock: Clock,
        make_channel: MakeChannel,
        addresses: BrokerAddresses,
        book: FaultBook | None,
    ) -> None:
        """Begin without connections.

        Args:
            clock: of faults.
            make_channel: makes the channels of clients, whose ids begin with `c`, and of brokers.
            addresses: what clients are told.
            book: the faults; None if there never are any.
        """
        self.selector = Selector(clock, make_channel=make_channel, settings=SelectorSettings())
        self.request_count = 0
        self.passed_count = 0
        self._clock = clock
        self._addresses = addresses
        self._book = book
        self._timer = SystemTimer(clock)
        self._outbox = AnswerOutbox(self.selector, self._timer, self._end_client)
        self._subjects = RequestSubjects(addresses.topic_name)
        self._accepted: deque[_Accepted] = deque()
        self._links: dict[str, ProxyLink] = {}
        self._counts: dict[int, int] = {}
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<ProxyRelay of {len(self._links) // 2} clients>"

    def accept(self, sock: Any, node_id: int, addresses: list[Address]) -> None:
        """Take over a client that wants a broker; from any thread."""
        self._accepted.append(_Accepted(sock, node_id, addresses))
        self.selector.wakeup()

    def reader_of(self, client_id: str) -> RequestReader:
        """Return what reads the requests of a client, whose channel is being made."""
        return self._links[client_id].reader

    def run(self) -> None:
        """Relay until `stop` is called, and close every connection."""
        try:
            while not self._is_closed:
                self.relay_once()
        finally:
            while self._accepted:
                self._accepted.popleft().sock.close()
            self.selector.close()

    def stop(self) -> None:
        """End `run`; from any thread."""
        self._is_closed = True
        self.selector.wakeup()

    def relay_once(self, timeout_ns: int | None = None) -> None:
        """Do one round: what is due, new clients, and what was sent and has arrived.

        Args:
            timeout_ns: how long to wait for something at the most; None is until something is due.
        """
        self._timer.advance()
        self._link_accepted()
        is_idle = not (self._is_closed or self._accepted)
        due_ns = self._timer.next_ns
        self.selector.poll(wait_ns(self._clock, due_ns, timeout_ns) if is_idle else 0)
        for send in self.selector.completed_sends:
            if isinstance(send, RawSend):
                send.on_completed()
            elif send.channel_id in self._links:
                self._pump(self._links[send.channel_id])
        for receive in self.selector.completed_receives:
            payload = receive.payload
            receive.close()
            link = self._links.get(receive.channel_id)
            if link is not None:
                self._guarded(link, receive.channel_id, payload)
        for channel_id, ended in self.selector.disconnected.items():
            self._handle_disconnect(channel_id, ended)

    def _guarded(self, link: ProxyLink, channel_id: str, frame: bytes) -> None:
        """Handle a frame; whatever is wrong with it ends its own link alone."""
        handle = self._handle_request if channel_id == link.client_id else self._handle_answer
        try:
            handle(link, frame)
        except Exception:
            LOG.exception("a frame of %s could not be relayed", channel_id)
            self._end(link)

    def _link_accepted(self) -> None:
        while self._accepted:
            sock, node_id, addresses = self._accepted.popleft()
            number = self._counts[node_id] = self._counts.get(node_id, 0) + 1
            reader = RequestReader(is_decoding=self._book is not None)
            link = ProxyLink(number, node_id, addresses, reader)
            self._links[link.client_id] = self._links[link.broker_id] = link
            try:
                self.selector.register(link.client_id, sock)
            except OSError:  # it has hung up already
                self._end(link)
                continue
            self._connect(link)
            self._timer.add(CONNECT_NS, partial(self._check_connected, link))

    def _connect(self, link: ProxyLink) -> None:
        """Connect to the next address of a broker; without one the client is let go."""
        while link.addresses:
            address = link.addresses.popleft()
            try:
                self.selector.connect(link.broker_id, address)
            except OSError as error:
                LOG.warning("broker %d at %s: %s", link.node_id, address.peer, error)
            else:
                return
        self._end(link)

    def _check_connected(self, link: ProxyLink) -> None:
        is_there = self._links.get(link.client_id) is link
        if is_there and not link.is_ending and not self.selector.is_channel_ready(link.broker_id):
            LOG.warning("broker %d takes too long to be connected to", link.node_id)
            self._end(link)

    def _handle_request(self, link: ProxyLink, frame: bytes) -> None:
        self.request_count += 1
        request = link.reader.read(frame)
        call = RelayedCall(request, self._plan(link, request))
        if request.expects_answer:
            link.expect(call)
        plan = call.plan
        if plan is None or not plan.planned:
            link.forward(frame, call)
        else:
            self._forward_by_plan(link, frame, call, plan)
        self._pump(link)

    def _forward_by_plan(
        self, link: ProxyLink, frame: bytes, call: RelayedCall, plan: FaultPlan
    ) -> None:
        if plan.is_half_open or plan.first("drop") == "request":
            call.is_silent = link.is_deaf = True
        elif plan.is_refused_version:
            call.is_last = link.is_deaf = True
        elif not call.request.expects_answer:
            link.forward(frame, call, self._due_ns(plan))
            call.is_last = plan.first("close") is not None
            call.is_silent = plan.first("drop") is not None
            if call.is_last or call.is_silent:
                link.expect(call)
        else:
            refused = refused_answer(plan)
            if refused is None:
                link.forward(frame, call, self._due_ns(plan))
            else:
                call.answer = own_answer(call, refused)

    def _due_ns(self, plan: FaultPlan) -> int:
        delay_ns = plan.handling_delay_ns
        return self._clock.monotonic_ns() + delay_ns if delay_ns else 0

    def _plan(self, link: ProxyLink, request: RelayedRequest) -> FaultPlan | None:
        """Return what goes wrong with a request; None if nothing can."""
        if request.api is None or request.header is None:
            self.passed_count += 1
            return None
        if self._book is None:
            return None
        subject = NO_SUBJECT
        if request.message is not None:
            subject = self._subjects.read(link.client_id, request.message)
        if not len(self._book):
            return None
        header = request.header
        call = FaultCall(
            request.api,
            header.version,
            header.client_id,
            link.node_id,
            str(link.number),
            request.message,
            subject,
        )
        plan = self._book.plan(call)
        self._end_joins(link.node_id)
        return plan

    def _end_joins(self, node_id: int) -> None:
        """Refuse those who wait for members of a group that has lost its coordinator."""
        assert self._book is not None
        for situation in self._book.moved_groups():
            for link in [*self._links.values()]:
                for call in link.awaited if link.node_id == node_id else ():
                    self._end_join(link, call, situation.effect_on)

    def _end_join(self, link: ProxyLink, call: RelayedCall, effect_on: Callable[..., Any]) -> None:
        is_joining = call.request.api is not None and call.request.api.key in JOINING
        if not is_joining or call.is_answered or call.answer is not None or call.plan is None:
            return
        planned = effect_on(call.plan.call)
        refused = planned and refused_answer(FaultPlan(call.plan.call, (planned,)))
        if refused:
            call.answer = own_answer(call, refused)
            self._deliver(link)

    def _handle_answer(self, link: ProxyLink, frame: bytes) -> None:
        if not link.awaited:  # nobody asked: it is the broker's own business
            LOG.warning("broker %d sends an answer to no request", link.node_id)
            self._end(link)
            return
        call = link.awaited.popleft()
        if call.answer is None and not call.is_answered:
            answer = relayed_answer(call, frame, self._addresses)
            call.answer = answer.frame
            for match in answer.passed:
                assert self._book is not None
                self._book.count_passed(match)
        self._deliver(link)
        self._pump(link)

    def _deliver(self, link: ProxyLink) -> None:
        """Let the answers that are next go to the client."""
        while (call := link.pop_ready()) is not None:
            if call.is_silent:
                self._outbox.silence(link.client_id)
                self._timer.add(SILENT_NS, partial(self._end_if_there, link))
            elif call.is_last or call.answer is None:
                self._end(link)
                return
            else:
                done = partial(self._handle_left, link)
                self._outbox.put(LeavingAnswer(link.client_id, call.plan, call.answer, done))
        if self._outbox.queued_count(link.client_id) >= MOST_ANSWERS:
            self._mute(link.broker_id)

    def _handle_left(self, link: ProxyLink) -> None:
        """Go on once an answer has left."""
        if self._outbox.queued_count(link.client_id) < MOST_ANSWERS:
            self._unmute(link.broker_id)
        self._pump(link)

    def _pump(self, link: ProxyLink) -> None:
        """Send what can be sent, and read the client or not."""
        if self._links.get(link.client_id) is not link:
            return
        self._deliver(link)
        channel = self.selector.channel(link.broker_id)
        if channel is not None and not channel.has_send:
            frame = link.next_frame(self._clock.monotonic_ns())
            if frame is not None:
                self.selector.send(NetworkSend(link.broker_id, [frame]))
            elif link.waiting:
                wait_ns = link.waiting[0].due_ns - self._clock.monotonic_ns()
                self._timer.add(wait_ns, partial(self._pump, link))
        if link.is_full:
            self._mute(link.client_id)
        else:
            self._unmute(link.client_id)
        if link.is_ending and not self._outbox.is_busy(link.client_id):
            self._end(link)

    def _handle_disconnect(self, channel_id: str, ended: Disconnection) -> None:
        link = self._links.get(channel_id)
        if link is None:
            return
        if channel_id == link.client_id:
            self._end(link)
        elif link.addresses and not link.awaited:
            self._connect(link)
        else:
            if ended.error is not None and not isinstance(ended.error, OSError):
                LOG.warning("broker %d: %s", link.node_id, ended.error)
            link.is_ending = link.is_deaf = True
            self._pump(link)

    def _end_client(self, client_id: str) -> None:
        link = self._links.get(client_id)
        if link is not None:
            self._end(link)

    def _end_if_there(self, link: ProxyLink) -> None:
        if self._links.get(link.client_id) is link:
            self._end(link)

    def _end(self, link: ProxyLink) -> None:
        """Close both connections of a link."""
        for channel_id in (link.client_id, link.broker_id):
            self._links.pop(channel_id, None)
            with suppress(OSError):
                self.selector.close_channel(channel_id)
        self._outbox.forget(link.client_id)
        self._subjects.forget(link.client_id)

    def _mute(self, channel_id: str) -> None:
        channel = self.selector.channel(channel_id)
        if channel is not None and not channel.is_muted:
            self.selector.mute(channel_id)

    def _unmute(self, channel_id: str) -> None:
        channel = self.selector.channel(channel_id)
        if channel is not None and channel.is_muted:
            self.selector.unmute(channel_id)
