import random
import ssl
from collections.abc import Iterable
from pathlib import Path

import pytest

from kdiag.exchange.model import Connection, Exchange, Protocol, Status, UnansweredReason
from kdiag.pcap.content import Content, ReadingRules
from kdiag.pcap.kafka.conversation import Announcements
from kdiag.pcap.kafka.frame_stream import FrameLimits, Skip
from kdiag.pcap.kafka.matching import ExchangeCollector
from kdiag.pcap.kafka.opening import Verdict
from kdiag.pcap.tls.keylog import KeyLog
from recordings.segment_tape import contiguous_run, request, response, sized
from recordings.tls_capture import Stretch
from secure_ends.tls_pair import HOST, Talk, make_peers
from tiers.cases import for_each

GSSAPI_TOKEN = sized(bytes.fromhex("6082025a06092a864886f71201020201006e82") + bytes(100))
NOISE = random.Random(7).randbytes(90)


class Rig:
    """A connection whose bytes are given in order.

    Attributes:
        content: what is tested.
        connection: what it tells of the connection.
        skips: the bytes of which no frame could be made.
        verdicts: what was found out, in order.
    """

    def __init__(self, *, has_syn: bool = True, keylog: KeyLog | None = None) -> None:
        self.connection = Connection(
            number=1, connection_id="", client="", broker="", first_ns=0, last_ns=0
        )
        self.skips: list[tuple[str, Skip]] = []
        self.verdicts: list[Verdict] = []
        self._run = ExchangeCollector()
        self._frames = Announcements([], [])
        self._packet = 0
        rules = ReadingRules(FrameLimits(1 << 20, 1 << 20), self._run, self._frames, keylog)
        self.content = Content(
            rules,
            self.connection,
            self,
            has_syn=has_syn,
        )

    def note_skip(self, direction: str, skip: Skip) -> None:
        """Keep bytes of which no frame could be made."""
        self.skips.append((direction, skip))

    def take(self, side: int, data: bytes) -> "Rig":
        """Take a packet and find out what can be found out."""
        self._packet += 1
        segments = contiguous_run([data], first_packet=self._packet)
        self.content.consumers[side].add_segments(segments, 0, 1)
        self._decide()
        return self

    def take_all(self, wire: Iterable[Stretch], client: int) -> "Rig":
        """Take what crossed the wire."""
        for is_client, data in wire:
            self.take(client if is_client else 1 - client, data)
        return self

    def end(self) -> list[tuple[int | None, Status]]:
        """End the connection; return correlation id and pairing of its exchanges."""
        self._decide(is_over=True)
        self.content.flush()
        for handler, frame in self._frames.ends:
            handler.end(frame)
        for _, turn, frame in sorted(self._frames.starts, key=lambda start: start[0]):
            turn.begin(frame)
        if self.content.has_open_ends:
            self.content.give_up(_never_asked, lacks_requests=True)
        self.content.close()
        return [(each.correlation_id, each.pairing) for each in self._run.exchanges]

    def _decide(self, *, is_over: bool = False) -> None:
        while verdict := self.content.decide(self._packet, 0, is_over=is_over):
            self.verdicts.append(verdict)


def _never_asked(exchange: Exchange, *, is_skipped: bool) -> UnansweredReason:
    """Return the reason that a test does not look at."""
    del exchange, is_skipped
    return UnansweredReason.IN_FLIGHT


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    """Return Kafka inside TLS."""
    said = []
    for number in range(1, 4):
        said.append(Stretch(is_client=True, data=request(number)))
        said.append(Stretch(is_client=False, data=response(number)))
    folder = tmp_path_factory.mktemp("talk")
    return make_peers(folder, version=ssl.TLSVersion.TLSv1_3).talk(said)


