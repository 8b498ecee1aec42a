import random

import pytest

from kdiag.exchange.model import Protocol
from kdiag.pcap.kafka.frame_stream import FrameLimits
from kdiag.pcap.kafka.opening import Opening, Verdict
from kdiag.pcap.tcp.segments import Piece, Segments
from kdiag.wire.api.find_coordinator import FindCoordinatorResponse
from kdiag.wire.codec.messages import encode
from recordings.segment_tape import contiguous_run, request, response, sized
from tiers.cases import for_each

LIMITS = FrameLimits(max_frame_bytes=1 << 20, max_search_bytes=1 << 20)
TLS_HELLO = bytes.fromhex("16030100f8010000f40303")
ZOOKEEPER = sized(bytes(12) + bytes.fromhex("00007530") + bytes(8) + sized(bytes(16)) + b"\0")
"""The first message of a ZooKeeper client: it looks like Produce v0 without a client id."""
NOISE = random.Random(7).randbytes(3000)


class Rig:
    """The opening of a connection.

    Attributes:
        opening: what is tested.
    """

    def __init__(
        self, client: int | None = None, *, has_syn: bool = False, limits: FrameLimits = LIMITS
    ) -> None:
        self.opening = Opening(limits, has_syn=has_syn)
        self.opening.client = client
        self._packet = 1

    def take(self, side: int, *parts: bytes) -> Verdict | None:
        """Take byte strings as one segment each; return what is known then."""
        segments = contiguous_run(parts, first_packet=self._packet)
        self._packet += len(parts)
        self.opening.sides[side].add_segments(segments, 0, len(parts))
        return self.opening.verdict()

    def lose(self, side: int, size: int, data: bytes = b"") -> Verdict | None:
        """Take a packet of which only some first bytes, if any, are in the capture."""
        segments = Segments.of_pieces([Piece(data, size, self._packet, 0)])
        self._packet += 1
        self.opening.sides[side].add_segments(segments, 0, 1)
        return self.opening.verdict()

    def end(self) -> Verdict | None:
        """Return what is known when no more bytes will come."""
        return self.opening.verdict(is_over=True)

    def kept(self, side: int) -> bytes:
        """Return the bytes that are kept of a direction."""
        return b"".join(piece.data for piece in self.opening.sides[side].kept())


@for_each("client", [0, 1])
@for_each(
    ("data", "protocol"),
    [
        (request(1), Protocol.KAFKA),
        (TLS_HELLO, Protocol.TLS),
        (b"GET / HTTP/1.1\r\n", Protocol.HTTP),
        (b"*1\r\n$4\r\nPING\r\n", Protocol.REDIS),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Protocol.UNKNOWN),
    ],
)
def test_with_a_syn_the_clients_first_bytes_tell(
    client: int, data: bytes, protocol: Protocol
) -> None:
    """They may come one at a time, and are kept for whoever reads them."""
    rig = Rig(client, has_syn=True)
    verdicts = [rig.take(client, data[at : at + 1]) for at in range(len(data))]

    assert verdicts[0] is None
    assert verdicts[-1] == Verdict(protocol, client)
    assert rig.kept(client) == data
    assert rig.opening.sides[client].has_frame_start


@pytest.mark.parametrize("has_kafka_port", [True, False])
def test_frames_that_only_look_like_requests_are_believed_on_a_usual_port(
    *, has_kafka_port: bool
) -> None:
    """Many protocols put a length, two small numbers and a name in front; clients have faults."""
    remote_call = [request(number, b"\0\3ask", api_key=1, version=2) for number in range(9)]
    rig = Rig(0, has_syn=True)
    rig.opening.has_kafka_port = has_kafka_port
    expected = Protocol.KAFKA if has_kafka_port else Protocol.UNKNOWN

    assert rig.take(0, *remote_call[:7]) is None
    assert rig.take(0, *remote_call[7:]) == Verdict(expected, 0)
    rig = Rig(0, has_syn=True)
    rig.opening.has_kafka_port = has_kafka_port
    assert rig.take(0, remote_call[0]) is None
    assert rig.end() == Verdict(expected, 0)


def test_a_request_that_decodes_is_proof_behind_one_that_does_not() -> None:
    """A client may send a malformed one first."""
    rig = Rig(0, has_syn=True)

    assert rig.take(0, request(1, b"wrong")) is None
    assert rig.take(0, request(2)) == Verdict(Protocol.KAFKA, 0)


