"""Segments in, exchanges out: all connections of a capture, streaming.

    segments   of a batch, sorted by connection and direction        `tcp.sorted_batch`
    bytes      of each direction, in order, with gaps                `tcp.reassembly`, `flow`
    frames     cut out of them                                       `kafka.frame_cutter`
    exchanges  of requests and responses, numbered by first bytes    `kafka.matching`

Frames are announced while their connection is read, and matched when it is certain that no frame
with an earlier first byte will be announced (see `frame_cutter.place`). So numbers and pairs
depend on the packets only, not on how they are divided into batches.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter

from kdiag.exchange.model import Connection, Exchange, Gap
from kdiag.pcap.content import EndpointNames, ReadingRules, Surroundings
from kdiag.pcap.encapsulation import NO_PORTS
from kdiag.pcap.ending import IDLE
from kdiag.pcap.flow import Flow
from kdiag.pcap.kafka.conversation import Announcements
from kdiag.pcap.kafka.frame_cutter import MAX_WAIT_PACKETS
from kdiag.pcap.kafka.frame_stream import FrameLimits
from kdiag.pcap.kafka.matching import ExchangeCollector
from kdiag.pcap.kafka.unmatched_responses import Turns, UnmatchedResponses
from kdiag.pcap.memory_budget import DEFAULT_LIMITS, FOLLOWED_CONNECTION_BYTES, Limits, MemoryBudget
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.reader import CaptureReader, Source
from kdiag.pcap.tcp.attempt import Attempt, made_at, may_begin
from kdiag.pcap.tcp.counts import Counts
from kdiag.pcap.tcp.extent import Extents
from kdiag.pcap.tcp.reassembly import Moment, Recording
from kdiag.pcap.tcp.sightings import Lead, Link, Sightings
from kdiag.pcap.tcp.silence import LateEchoes, SilenceWatch
from kdiag.pcap.tcp.sorted_batch import (
    LEFT_OUT,
    SYN,
    FlowRows,
    SegmentRow,
    SortedBatch,
    first_late,
    in_time,
)
from kdiag.pcap.tls.keylog import KeyLog

Item = Exchange | Gap | Connection

AnyFlow = Flow | Attempt[Surroundings, Flow]

_ORDER = itemgetter(0)
_END_OF_CAPTURE, _MEMORY = "end of capture", "memory"
_LEAST_RUN_ROWS = 16  # rows from which on a run is cheaper than one row after the other


class CaptureDecoder:
    """Makes exchanges of the segments that `feed` is given, in the order of the capture.

    Attributes:
        counts: the counts so far.
        recording: knows the packets that other decoders are fed; None if this one gets all.
        turns: with a recording, when it is the turn of frames and the ends of connections.
    """

    def __init__(
        self,
        addresses: EndpointNames,
        *,
        ports: Collection[int] = (),
        keylog: KeyLog | None = None,
        limits: Limits = DEFAULT_LIMITS,
        recording: Recording | None = None,
    ) -> None:
        """Start before the first packet.

        Args:
            addresses: turns an endpoint into `ip:port`, such as an `AddressBook`.
            ports: those that carry Kafka whatever the bytes look like.
            keylog: the secrets of TLS connections; more may be added to it at any time.
            limits: the bounds of the memory.
            recording: knows the packets that other decoders are fed; None if this one gets all.
        """
        self.counts = Counts()
        self.recording = recording
        self._collector = ExchangeCollector(limits.max_outstanding, limits.max_outstanding_bytes)
        self._frames = Announcements([], [])
        frame_limits = FrameLimits(limits.max_frame_bytes, limits.max_search_bytes)
        self._around = Surroundings(
            ReadingRules(frame_limits, self._collector, self._frames, keylog),
            limits.max_waiting_bytes,
            [],
            [],
            frozenset(ports),
            addresses,
        )
        self.turns = Turns(self._collector.unmatched_responses)
        self._budget = MemoryBudget(limits.max_memory_bytes)
        self.silence = SilenceWatch(limits.idle_ns)
        self._flows: dict[tuple[int, int], AnyFlow] = {}
        self._displaced: dict[tuple[int, int], Flow] = {}
        self._sightings: Sightings | None = None
        self._expected: dict[tuple[int, int], list[Link]] = {}
        self._new: list[AnyFlow] = []
        self._last_number = 0
        self._unresolved: dict[Flow, None] = {}
        self._closed: dict[Flow, int] = {}
        self._echoes = LateEchoes()
        self._now = Moment(0, 0)
        self._latest_ns = 0
        self._over: dict[Flow, int | None] = {}
        self._batch: SegmentBatch | None = None
        self._packets: list[int] = []
        self._times: list[int] | None = None

    @property
    def unmatched_responses(self) -> UnmatchedResponses:
        """Return the responses whose requests were not seen."""
        return self._collector.unmatched_responses

    def follow_tcp(self) -> None:
        """Fill in `Connection.tcp` of the connections that begin from now on."""
        self._around = self._around._replace(follows_tcp=True)
        self._budget.connection_bytes = FOLLOWED_CONNECTION_BYTES

    def note_extents(self) -> Extents:
        """Note, from now on, where in the capture connections and the bytes of frames are."""
        extents = Extents()
        rules = self._around.rules._replace(keeps_places=True)
        self._around = self._around._replace(rules=rules, extents=extents)
        return extents

    def parts(self, batch: SegmentBatch) -> Iterator[SegmentBatch]:
        """Yield a batch in parts for `feed`: the connections that begin in each fit the budget."""
        return self._budget.parts(batch)

    def feed(self, batch: SegmentBatch) -> list[Item]:
        """Read the next segments; return the items that are complete now, in no order.

        A connection that ended is among them, after its last exchange.
        """
        if not len(batch.packet):
            return []
        self.counts.segments += len(batch.packet)
        self._now = Moment(int(batch.packet[-1]), int(batch.time_ns[-1]))
        self._latest_ns = int(batch.time_ns.max())
        self._over.clear()
        sorted_batch = SortedBatch(batch)
        for rows in self._unlinked(sorted_batch):
            flow = self._flows.get((rows.low, rows.high))
            if (
                not isinstance(flow, Flow)
                or not (rows.is_plain and flow.is_plain)
                or not self._goes_on(flow, rows, sorted_batch)
            ):
                self._add_rows(rows, sorted_batch)
            else:
                self._unresolved[flow] = None
                if flow.tcp is not None:
                    flow.tcp.add_rows(batch, *sorted_batch.sides(rows))
        for flow in list(self._closed):
            if self._over_at(flow, batch) is not None:
                self._end(flow, self._moment_over(flow, batch), "")
        self.silence.add_packets(batch.time_ns)
        for flow in self.silence.due(self._flows.values()):
            self._end_silent(flow, self._now)
        size = int(batch.payload_bytes.sum())
        if self._budget.may_be_exceeded(len(batch.packet), size, len(self._flows)):
            self._keep_to_budget()
        self._batch = None  # its memory is not for keeping
        return self._release(self._first_unresolved())

    def _keep_to_budget(self) -> None:
        """Forget what ended connections have left, and end open ones, if they take too much."""
        remembered = 0
        for each in (self._echoes, self.silence):
            each.forget_oldest(self._budget.share_bytes)
            remembered += each.held_bytes
        for flow in self._budget.overdue(self.all_flows(), remembered):
            self.counts.given_up += 1
            self._end(flow, self._now, _MEMORY)

    def finish(self) -> list[Item]:
        """End all connections at the end of the capture; return the items that this completes."""
        if self.recording is not None:
            self._now = self.turns.end_at(self.recording.last())
        for flow in self.all_flows():
            self._end(flow, *self._last_moment(flow))
        return self._release(None)

    def end_idle(self, before_ns: int) -> list[Item]:
        """End the connections whose last packet was before a time; return the items completed.

        If one goes on nevertheless, it is another from then on, which was open before.
        """
        idle = [each for each in self.all_flows() if each.connection.last_ns < before_ns]
        for flow in idle:
            moment = self._now if self.recording is None else self.recording.last()
            self._end_silent(flow, moment)
        return self._release(self._first_unresolved())

    def link_sightings(self) -> None:
        """Count connections once that are seen more than once, as before and after NAT."""
        self._around = self._around._replace(keeps_leads=True)
        self._sightings = Sightings(self._lead_of)

    def _lead_of(self, ends: tuple[int, int]) -> Lead | None:
        flow = self._flows.get(ends)
        return flow.lead if isinstance(flow, Flow) else None

    def _unlinked(self, batch: SortedBatch) -> Iterable[FlowRows]:
        """Return the connections of a batch without those that are others once more."""
        if self._sightings is None:
            return batch.flows()
        flows = list(batch.flows())
        new = self._sightings.look(batch, flows, self._flows.__contains__)
        self._expected.clear()
        for links in new.values():
            for link in links:
                flow = made_at(self._flows, link.listed)
                if flow is not None and flow.has_numbers(link):
                    flow.add_link(link)
                else:  # until it has begun
                    self._expected.setdefault(link.listed, []).append(link)
        if not new and not self._sightings.links:
            return flows
        return self._pass_over(flows, batch, self._sightings, new)

    def _pass_over(
        self,
        flows: Iterable[FlowRows],
        batch: SortedBatch,
        sightings: Sightings,
        new: Mapping[tuple[int, int], list[Link]],
    ) -> Iterator[FlowRows]:
        """Yield connections without those that are others once more; `new` links begin here."""
        for rows in flows:
            ends = rows.low, rows.high
            link = sightings.links.get(ends)
            if ends in new or (link is not None and sightings.may_end(link, rows)):
                self._pass_over_some(rows, batch, sightings, new.get(ends, []))
            elif link is None:
                yield rows

    def _pass_over_some(
        self, rows: FlowRows, batch: SortedBatch, sightings: Sightings, new: Sequence[Link]
    ) -> None:
        """Pass over what is of links, and add the other packets between the same ends."""
        ends, first, coming = (rows.low, rows.high), rows.first, [*new]
        while first < rows.last:
            link = sightings.links.get(ends)
            if link is not None:
                count = sightings.first_of_others(link, batch.rows(first, rows.last))
                first = rows.last if count is None else first + count
                continue
            last = rows.last
            if coming:
                before = (row.packet < coming[0].packet for row in batch.rows(first, last))
                last = first + sum(before)
            self._add_rows(rows._replace(first=first, last=last, is_plain=False), batch)
            first = last
            if coming:
                self._discard(ends)
                sightings.begin(coming.pop(0))

    def _discard(self, ends: tuple[int, int]) -> None:
        """Forget a connection that is another one once more, before its first bytes."""
        self.counts.sightings += 1
        flow = self._flows.pop(ends, None)
        if flow is not None:
            if isinstance(flow, Flow):
                self._unresolved.pop(flow, None)
                self._closed.pop(flow, None)
            self.counts.connections -= 1
            if self._around.extents is not None:
                self._around.extents.discard(ends, flow.first_packet)

    def _add_rows(self, rows: FlowRows, batch: SortedBatch) -> None:
        """Add a connection's packets: where possible as contiguous runs, else one by one."""
        first = rows.first
        if rows.last - first < _LEAST_RUN_ROWS and not self._around.follows_tcp:
            for row in batch.rows(first, rows.last):
                self._add_row((rows.low, rows.high), row, batch)
            return
        while first < rows.last:
            last = batch.next_break(first, rows.last)
            flow = self._flows.get((rows.low, rows.high))
            if (
                isinstance(flow, Flow)
                and flow.is_plain
                and last - first >= _LEAST_RUN_ROWS
                and self._goes_on(flow, batch.contiguous_runs(rows, first, last), batch)
            ):
                self._unresolved[flow] = None
                if flow.tcp is not None:
                    flow.tcp.add_rows(batch.batch, *batch.sides_between(first, last))
                first = last
                continue
            last = min(last + 1, first + _LEAST_RUN_ROWS, rows.last)
            self._add_row_by_row(rows, first, last, batch)
            first = last

    def _add_row_by_row(self, rows: FlowRows, first: int, last: int, batch: SortedBatch) -> None:
        """Add some of a connection's packets; those of each owner to its TCP together."""
        followed: set[Flow] = set()
        for place, row in enumerate(batch.rows(first, last), first):
            owner = self._add_row((rows.low, rows.high), row, batch)
            if owner is not None and owner.tcp is not None:
                owner.tcp.add_later(batch, place)
                followed.add(owner)
        for owner in followed:
            if owner.tcp is not None:
                owner.tcp.catch_up()

    def _goes_on(self, flow: Flow, rows: FlowRows, batch: SortedBatch) -> bool:
        """Add a contiguous run; return False if it is not one, or of another connection."""
        is_over = self.silence.is_over(flow.last_ns, rows.last_ns)
        return not is_over and flow.add_runs(rows, batch.segments)

    def _add_row(
        self, endpoints: tuple[int, int], row: SegmentRow, batch: SortedBatch
    ) -> Flow | None:
        """Handle one packet between two endpoints; it may begin a connection and end another.

        Returns the connection it belongs to, if any.
        """
        if endpoints in self._displaced:
            self._resume_displaced(endpoints, row, batch)
        known = self._flows.get(endpoints)
        if isinstance(known, Attempt) and known.add(row, self.silence.limit_ns):
            return None
        flow = self._still_open(endpoints, row, batch)
        if flow is None:
            if not row.size and not row.flags & SYN and self._echoes.has(endpoints, row.time_ns):
                return None
            around = self._around
            is_alone = around.reads_bytes_alone and self.recording is None and not self._expected
            if is_alone and may_begin(row):
                self.silence.continued(endpoints, has_syn=True)
                attempt = self._flows[endpoints] = Attempt(Flow, around, endpoints, row)
                self._new.append(attempt)
                return None
            flow = self._begin(endpoints, row)
        if row.payload != LEFT_OUT or flow.repeats(row):
            fits = flow.add_row(row, batch.segments)
        else:
            fits = flow.add_row(*batch.left_out(row))
        if flow.begun:
            flow = self._begin_unnoticed(flow, row)
        if flow.closed_ns is not None:
            self._closed.setdefault(flow, row.packet)
        elif self._closed:
            self._closed.pop(flow, None)
            self._over.pop(flow, None)
        self._unresolved[flow] = None
        return flow if fits else None

    def _still_open(
        self, endpoints: tuple[int, int], row: SegmentRow, batch: SortedBatch
    ) -> Flow | None:
        """Return the connection between two ends, unless it ended before a packet."""
        flow = made_at(self._flows, endpoints)
        if flow is None:
            return None
        if self._is_over(flow, row, batch):
            self._end(flow, self._moment_over(flow, batch.batch), "")
        elif flow.closed_ns is None and self.silence.is_over(flow.last_ns, row.time_ns):
            self._end_silent(flow, Moment(row.packet, row.time_ns))
        elif flow.is_reused_by(row):
            self._end(flow, Moment(row.packet, row.time_ns), "reused")
        else:
            return flow
        return None

    def _resume_displaced(
        self, endpoints: tuple[int, int], row: SegmentRow, batch: SortedBatch
    ) -> None:
        """Go on with the connection that was there before the last, if a packet is of that one."""
        former, flow = self._displaced[endpoints], made_at(self._flows, endpoints)
        if self._is_over(former, row, batch):
            self._end(former, self._moment_over(former, batch.batch), "")
        elif flow is None or (former.owns(row) and not flow.owns(row)):
            del self._displaced[endpoints]
            if flow is not None:
                self._displace(flow, row)
            former.resume()
            self._over.pop(former, None)
            self._flows[endpoints] = former

    def _begin_unnoticed(self, flow: Flow, row: SegmentRow) -> Flow:
        """Begin the connection that packets between the ends of another one belong to."""
        begun, flow.begun = flow.begun, []
        former = self._displaced.get(flow.endpoints)
        if former is not None:
            self._end(former, Moment(row.packet, row.time_ns), "")
        self._displace(flow, row)
        new = self._begin(flow.endpoints, begun[0].row)
        if self._around.extents is not None:
            self._around.extents.begin_earlier(flow.endpoints, new.first_packet, begun[0].seen)
        for stray in begun:
            new.add_stray(stray)
        return new

    def _displace(self, flow: Flow, row: SegmentRow) -> None:
        """Keep a connection for a while that another one between its ends has replaced."""
        flow.displace(row.time_ns)
        self._displaced[flow.endpoints] = flow
        self._closed.setdefault(flow, row.packet)

    def all_flows(self) -> list[AnyFlow]:
        """Return the connections that have not been ended."""
        return [*self._flows.values(), *self._displaced.values()]

    def _begin(self, endpoints: tuple[int, int], row: SegmentRow) -> Flow:
        """Begin a connection with its first packet."""
        flow = self._flows[endpoints] = Flow(self._around, endpoints, row)
        self._new.append(flow)
        former = self.silence.continued(endpoints, has_syn=bool(row.flags & SYN))
        if former is not None:
            self.counts.resumed += 1
            flow.continue_from(former)
        for link in self._expected.get(endpoints, ()):
            if link.may_have(row):
                flow.add_link(link)
        return flow

    def _end(self, flow: AnyFlow, moment: Moment, reason: str) -> None:
        """End a connection and forget it."""
        flows = self._flows if self._flows.get(flow.endpoints) is flow else self._displaced
        del flows[flow.endpoints]
        if isinstance(flow, Attempt):
            flow.conclude(moment, reason, self._frames.starts)
            return
        self._unresolved.pop(flow, None)
        closed = self._closed.pop(flow, None)
        if closed is not None:
            if self.recording is not None:
                self.turns.expect_end(flow.connection, Moment(closed, flow.linger_until_ns))
            self._echoes.expect(flow.endpoints, flow.linger_until_ns, self._latest_ns)
        flow.conclude(moment, reason)
        self.counts.add(flow.connection, flow.overlap_mismatches, flow.strays)

    def _end_silent(self, flow: AnyFlow, moment: Moment) -> None:
        """End a connection that has been silent for too long; remember it if nothing closed it."""
        if flow.closed_ns is None:
            self.silence.remember(flow.endpoints, flow.ended)
        self._end(flow, moment, IDLE)

    def _is_over(self, flow: Flow, row: SegmentRow, batch: SortedBatch) -> bool:
        """Return whether a connection was over before a packet, or at it."""
        if flow.closed_ns is None or flow not in self._closed:
            return False
        at = self._over_at(flow, batch.batch)
        if at is not None and int(batch.batch.packet[at]) <= row.packet:
            return True
        if self.recording is None:
            return False
        latest_ns = row.time_ns + self.recording.lag_ns(row.packet)
        moment = self._recorded_end(flow) if latest_ns > flow.linger_until_ns else None
        return moment is not None and moment.packet <= row.packet

    def _recorded_end(self, flow: Flow) -> Moment | None:
        """Return the first packet of the recording at which a closed connection is over."""
        assert self.recording is not None
        return self.recording.first_after(self._closed[flow], flow.linger_until_ns)

    def _over_at(self, flow: Flow, batch: SegmentBatch) -> int | None:
        """Return the first row of a batch at which a closed connection is over, if there is one.

        The time of any packet behind its end counts: what comes late in the capture with an early
        time comes late.
        """
        if not flow.is_over(self._latest_ns):
            return None
        if flow not in self._over:
            if self._batch is not batch:  # many connections ask that of the same one
                self._batch, self._packets, self._times = batch, *in_time(batch)
            rows = batch, self._packets, self._times
            self._over[flow] = first_late(*rows, self._closed[flow], flow.linger_until_ns)
        return self._over[flow]

    def _moment_over(self, flow: Flow, batch: SegmentBatch) -> Moment:
        """Return the first packet at which a closed connection was over, of whichever it is."""
        at = self._over_at(flow, batch)
        if self.recording is not None and (at is None or not flow.is_settled):
            moment = self._recorded_end(flow)
            if moment is not None:
                return moment
        assert at is not None
        return Moment(int(batch.packet[at]), int(batch.time_ns[at]))

    def _last_moment(self, flow: AnyFlow) -> tuple[Moment, str]:
        """Return when a connection that did not end is ended, and why."""
        is_silent = self.silence.is_over(flow.last_ns, self._now.time_ns)
        reason = IDLE if is_silent and flow.closed_ns is None else _END_OF_CAPTURE
        if self.recording is None or isinstance(flow, Attempt) or flow.is_settled:
            return self._now, reason
        if flow in self._closed:
            moment = self._recorded_end(flow)
            if moment is not None:
                return moment, ""
        return self._now, reason

    def _first_unresolved(self) -> int | None:
        """Return the first packet of which it is not known yet which frames start in it."""
        oldest = self._now.packet - MAX_WAIT_PACKETS
        first = None
        for flow in list(self._unresolved):
            packet = flow.unresolved_packet(oldest)
            if packet is None:
                del self._unresolved[flow]
            elif first is None or packet < first:
                first = packet
        return first

    def _release(self, first_unresolved: int | None) -> list[Item]:
        """Match the frames whose turn has come; return the complete items.

        Args:
            first_unresolved: frames that start in later packets must wait; None if none must.
        """
        self._number_connections()
        starts, ends = self._frames
        for handler, frame in ends:
            handler.end(frame)
        ends.clear()
        starts.sort(key=_ORDER)
        count = len(starts)
        if first_unresolved is not None:
            count = bisect_right(starts, first_unresolved, key=_ORDER)
        due = starts[:count]
        del starts[:count]
        collector, around = self._collector, self._around
        if self.recording is None:
            for _, turn, frame in due:
                turn.begin(frame)
        else:
            self.turns.take(due, collector.exchanges, around.ended, self.recording)
        self.counts.exchanges = collector.last_number
        self.counts.note_order(collector)
        items: list[Item] = [*around.gaps, *collector.exchanges, *around.ended]
        for each in (around.gaps, collector.exchanges, around.ended):
            each.clear()
        return items

    def _number_connections(self) -> None:
        """Number the new connections in the order of their first packets."""
        for flow in sorted(self._new, key=attrgetter("first_packet")):
            self.counts.connections += 1
            self._last_number += 1
            flow.connection.number = self._last_number
        self._new.clear()