@pytest.mark.parametrize("client", [0, 1])
def test_requests_and_responses_are_paired_from_the_first_byte(client: int) -> None:
    """What came while nobody knew what is carried is not lost."""
    rig = Rig()
    rig.content.learn_client(client)
    known = []
    for data in (request(1)[:5], request(1)[5:] + request(2)):
        rig.take(client, data)
        content = rig.content
        known.append((content.is_opening, content.is_decided, content.is_plain))
    rig.take(1 - client, response(1) + response(2))

    assert known == [(True, False, False), (False, True, True)]
    assert rig.end() == [(1, Status.OK), (2, Status.OK)]
    assert rig.verdicts == [Verdict(Protocol.KAFKA, client)]
    assert rig.connection.protocol is Protocol.KAFKA
    assert rig.skips == []


@pytest.mark.parametrize("client", [0, 1])
def test_in_the_middle_both_directions_are_searched(client: int) -> None:
    """What comes before the first request, and the first response that answers one, is skipped."""
    rig = Rig(has_syn=False)
    rig.take(client, NOISE[:30]).take(1 - client, NOISE[30:50])
    rig.take(client, request(7)).take(1 - client, response(7))
    rig.take(client, request(8)).take(1 - client, response(8))

    assert rig.end() == [(7, Status.OK), (8, Status.OK)]
    assert rig.verdicts == [Verdict(Protocol.KAFKA, client)]
    skipped = [(direction, skip.offset, skip.size) for direction, skip in rig.skips]
    assert sorted(skipped) == [("request", 0, 30), ("response", 0, 20)]
    assert all("middle" in skip.why for _, skip in rig.skips)


def test_a_direction_that_is_searched_is_not_plain() -> None:
    """Long runs of one direction would come before what helps to find the other's frames."""
    rig = Rig(has_syn=False).take(0, request(7) + request(8))
    is_plain = [rig.content.is_plain]
    rig.take(1, response(7) + response(8))
    is_plain.append(rig.content.is_plain)

    assert is_plain == [False, True]
    assert rig.verdicts == [Verdict(Protocol.KAFKA, 0)]


def test_gssapi_tokens_may_come_before_any_request() -> None:
    """Kafka 0.9 began with them."""
    rig = Rig()
    rig.content.learn_client(0)
    rig.take(0, GSSAPI_TOKEN).take(1, sized(b"token")).take(0, request(1)).take(1, response(1))

    assert rig.end() == [(None, Status.OPAQUE), (1, Status.OK)]


@for_each(
    ("data", "protocol"),
    [
        (b"GET / HTTP/1.1\r\n", Protocol.HTTP),
        (b"*1\r\n$4\r\nPING\r\n", Protocol.REDIS),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Protocol.UNKNOWN),
        (b"", Protocol.EMPTY),
    ],
)
def test_what_is_not_kafka_is_named_and_passed_over(data: bytes, protocol: Protocol) -> None:
    """Not even a request in it is read."""
    rig = Rig()
    rig.content.learn_client(0)
    if data:
        rig.take(0, data).take(0, request(1)).take(1, response(1))

    assert rig.end() == []
    assert rig.connection.protocol is protocol
    assert rig.verdicts == [Verdict(protocol, 0)]
    assert rig.content.parts == []
    assert rig.skips == []


@pytest.mark.parametrize("client", [0, 1])
def test_kafka_inside_tls_is_read_with_its_keys(talk: Talk, client: int) -> None:
    """What TLS protects is found out in the same way, and TLS is told of all the same."""
    rig = Rig(keylog=KeyLog.parse(talk.keylog))
    rig.content.learn_client(client)
    rig.take_all(talk.wire, client)

    assert rig.end() == [(number, Status.OK) for number in range(1, 4)]
    assert rig.verdicts == [Verdict(Protocol.TLS, client), Verdict(Protocol.KAFKA, client)]
    assert rig.connection.protocol is Protocol.KAFKA
    assert (rig.connection.tls_version, rig.connection.sni) == ("TLS 1.3", HOST)


def test_without_keys_a_connection_is_tls_and_tells_its_host(talk: Talk) -> None:
    """The handshake is in the clear."""
    rig = Rig()
    rig.content.learn_client(0)
    rig.take_all(talk.wire, 0)
    assert rig.content.is_decided

    assert rig.end() == []
    assert rig.connection.protocol is Protocol.TLS
    assert (rig.connection.tls_version, rig.connection.sni) == ("TLS 1.3", HOST)