def test_a_request_of_an_unknown_version_waits_for_another_of_its_client() -> None:
    """Its body cannot be decoded."""
    rig = Rig(0, has_syn=True)

    assert rig.take(0, request(1, b"\0new", version=14)) is None
    assert rig.take(0, request(2, b"\0new", version=14)) == Verdict(Protocol.KAFKA, 0)


def test_a_request_without_client_id_is_believed_as_the_first() -> None:
    """It must decode, to something that a client would send."""
    for frame, protocol in (
        (request(1, client_id=None), Protocol.KAFKA),
        (request(1, b"wrong", client_id=None), Protocol.UNKNOWN),
        (bytes.fromhex("00000014") + bytes(20), Protocol.UNKNOWN),
        (ZOOKEEPER, Protocol.UNKNOWN),
    ):
        assert Rig(0, has_syn=True).take(0, frame) == Verdict(protocol, 0)


@for_each(
    "client_id", ["esc\x1b[31mred", "\x1b", "\0", "del\x7f", "c1\x9b", "bidi\u202e", "sep\u2028"]
)
def test_a_client_id_of_any_characters_hides_no_client(client_id: str) -> None:
    """The frame must decode all the same."""
    name = client_id.encode()
    for frames, protocol in (
        ([request(1, client_id=name)], Protocol.KAFKA),
        ([request(1, b"", api_key=18, version=0, client_id=name)], Protocol.KAFKA),
        ([request(1, b"wrong", client_id=name)], Protocol.UNKNOWN),
        ([request(1, b"\0?", version=14, client_id=name)], Protocol.UNKNOWN),
        ([request(each, b"wrong", client_id=name) for each in range(9)], Protocol.UNKNOWN),
    ):
        rig = Rig(0, has_syn=True)
        rig.take(0, b"".join(frames))
        assert rig.end() == Verdict(protocol, 0), frames


def test_random_bytes_behind_a_length_are_no_requests() -> None:
    """Though nearly all of their names would be odd."""
    chance = random.Random(3)
    for _ in range(300):
        rig = Rig(0, has_syn=True)
        rig.take(0, sized(chance.randbytes(chance.randrange(1, 60))))
        assert rig.end() == Verdict(Protocol.UNKNOWN, 0)


@pytest.mark.parametrize("first_id", [5, 65536 * 18])
def test_responses_are_not_requests_whatever_their_ids_look_like(first_id: int) -> None:
    """Id 5 looks like Produce v5, id 65536 * 18 like ApiVersions v0."""
    found = FindCoordinatorResponse(host="host.example", node_id=3, port=9092, error_message="ok")
    answers = [response(first_id + n, encode(found, 1)) for n in range(3)]
    beats = [response(first_id + n, bytes(6)) for n in range(3)]
    for frames in (answers, beats):
        rig = Rig()
        rig.take(0, b"the rest of a request")
        rig.take(1, *frames)

        assert rig.end() == Verdict(Protocol.KAFKA, 0)


@pytest.mark.parametrize("client", [0, 1])
def test_a_proxys_preamble_is_passed_over_and_named(client: int) -> None:
    """In both directions; what follows is read from its first byte on."""
    rig = Rig(client, has_syn=True)
    asks = b"CONNECT broker:9092 HTTP/1.1\r\n\r\n"

    assert rig.take(client, asks) is None
    assert rig.take(1 - client, b"HTTP/1.1 200 OK\r\n\r\n") is None
    assert rig.take(client, request(1)) == Verdict(Protocol.KAFKA, client)
    assert rig.opening.preamble == "HTTP CONNECT to broker:9092"
    assert rig.kept(client) == request(1)
    assert rig.kept(1 - client) == b""
    sides = rig.opening.sides
    assert [side.preamble_bytes for side in sides] == ([32, 19] if client == 0 else [19, 32])
    assert [side.skipped_bytes for side in sides] == [0, 0]


