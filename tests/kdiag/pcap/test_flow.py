from collections.abc import Iterable

import pytest

from kdiag.exchange.model import Connection, Exchange, Gap, Protocol, Status
from kdiag.pcap.content import ReadingRules, Surroundings
from kdiag.pcap.flow import LINGER_NS, Flow
from kdiag.pcap.kafka.conversation import Announcements
from kdiag.pcap.kafka.frame_stream import FrameLimits
from kdiag.pcap.kafka.matching import ExchangeCollector
from kdiag.pcap.tcp.reassembly import Moment
from kdiag.pcap.tcp.sorted_batch import SegmentRow, SortedBatch
from recordings.segment_tape import (
    ACK,
    BROKER,
    CLIENT,
    FIN,
    RST,
    START_NS,
    STEP_NS,
    SYN,
    Numbered,
    Segment,
    Talk,
    batch_of,
    request,
    request_about,
    response,
)
from tiers.cases import for_each

NO_LIMIT = 1 << 20
END = Moment(1000, START_NS + 1000 * STEP_NS)


class Rig:
    """The only connection of a run.

    Attributes:
        flow: the connection.
        gaps: the gaps told so far.
        ended: holds the connection once it has ended.
        run: holds the exchanges once the connection has ended.
    """

    flow: Flow

    def __init__(self, *ports: int) -> None:
        self.collector = ExchangeCollector()
        self.gaps: list[Gap] = []
        self.ended: list[Connection] = []
        self._frames = Announcements([], [])
        rules = ReadingRules(FrameLimits(NO_LIMIT, NO_LIMIT), self.collector, self._frames, None)
        self._around = Surroundings(
            rules, NO_LIMIT, self.gaps, self.ended, frozenset(ports), Numbered()
        )
        self._packets = 0

    def take(self, segments: list[Segment]) -> "Rig":
        """Take packets one by one."""
        batch, rows = self._sorted(segments)
        for row in rows:
            if row.packet == 1:
                self.flow = Flow(self._around, (CLIENT, BROKER), row)
            self.flow.add_row(row, batch.segments)
        return self

    def add_runs(self, segments: list[Segment]) -> bool:
        """Take packets as contiguous runs; return whether the connection did so."""
        batch, _ = self._sorted(segments)
        (rows,) = batch.flows()
        assert rows.is_plain
        return self.flow.add_runs(rows, batch.segments)

    def row(self, segment: Segment) -> SegmentRow:
        """Return a packet that the connection is asked about."""
        return self._sorted([segment])[1][0]

    def finish(self, reason: str = "end of capture") -> Connection:
        """End the connection and give every frame its turn."""
        self.flow.conclude(END, reason)
        for handler, frame in self._frames.ends:
            handler.end(frame)
        self._frames.ends.clear()
        for _, turn, frame in sorted(self._frames.starts, key=lambda start: start[0]):
            turn.begin(frame)
        (connection,) = self.ended
        return connection

    def _sorted(self, segments: list[Segment]) -> tuple[SortedBatch, list[SegmentRow]]:
        batch = SortedBatch(batch_of(segments, self._packets + 1))
        self._packets += len(segments)
        (flow,) = batch.flows()
        return batch, list(batch.rows(flow.first, flow.last))


def outcome(exchanges: Iterable[Exchange]) -> list[tuple[int | None, Status]]:
    """Return correlation id and pairing of each exchange."""
    return [(each.correlation_id, each.pairing) for each in exchanges]


def asked(first: int, count: int = 2) -> Talk:
    """Return a talk in the middle of a connection: questions, each with its answer."""
    talk = Talk()
    for number in range(first, first + count):
        talk.ask(request(number)).tell(response(number))
    return talk


def test_a_connection_from_its_syn_to_its_fins() -> None:
    """Its ends, times, protocol, bytes and frames are told when it has ended."""
    talk = Talk().open().ask(request(1, b"xyz")).tell(response(1)).close()
    rig = Rig().take(talk.segments)
    assert rig.flow.closed_ns == START_NS + (len(talk.segments) - 1) * STEP_NS
    connection = rig.finish()

    assert outcome(rig.collector.exchanges) == [(1, Status.OK)]
    assert rig.gaps == []
    assert (connection.client, connection.broker) == (hex(CLIENT), hex(BROKER))
    first_ns = START_NS + STEP_NS
    assert connection.connection_id == f"tcp-{hex(CLIENT)}-{hex(BROKER)}-{first_ns}"
    assert (connection.first_ns, connection.last_ns) == (
        first_ns,
        START_NS + len(talk.segments) * STEP_NS,
    )
    assert connection.protocol is Protocol.KAFKA
    assert connection.close_reason == "fin"
    assert connection.request_bytes == len(request(1, b"xyz"))
    assert connection.response_bytes == len(response(1))
    assert (connection.requests, connection.responses) == (1, 1)