def test_other_protocols_inside_tls_are_not_told(tmp_path: Path) -> None:
    """The connection carries TLS, whatever is inside, unless that is Kafka."""
    said = [Stretch(is_client=True, data=b"GET / HTTP/1.1\r\n\r\n")]
    talk = make_peers(tmp_path).talk(said)
    rig = Rig(keylog=KeyLog.parse(talk.keylog))
    rig.content.learn_client(0)
    rig.take_all(talk.wire, 0)

    assert rig.end() == []
    assert rig.verdicts == [Verdict(Protocol.TLS, 0), Verdict(Protocol.HTTP, 0)]
    assert rig.connection.protocol is Protocol.TLS


@pytest.mark.parametrize("client", [0, 1])
def test_a_port_that_the_user_named_carries_kafka(client: int) -> None:
    """Even if nothing in the bytes looks like it; without any there is nothing to carry."""
    rig = Rig()
    rig.content.forced_client = client
    assert rig.content.decide(1, 0) is None
    rig.take(client, sized(b"\xff" * 20)).take(1 - client, sized(b"\xff" * 20))

    assert len(rig.end()) == 1
    assert rig.verdicts == [Verdict(Protocol.KAFKA, client)]
    assert (rig.connection.requests, rig.connection.responses) == (1, 1)


def test_a_port_that_the_user_named_may_carry_tls(talk: Talk) -> None:
    """Then what is inside is Kafka."""
    rig = Rig(keylog=KeyLog.parse(talk.keylog))
    rig.content.forced_client = 1
    rig.content.learn_client(1)
    rig.take_all(talk.wire, 1)

    assert rig.end() == [(number, Status.OK) for number in range(1, 4)]
    assert rig.verdicts == [Verdict(Protocol.TLS, 1), Verdict(Protocol.KAFKA, 1)]


@pytest.mark.parametrize("size", range(1, 6))
def test_a_client_hello_in_pieces_is_tls_on_a_port_that_the_user_named(
    talk: Talk, size: int
) -> None:
    """Its first bytes could still be a length, so more are awaited."""
    (_, hello), *rest = talk.wire
    rig = Rig(keylog=KeyLog.parse(talk.keylog))
    rig.content.forced_client = 0
    rig.content.learn_client(0)
    rig.take(0, hello[:size]).take(0, hello[size:]).take_all(rest, 0)

    assert rig.end() == [(number, Status.OK) for number in range(1, 4)]
    assert rig.verdicts == [Verdict(Protocol.TLS, 0), Verdict(Protocol.KAFKA, 0)]


def test_few_bytes_on_a_port_that_the_user_named_are_kafka_in_the_end() -> None:
    """Nothing else can be told of them."""
    rig = Rig()
    rig.content.forced_client = 0
    rig.content.learn_client(0)
    rig.take(0, b"\x16\x03\x01")
    assert rig.verdicts == []
    rig.end()

    assert rig.verdicts == [Verdict(Protocol.KAFKA, 0)]


def test_what_may_start_a_frame_is_known_at_every_time() -> None:
    """First what is kept, then what is open of both directions."""
    rig = Rig()
    rig.content.learn_client(0)
    rig.take(0, request(1)[:5])
    assert [part.unresolved_packet(0) for part in rig.content.parts] == [1, None]
    rig.take(0, request(1)[5:])
    assert [part.unresolved_packet(0) for part in rig.content.parts] == [None, None]
    rig.take(1, response(1)[:5])

    assert [part.unresolved_packet(0) for part in rig.content.parts] == [None, 3]


def test_who_is_the_client_is_learnt_only_while_it_matters() -> None:
    """Afterwards it is known."""
    rig = Rig()
    rig.content.learn_client(0)
    rig.take(0, request(1))
    rig.content.learn_client(1)

    assert rig.take(1, response(1)).end() == [(1, Status.OK)]