def test_a_preamble_may_share_its_segment_and_be_all_there_is() -> None:
    """Health checks of proxies send no more; a refused one is what it looks like."""
    line = b"PROXY TCP4 10.1.2.3 10.9.8.7 51000 9092\r\n"
    rig = Rig(0, has_syn=True)
    assert rig.take(0, line + request(1)) == Verdict(Protocol.KAFKA, 0)
    assert rig.kept(0) == request(1)

    rig = Rig(0, has_syn=True)
    assert rig.take(0, line) is None
    assert rig.end() == Verdict(Protocol.EMPTY, 0)
    rig = Rig(0, has_syn=True)
    rig.take(0, b"CONNECT broker:9092 HTTP/1.1\r\n\r\n")
    assert rig.take(1, b"HTTP/1.1 403 No\r\n\r\n") == Verdict(Protocol.HTTP, 0)


def test_with_a_syn_what_the_other_end_says_first_tells_nothing() -> None:
    """A server's greeting is no request of the client."""
    rig = Rig(0, has_syn=True)

    assert rig.take(1, b"220 mail.example.test\r\n") is None
    assert rig.take(1, b"GET / HTTP/1.1\r\n") is None
    assert rig.end() == Verdict(Protocol.UNKNOWN, 0)


@pytest.mark.parametrize(("client", "has_syn"), [(0, True), (None, False), (None, True)])
def test_a_connection_without_a_byte_is_empty(client: int | None, *, has_syn: bool) -> None:
    """It is so at its end, not before."""
    rig = Rig(client, has_syn=has_syn)

    assert rig.opening.verdict() is None
    assert rig.end() == Verdict(Protocol.EMPTY, client)


def test_too_few_bytes_are_judged_at_the_end() -> None:
    """Half a header could have become anything."""
    rig = Rig(0, has_syn=True)

    assert rig.take(0, request(1)[:7]) is None
    assert rig.end() == Verdict(Protocol.UNKNOWN, 0)


@pytest.mark.parametrize("client", [0, 1])
def test_without_a_syn_the_end_that_sends_requests_is_the_client(client: int) -> None:
    """They are searched for in both directions, whatever came before."""
    rig = Rig()
    other = 1 - client

    assert rig.take(client, NOISE[:100]) is None
    assert rig.take(other, NOISE[100:200]) is None
    assert rig.take(client, NOISE[:50] + request(1)[:9]) is None
    assert rig.take(client, request(1)[9:] + request(2)) == Verdict(Protocol.KAFKA, client)
    side = rig.opening.sides[client]
    assert (side.skipped_bytes, side.unread_bytes) == (150, 150)
    assert side.has_frame_start
    assert rig.kept(client) == request(1) + request(2)
    assert rig.kept(other) == NOISE[100:200]
    assert not rig.opening.sides[other].has_frame_start


def test_bytes_behind_the_request_that_was_found_are_kept() -> None:
    """More may come before anybody asks."""
    rig = Rig()
    rig.take(0, request(1))
    verdict = rig.take(0, request(2), b"more")

    assert verdict == Verdict(Protocol.KAFKA, 0)
    assert rig.kept(0) == request(1) + request(2) + b"more"


def test_a_request_at_the_very_end_is_found_at_the_end() -> None:
    """Nothing follows that could prove it sooner."""
    rig = Rig()

    assert rig.take(0, b"lost" + request(1)) is None
    assert rig.end() == Verdict(Protocol.KAFKA, 0)
    assert rig.kept(0) == request(1)


@pytest.mark.parametrize("broker", [0, 1])
def test_responses_alone_tell_who_is_the_client(broker: int) -> None:
    """A chain of them is enough if the other end says nothing, in the middle or from a SYN on."""
    for rig in (Rig(1 - broker, has_syn=True), Rig()):
        assert rig.take(broker, *map(response, range(3))) == Verdict(Protocol.KAFKA, 1 - broker)
    rig = Rig()

    assert rig.take(broker, b"the rest", response(4)) is None
    assert rig.take(broker, response(5), response(7)) == Verdict(Protocol.KAFKA, 1 - broker)
    side = rig.opening.sides[broker]
    assert (side.skipped_bytes, side.unread_bytes) == (8, 8)
    assert rig.kept(broker) == response(4) + response(5) + response(7)
    assert side.has_frame_start


def test_two_responses_are_enough_at_the_end() -> None:
    """No third one will come."""
    rig = Rig()

    assert rig.take(1, response(4), response(5)) is None
    assert rig.end() == Verdict(Protocol.KAFKA, 0)


