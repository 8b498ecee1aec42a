from kdiag.exchange.model import Connection, Status
from kdiag.pcap.kafka.conversation import Announcements, Conversation
from kdiag.pcap.kafka.frame_stream import FrameLimits, Skip
from kdiag.pcap.kafka.matching import ExchangeCollector, Matcher
from kdiag.pcap.tcp.segments import Segments
from recordings.segment_tape import contiguous_run, request, response


class Rig:
    """A conversation whose frames get their turn when a test says so."""

    def __init__(self) -> None:
        self.collector = ExchangeCollector()
        self.frames = Announcements([], [])
        self.skips: list[tuple[str, Skip]] = []
        connection = Connection(
            number=1, connection_id="", client="", broker="", first_ns=0, last_ns=0
        )
        self.conversation = Conversation(
            Matcher(self.collector, connection),
            self.frames,
            FrameLimits(max_frame_bytes=1 << 20, max_search_bytes=1 << 20),
            self,
        )
        self._packet = 1

    def note_skip(self, direction: str, skip: Skip) -> None:
        """Keep bytes of which no frame could be made."""
        self.skips.append((direction, skip))

    def ask(self, *parts: bytes) -> None:
        """Give what the client sends, as one segment each."""
        segments = contiguous_run(parts, first_packet=self._packet)
        self.conversation.requests.add_segments(segments, 0, len(parts))
        self._packet += len(parts)

    def tell(self, *parts: bytes) -> None:
        """Give what the broker sends, as one segment each."""
        segments = contiguous_run(parts, first_packet=self._packet)
        self.conversation.responses.add_segments(segments, 0, len(parts))
        self._packet += len(parts)

    def pair(self) -> None:
        """Give every frame its turn."""
        for _, turn, frame in sorted(self.frames.starts, key=lambda start: start[0]):
            turn.begin(frame)
        self.frames.starts.clear()

    def outcome(self) -> list[tuple[int | None, Status]]:
        """Return correlation id and pairing of what is complete."""
        self.pair()
        return [(each.correlation_id, each.pairing) for each in self.collector.exchanges]


def test_frames_of_both_directions_are_paired() -> None:
    """However they are cut."""
    rig = Rig()
    rig.ask(request(1) + request(2)[:5], request(2)[5:])
    rig.tell(response(1)[:3], response(1)[3:] + response(2))

    assert rig.outcome() == [(1, Status.OK), (2, Status.OK)]
    assert not rig.conversation.is_searching


def test_a_lost_response_direction_is_found_by_requests_not_yet_paired() -> None:
    """Their ids are known as soon as they are cut."""
    rig = Rig()
    rig.ask(request(1), request(2))
    rig.pair()
    rig.ask(request(3))
    rig.conversation.responses.add_segments(Segments.hole(50, 1, 0), 0, 1)
    assert rig.conversation.is_searching
    rig.ask(request(4))
    rig.tell(b"rest", response(4))
    rig.conversation.flush()

    assert rig.outcome() == [(4, Status.OK)]
    assert [direction for direction, _ in rig.skips] == ["response"]


def test_what_is_answered_is_not_awaited_whenever_it_is_matched() -> None:
    """A search after another one knows the same, whether the frames wait to be matched or not."""
    for is_paired in (False, True):
        rig = Rig()
        rig.ask(request(1), request(2))
        rig.conversation.responses.add_segments(Segments.hole(50, 1, 0), 0, 1)
        rig.tell(response(1), response(2))
        rig.ask(request(3), request(4))
        if is_paired:
            rig.pair()
        rig.tell(response(3))

        assert list(rig.conversation._requests_seen().awaited) == [4]


def test_a_response_before_its_request_is_an_answer_all_the_same() -> None:
    """Matching pairs them, so a search need not wait for another one."""
    for is_paired in (False, True):
        rig = Rig()
        rig.tell(response(9))
        if is_paired:
            rig.pair()
        rig.ask(request(9), request(10))

        assert list(rig.conversation._requests_seen().awaited) == [10]


def test_a_lost_request_direction_is_found_by_what_the_client_sent_before() -> None:
    """Another client id is no request of this connection, nor is an old id inside of a segment."""
    rig = Rig()
    rig.ask(request(1))
    rig.pair()
    rig.ask(request(2))
    rig.conversation.requests.add_segments(Segments.hole(50, 1, 0), 0, 1)
    rig.ask(b"?" + request(2), request(5, client_id=b"other"), request(7))
    rig.conversation.flush()

    assert [frame.data for _, _, frame in rig.frames.starts] == [request(2)[4:], request(7)[4:]]
    assert [(direction, skip.size) for direction, skip in rig.skips] == [
        ("request", 1 + len(request(2)) + len(request(5, client_id=b"other")))
    ]


def test_responses_alone_are_found_by_ids_that_grow() -> None:
    """Where the capture has no request."""
    rig = Rig()
    rig.tell(response(1))
    rig.conversation.responses.add_segments(Segments.hole(50, 1, 0), 0, 1)
    rig.tell(b"rest", response(5), response(6), response(7))
    rig.pair()
    rig.conversation.matcher.give_up_outstanding()

    assert rig.outcome() == [(n, Status.UNMATCHED) for n in (1, 5, 6, 7)]