def test_the_end_that_sends_the_syn_is_the_client() -> None:
    """Whichever port is the higher one, and if only the answer to the SYN was captured."""
    talk = Talk(BROKER, CLIENT).open().ask(request(1)).tell(response(1))
    for segments in (talk.segments, talk.segments[1:]):
        rig = Rig().take(segments)
        connection = rig.finish()

        assert (connection.client, connection.broker) == (hex(BROKER), hex(CLIENT))
        assert outcome(rig.collector.exchanges) == [(1, Status.OK)]
        assert connection.request_bytes == len(request(1))


def test_without_a_syn_the_bytes_tell_who_is_the_client() -> None:
    """Who sends requests is, whatever the ports say."""
    talk = Talk(BROKER, CLIENT)
    for number in range(1, 4):
        talk.ask(request(number)).tell(response(number))
    rig = Rig().take(talk.segments)
    connection = rig.finish()

    assert connection.client == hex(BROKER)
    assert outcome(rig.collector.exchanges) == [(number, Status.OK) for number in range(1, 4)]


def test_where_nothing_tells_the_higher_port_is_taken_for_the_client() -> None:
    """As long as nothing is known there must be some name."""
    for ends in ((CLIENT, BROKER), (BROKER, CLIENT)):
        connection = Rig().take(Talk(*ends).ask(b"\xff" * 30).segments).finish()

        assert (connection.client, connection.broker) == (hex(CLIENT), hex(BROKER))
        assert connection.protocol is Protocol.UNKNOWN


def test_a_port_that_the_user_named_is_the_brokers() -> None:
    """Where the capture begins in the middle, the other end is the client."""
    for port, client in ((BROKER & 0xFFFF, CLIENT), (CLIENT & 0xFFFF, BROKER)):
        connection = Rig(port).take(Talk().ask(b"?" * 9).tell(b"!" * 9).segments).finish()

        assert connection.protocol is Protocol.KAFKA
        assert connection.client == hex(client)


def test_on_a_named_port_anything_is_kafka() -> None:
    """Even what does not look like it."""
    talk = Talk().open().ask(request(1, api_key=-1)).tell(response(1))
    named, unnamed = (Rig(*ports).take(talk.segments).finish() for ports in ((9092,), ()))

    assert named.protocol is Protocol.KAFKA
    assert (named.requests, named.responses) == (1, 1)
    assert unnamed.protocol is Protocol.UNKNOWN
    assert (unnamed.requests, unnamed.responses) == (0, 0)


def test_a_handshake_tells_more_than_a_named_port() -> None:
    """The user may have named both ends' ports, or the client's by accident."""
    talk = Talk().open().ask(request(1)).tell(response(1))
    connection = Rig(CLIENT & 0xFFFF, BROKER & 0xFFFF).take(talk.segments).finish()

    assert connection.client == hex(CLIENT)
    assert (connection.requests, connection.responses) == (1, 1)


def test_a_reset_ends_a_connection_at_once() -> None:
    """What one end has sent since is not waited for."""
    talk = Talk().open().ask(request(1))
    talk.send(1, flags=RST)
    rig = Rig().take(talk.segments)
    assert rig.flow.closed_ns == START_NS + len(talk.segments) * STEP_NS
    connection = rig.finish()

    assert connection.close_reason == "rst"
    assert outcome(rig.collector.exchanges) == [(1, Status.UNANSWERED)]


def test_one_fin_is_half_an_end() -> None:
    """The other end may go on to send; at the end of the capture it was not closed."""
    talk = Talk().open().ask(request(1))
    talk.send(0, flags=FIN | ACK)
    talk.tell(response(1))
    rig = Rig().take(talk.segments)
    assert rig.flow.closed_ns is None
    connection = rig.finish()

    assert connection.close_reason == "end of capture"
    assert outcome(rig.collector.exchanges) == [(1, Status.OK)]