def test_responses_prove_nothing_beside_bytes_of_the_other_end() -> None:
    """If that is the client, its requests will be found."""
    rig = Rig()
    rig.take(0, b"x")

    assert rig.take(1, *map(response, range(5))) is None


def test_a_client_does_not_send_responses() -> None:
    """The end that has sent the SYN of a connection may count up in another protocol."""
    rig = Rig(0)

    assert rig.take(0, *map(response, range(5))) is None
    assert rig.end() == Verdict(Protocol.UNKNOWN, 0)


@for_each(
    ("data", "protocol"),
    [
        (bytes.fromhex("17030300200102"), Protocol.TLS),
        (b"POST /topics HTTP/1.1\r\n", Protocol.HTTP),
        (b"HTTP/1.1 200 OK\r\n", Protocol.HTTP),
        (b"+PONG\r\n", Protocol.REDIS),
    ],
)
@for_each("side", [0, 1])
def test_other_protocols_are_told_in_the_middle_too(
    side: int, data: bytes, protocol: Protocol
) -> None:
    """Either end's first bytes may tell them, but not who is the client."""
    assert Rig().take(side, data) == Verdict(protocol, None)


def test_bytes_of_nothing_known_are_searched_until_there_were_too_many() -> None:
    """Both directions must have had their chance."""
    rig = Rig(limits=FrameLimits(1 << 20, 2000))

    assert rig.take(0, NOISE) is None
    assert rig.take(1, NOISE[:1999]) is None
    assert rig.take(1, b"ab") == Verdict(Protocol.UNKNOWN, None)


def test_a_client_whose_first_bytes_are_lost_is_searched_for_requests() -> None:
    """The capture has its SYN and not the first data."""
    rig = Rig(1, has_syn=True)

    assert rig.lose(1, 40) is None
    assert rig.take(1, request(1)[9:]) is None
    assert rig.take(1, request(2) + request(3)) == Verdict(Protocol.KAFKA, 1)
    assert rig.kept(1) == request(2) + request(3)
    side = rig.opening.sides[1]
    assert side.skipped_bytes == 40 + len(request(1)) - 9
    assert side.unread_bytes == len(request(1)) - 9


def test_a_search_for_a_known_client_ends_too() -> None:
    """After enough bytes it is something else."""
    rig = Rig(0, has_syn=True, limits=FrameLimits(1 << 20, 2000))

    assert rig.lose(0, 40) is None
    assert rig.take(0, NOISE) == Verdict(Protocol.UNKNOWN, 0)


def test_a_cut_first_packet_tells_what_it_can() -> None:
    """Where a snap length ends the bytes, no more of them will come."""
    assert Rig(0, has_syn=True).lose(0, 2000, request(1)[:20]) == Verdict(Protocol.KAFKA, 0)
    assert Rig(0, has_syn=True).lose(0, 2000, b"\0\0") == Verdict(Protocol.UNKNOWN, 0)


def test_the_oldest_bytes_go_when_there_are_too_many() -> None:
    """What is kept then begins anywhere."""
    rig = Rig(0, has_syn=True, limits=FrameLimits(1 << 20, 2000))
    rig.take(1, *[b"a" * 100] * 10)
    side = rig.opening.sides[1]

    assert len(side.kept()) == 5
    assert (side.skipped_bytes, side.unread_bytes, side.total_bytes) == (500, 500, 1000)
    assert not side.has_frame_start
    assert side.first_bytes() == (b"", True)


def test_what_is_kept_holds_up_later_frames() -> None:
    """Both while searching and while the first bytes are awaited."""
    for has_syn in (True, False):
        rig = Rig(0, has_syn=has_syn)
        rig.take(0, b"\0", b"\0")
        side = rig.opening.sides[0]

        assert [side.unresolved_packet(oldest) for oldest in (0, 2, 3)] == [1, 2, None]


@pytest.mark.parametrize("client", [None, 0, 1])
def test_one_direction_alone_is_not_searched_for_ever(client: int | None) -> None:
    """Longer than any response it is given up, and nothing of it is kept any more."""
    rig = Rig(client, limits=FrameLimits(max_frame_bytes=1 << 20, max_search_bytes=10_000))
    verdicts = [rig.take(0, b"\xff" * 1000) for _ in range(200)]

    assert verdicts[9] is None
    assert Verdict(Protocol.UNKNOWN, client) in verdicts
    assert rig.opening.sides[0].held_bytes < 40_000