def decode_capture(
    sources: Sequence[Source],
    *,
    ports: Collection[int] = (),
    keylog: KeyLog | None = None,
    limits: Limits = DEFAULT_LIMITS,
    tunnel_ports: Mapping[int, str] = NO_PORTS,
) -> Iterator[Item]:
    """Yield the exchanges, gaps and connections of captures, as they are complete.

    A connection that is seen more than once, as before and after NAT, counts once.

    Args:
        sources: files, folders of files, `-` or open binary files; read as one recording.
        ports: those that carry Kafka whatever the bytes look like.
        keylog: the secrets of TLS connections; those in the captures are added to it.
        limits: the bounds of the memory.
        tunnel_ports: as for `PacketIndex`.

    Raises:
        CaptureError: an input is not a capture or cannot be read.
    """
    reader = CaptureReader(sources, tunnel_ports=tunnel_ports)
    yield from decode_reader(reader, ports=ports, keylog=keylog, limits=limits)


def decode_reader(
    reader: CaptureReader,
    *,
    ports: Collection[int] = (),
    keylog: KeyLog | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[Item]:
    """Yield the same of captures that are open; `reader.warnings` has what could not be read.

    Raises:
        CaptureError: an input cannot be read.
    """
    keylog = KeyLog() if keylog is None else keylog
    keylog.look_ahead = reader.find_secrets
    decoder = CaptureDecoder(reader.addresses, ports=ports, keylog=keylog, limits=limits)
    decoder.link_sightings()
    for batch in reader.read_segments():
        keylog.add_secrets(reader.secrets)
        for part in decoder.parts(batch):
            yield from decoder.feed(part)
    yield from decoder.finish()