def test_late_packets_belong_to_a_closed_connection_for_a_second() -> None:
    """An open one lasts as long as it likes."""
    talk = Talk().open()
    rig = Rig().take(talk.segments)
    assert not rig.flow.is_over(START_NS + 10**18)
    rig.take(Talk(starts=(1001, 5001)).close().segments)

    closed_ns = rig.flow.closed_ns
    assert closed_ns is not None
    assert rig.flow.linger_until_ns == closed_ns + LINGER_NS
    assert not rig.flow.is_over(closed_ns + LINGER_NS)
    assert rig.flow.is_over(closed_ns + LINGER_NS + 1)


@for_each(
    ("segment", "is_reused"),
    [
        (Segment(CLIENT, BROKER, 1000, 0, SYN), False),
        (Segment(CLIENT, BROKER, 2000, 0, SYN), True),
        (Segment(BROKER, CLIENT, 5000, 1001, SYN | ACK), False),
        (Segment(BROKER, CLIENT, 6000, 2001, SYN | ACK), True),
        (Segment(CLIENT, BROKER, 2000, 0, ACK), False),
    ],
)
def test_a_syn_with_another_number_opens_another_connection(
    segment: Segment, *, is_reused: bool
) -> None:
    """One with the same number is a repetition."""
    rig = Rig().take(Talk().open().ask(request(1)).segments)

    assert rig.flow.is_reused_by(rig.row(segment)) is is_reused


def test_a_syn_in_the_middle_of_a_connection_opens_another_one() -> None:
    """Nothing of the first one's start was captured."""
    for talk in (Talk().ask(b"abc"), Talk().tell(b"abc")):
        rig = Rig().take(talk.segments)

        assert rig.flow.is_reused_by(rig.row(Segment(CLIENT, BROKER, 7000, 0, SYN)))


def test_an_answer_to_a_syn_may_be_captured_late() -> None:
    """After the acknowledgment of it, its number is the one expected: nothing is reused."""
    hello, answer, thanks = Talk().open().segments
    rig = Rig().take([hello, thanks])

    assert not rig.flow.is_reused_by(rig.row(answer))
    assert rig.flow.is_reused_by(rig.row(answer._replace(sequence=9)))
    rig.take([answer, *Talk(starts=(1001, 5001)).ask(request(1)).tell(response(1)).segments])
    assert rig.finish().requests == 1
    assert outcome(rig.collector.exchanges) == [(1, Status.OK)]


@pytest.mark.parametrize(("end", "status"), [(CLIENT, "unanswered"), (BROKER, "unmatched")])
def test_one_side_alone_is_read(end: int, status: str) -> None:
    """Responses alone are told by their ids that count up."""
    whole = asked(1, 5).segments
    rig = Rig().take([segment for segment in whole if segment.source == end])
    connection = rig.finish()

    assert connection.client == hex(CLIENT)
    assert outcome(rig.collector.exchanges) == [(number, Status(status)) for number in range(1, 6)]


def test_a_broker_that_answers_in_tls_leaves_no_gap() -> None:
    """Nothing is missing: its alert is known for what it is."""
    alert = bytes.fromhex("15030300020246")
    rig = Rig().take(Talk().open().ask(request(1)).tell(alert).close().segments)
    connection = rig.finish()
    assert (rig.gaps, connection.gaps) == ([], 0)
    assert connection.tls_problem is not None
    assert connection.tls_problem.startswith("the broker speaks TLS")


def test_bytes_that_never_come_are_a_gap_with_place_and_time() -> None:
    """The other end acknowledged what the capture lacks."""
    talk = Talk().open().ask(request(1)).ask(request_about(2, b"x" * 500), 200)
    talk.tell(response(1) + response(2))
    lost = talk.segments.pop(5)
    rig = Rig().take(talk.segments)
    (gap,) = rig.gaps
    connection = rig.finish()

    assert (gap.direction, gap.size) == ("request", len(lost.payload))
    assert gap.offset == len(request(1)) + 200
    assert gap.time_ns == START_NS + len(talk.segments) * STEP_NS
    assert "acknowledged" in gap.reason
    assert gap.connection is connection
    assert (connection.gaps, connection.gap_bytes) == (1, len(lost.payload))
    asked = len(request(1)) + len(request_about(2, b"x" * 500))
    assert connection.request_bytes == asked - len(lost.payload)
    assert outcome(rig.collector.exchanges) == [(1, Status.OK), (2, Status.OK)]


def test_a_gap_before_the_client_is_known_gets_its_direction_later() -> None:
    """It is told when it can be said whose bytes are missing."""
    talk = Talk(BROKER, CLIENT)
    talk.ask(b"x" * 10).ask(b"y" * 10).ask(b"z" * 10).send(1)
    del talk.segments[1]
    for number in range(1, 4):
        talk.ask(request(number)).tell(response(number))
    rig = Rig().take(talk.segments[:3])
    assert rig.gaps == []
    rig.take(talk.segments[3:])
    rig.finish()

    assert [(gap.direction, gap.offset, gap.size) for gap in rig.gaps] == [
        ("request", 0, 20),
        ("request", 10, 10),
    ]
    assert outcome(rig.collector.exchanges) == [(number, Status.OK) for number in range(1, 4)]


def test_bytes_that_no_frame_can_be_made_of_are_here_and_not_missing() -> None:
    """The capture began in the middle of a frame; its text is not shown, it may be a secret."""
    talk = Talk().ask(b"the rest of a request")
    for number in range(1, 4):
        talk.ask(request(number)).tell(response(number))
    rig = Rig().take(talk.segments)
    connection = rig.finish()

    (gap,) = rig.gaps
    assert (gap.direction, gap.offset, gap.size) == ("request", 0, len("the rest of a request"))
    assert "middle" in gap.reason
    assert (gap.is_missing, gap.packet, gap.starts_with) == (False, 1, b"")
    assert (connection.gaps, connection.gap_bytes) == (0, 0)
    assert (connection.not_understood, connection.not_understood_bytes) == (1, gap.size)


def test_duplicates_of_both_directions_are_counted() -> None:
    """Also those that were left out before anyone looked at them."""
    talk = Talk().open().ask(request(1)).tell(response(1))
    rig = Rig().take([*talk.segments, talk.segments[3], talk.segments[4]])
    again = Talk(starts=(1001 + len(request(1)), 5001 + len(response(1))))
    again.ask(request(2)).tell(response(2))
    rig.take([segment for segment in again.segments for _ in range(2)])

    assert rig.finish().duplicates == 4


def test_contradictions_are_counted() -> None:
    """A segment that repeats waiting bytes with another content is one."""
    talk = Talk().open().ask(request(1, b"abcdef"), 12)
    segments = talk.segments[:3] + talk.segments[4:5] * 2
    segments[-1] = segments[-1]._replace(payload=b"?" * len(segments[-1].payload))
    rig = Rig().take(segments)

    assert rig.flow.overlap_mismatches == 1


def test_payloads_in_order_may_be_added_as_runs() -> None:
    """They give what they would give one by one."""
    talk = asked(1, 12)
    rig, other = Rig(), Rig()
    opening = Talk(starts=(999, 4999)).open().segments
    rig.take(opening + talk.segments[:4])
    other.take(opening + talk.segments)
    assert rig.flow.is_plain
    assert rig.add_runs(talk.segments[4:])

    assert rig.finish() == other.finish()
    assert outcome(rig.collector.exchanges) == outcome(other.collector.exchanges)
    assert len(rig.collector.exchanges) == 12


def test_runs_that_do_not_come_next_are_refused() -> None:
    """Nothing of them is taken; they are taken one by one instead."""
    talk = asked(1, 3)
    rig = Rig().take(Talk(starts=(999, 4999)).open().segments + talk.segments[:2])

    assert not rig.add_runs(talk.segments[4:])
    assert rig.flow.is_plain
    rig.take(talk.segments[2:])
    assert rig.finish().requests == 3


def test_a_connection_is_not_plain_while_anything_is_open() -> None:
    """Before it is known what is carried, while bytes wait, and after its end."""
    talk = Talk().open().ask(request(1) + request(2), 30).close()
    assert not Rig().take(talk.segments[:3]).flow.is_plain
    assert Rig().take(talk.segments[:5]).flow.is_plain
    assert not Rig().take(talk.segments[:4] + talk.segments[5:6]).flow.is_plain
    assert not Rig().take(talk.segments).flow.is_plain


def test_bytes_that_may_start_a_frame_hold_up_later_packets() -> None:
    """Those that wait for others, and those of a frame whose head is not known."""
    talk = Talk().open().ask(request(1)).ask(request(2, bytes(600)), 300)
    assert Rig().take(talk.segments[:4]).flow.unresolved_packet(0) is None
    rig = Rig().take(talk.segments[:5])
    assert rig.flow.unresolved_packet(0) == 5
    assert rig.flow.unresolved_packet(6) is None
    assert Rig().take(talk.segments[:3] + talk.segments[4:5]).flow.unresolved_packet(0) == 4
