"""Kafka layers for scapy."""

import gzip
import json
import random
import re
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.plist import PacketList
from scapy.sendrecv import sniff
from scapy.sessions import TCPSession
from scapy.supersocket import StreamSocket
from scapy.utils import rdpcap

from folders import CAPTURES, ORACLE, ROOT
from kdiag.errors import EncodeError
from kdiag.exchange.model import Status
from kdiag.scapy import KafkaRequest, KafkaResponse, bind, forget_requests, unbind
from kdiag.wire.catalog import API_BY_KEY, APIS
from tiers.cases import for_each

PORT = 9092
CLIENT, BROKER = "10.0.0.1", "10.0.0.2"


@pytest.fixture(autouse=True)
def bound() -> Iterator[None]:
    """Bind Kafka's own port, and leave scapy as it was."""
    bind(PORT)
    yield
    unbind(PORT)
    forget_requests()


def sent(
    frames: bytes | Packet, sequence: int = 1, *, port: int = 40000, client: str = CLIENT
) -> Packet:
    """Return a packet from a client to the broker."""
    return Ether(
        bytes(
            Ether()
            / IP(src=client, dst=BROKER)
            / TCP(sport=port, dport=PORT, seq=sequence)
            / Raw(bytes(frames))
        )
    )


def received(
    frames: bytes | Packet, sequence: int = 1, *, port: int = 40000, client: str = CLIENT
) -> Packet:
    """Return a packet from the broker to a client."""
    return Ether(
        bytes(
            Ether()
            / IP(src=BROKER, dst=client)
            / TCP(sport=PORT, dport=port, seq=sequence)
            / Raw(bytes(frames))
        )
    )


def shown(packet: Packet) -> str:
    """Return what `show` prints of a packet."""
    return str(packet.show(dump=True))


def layers_of(packets: PacketList | list[Packet], kind: type[Packet]) -> list[Any]:
    """Return the layers of a kind in packets, however many a packet has."""
    found = []
    for packet in packets:
        number = 1
        while (layer := packet.getlayer(kind, number)) is not None:
            found.append(layer)
            number += 1
    return found


def reassembled(*packets: Packet) -> list[Packet]:
    """Return what TCPSession makes of packets."""
    return list(sniff(offline=list(packets), session=TCPSession))


METADATA: Any = KafkaRequest(
    api="Metadata", version=1, correlation_id=7, client_id="me", body={"topics": None}
)
ANSWER: Any = KafkaResponse(
    api="Metadata",
    version=1,
    correlation_id=7,
    body={"brokers": [{"nodeId": 1, "host": "a", "port": 9092, "rack": None}], "controllerId": 1},
)


def test_a_request_is_what_kafka_would_send() -> None:
    """Length, API, version, correlation id, client id and body, each in its place."""
    assert bytes(METADATA).hex() == "0000001000030001000000070002" + b"me".hex() + "ffffffff"
    assert bytes(KafkaRequest(bytes(METADATA))) == bytes(METADATA)


def test_what_is_left_out_has_its_default() -> None:
    """The version is the newest that kdiag knows, the body that of an empty message."""
    request = KafkaRequest(bytes(KafkaRequest(api="ListGroups")))

    assert (request.api, request.version) == (16, API_BY_KEY[16].versions.high)
    assert (request.client_id, request.correlation_id, request.size) == (None, 0, 14)
    assert request.body == {"statesFilter": [], "typesFilter": []}


@pytest.mark.thorough
@for_each("api", APIS, ids=lambda api: api.name)
def test_every_api_can_be_crafted_and_read_in_every_version(api: Any) -> None:
    """Both directions; the header of each version is the right one."""
    for version in range(api.versions.low, api.versions.high + 1):
        request = KafkaRequest(api=api.name, version=version, client_id="me")
        response = KafkaResponse(api=api.name, version=version, correlation_id=9)

        read = KafkaRequest(bytes(request))
        answer = KafkaResponse(bytes(response)).read_as(api.key, version)

        assert (read.problem, answer.problem) == ("", "")
        assert (read.dissection().status, answer.dissection().status) == (Status.OK, Status.OK)


@pytest.mark.thorough
@pytest.mark.parametrize("kafka", ["3.9.1", "4.4.0"])
def test_the_frames_that_kafka_wrote_are_read_and_written_again(kafka: str) -> None:
    """Every API and version that these Kafkas have, with values in all fields."""
    with gzip.open(ORACLE / f"vectors-{kafka}.jsonl.gz", "rt", encoding="ascii") as lines:
        vectors = [json.loads(line) for line in lines]
    for vector in vectors:
        head: Any = KafkaRequest if vector["kind"] == "request" else KafkaResponse
        body = bytes.fromhex(vector["hex"])
        frame = bytes(head(api=vector["api_key"], version=vector["version"], body=body))
        if vector["kind"] == "request":
            read: Any = KafkaRequest(frame)
        else:
            read = KafkaResponse(frame).read_as(vector["api_key"], vector["version"])
        assert isinstance(read.body, dict), (vector["api_key"], vector["version"], read.problem)
        read.clear_cache()
        assert bytes(read) == frame


def test_a_field_that_is_not_there_is_named() -> None:
    """The path and what may be meant, as everywhere in kdiag."""
    with pytest.raises(EncodeError, match="topic: version 1 has no such field; did you"):
        bytes(KafkaRequest(api="Metadata", version=1, body={"topic": []}))
    with pytest.raises(EncodeError, match="API 999 is not known: give the body as bytes"):
        bytes(KafkaRequest(api=999, version=0, body={"topics": []}))


def test_a_body_may_be_changed_in_place() -> None:
    """What was dissected is written anew then, and copies stay as they were."""
    read = KafkaRequest(bytes(METADATA))
    copy = read.copy()
    read.body["topics"] = [{"name": "orders"}]
    del read.size

    assert bytes(copy) == bytes(METADATA)
    assert KafkaRequest(bytes(read)).body == {"topics": [{"name": "orders"}]}


def test_binding_gives_crafted_packets_their_port() -> None:
    """Requests go to it, responses come from it; other ports are not concerned."""
    assert (TCP() / METADATA).dport == PORT
    assert (TCP() / ANSWER).sport == PORT
    elsewhere = bytes(TCP(sport=40000, dport=9093) / Raw(bytes(METADATA)))
    assert KafkaRequest not in TCP(elsewhere)
    bind(9093)
    assert KafkaRequest in TCP(elsewhere)
    unbind(9093)
    assert KafkaRequest not in TCP(elsewhere)


def test_a_response_is_read_as_the_answer_to_its_request() -> None:
    """The request is found by connection and correlation id."""
    sent(METADATA)
    response = received(ANSWER)[KafkaResponse]

    assert (response.api, response.version, response.body["controllerId"]) == (3, 1, 1)
    assert response.summary() == "Kafka Metadata v1 response 7"


def test_ipv6_connections_are_connections() -> None:
    """Addresses of either family tell connections apart."""
    IPv6(bytes(IPv6(src="::1", dst="::2") / TCP(sport=40000, dport=PORT) / METADATA))
    back = IPv6(src="::2", dst="::1") / TCP(sport=PORT, dport=40000) / ANSWER

    assert IPv6(bytes(back))[KafkaResponse].api == 3


def test_a_response_without_its_request_is_not_guessed() -> None:
    """Its correlation id is known, and what it lacks is said."""
    sent(METADATA, port=40001)
    response = received(ANSWER)[KafkaResponse]

    assert (response.correlation_id, response.api, type(response.body)) == (7, None, bytes)
    assert response.problem == "its request was not seen"
    assert "(its request was not seen)" in shown(response)
    assert response.summary() == "Kafka response 7"
    assert bytes(response) == bytes(ANSWER)


def test_requests_can_be_forgotten() -> None:
    """Another capture may have the same ports and correlation ids."""
    sent(METADATA)
    forget_requests()

    assert received(ANSWER)[KafkaResponse].api is None


def test_connections_whose_addresses_differ_alike_are_not_mixed_up() -> None:
    """Scapy's own key of a session is the same for them: the exclusive or of both ends."""
    other = KafkaRequest(api="ListGroups", version=0, correlation_id=7, client_id="me")
    packets = reassembled(
        sent(METADATA, port=40000),
        sent(other, port=40000, client="10.0.0.3"),
        received(ANSWER, port=40000),
    )

    assert layers_of(packets, KafkaResponse)[0].body["controllerId"] == 1


def test_a_response_can_be_read_when_its_request_is_known() -> None:
    """By hand, or by asking whether it answers a request, as `sr1` does."""
    by_hand = KafkaResponse(bytes(ANSWER)).read_as("Metadata", 1)
    asked = KafkaResponse(bytes(ANSWER))

    assert by_hand.body == ANSWER.body | {"topics": []} | {"brokers": by_hand.body["brokers"]}
    assert not asked.answers(KafkaRequest(correlation_id=8))
    assert asked.answers(METADATA)
    assert asked.hashret() == METADATA.hashret()
    assert asked.body == by_hand.body


def test_a_broker_can_be_asked_through_a_socket() -> None:
    """`sr1` returns the response, decoded."""
    near, far = socket.socketpair()
    far.sendall(bytes(ANSWER))
    answer = StreamSocket(near, KafkaResponse).sr1(METADATA, timeout=10, verbose=False)

    assert far.recv(1000) == bytes(METADATA)
    assert answer is not None
    assert answer.body["controllerId"] == 1
    near.close()
    far.close()


def test_frames_are_put_together_from_segments() -> None:
    """Two frames and a half in one segment, the rest in others."""
    stream = b"".join(bytes(METADATA.copy()) for _ in range(3))
    pieces = [stream[:50], stream[50:53], stream[53:]]
    starts = [1, 51, 54]
    packets = reassembled(*map(sent, pieces, starts))

    assert [each.body for each in layers_of(packets, KafkaRequest)] == [{"topics": None}] * 3


@pytest.mark.thorough
def test_a_capture_is_read_as_kdiag_reads_it() -> None:
    """Every request and response with the API, version and body that `kdiag decode` tells."""
    with (CAPTURES / "produce_consume_group.jsonl").open(encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    exchanges = [each for each in documents if each["kind"] == "exchange"]
    name = str(CAPTURES / "produce_consume_group.pcap")
    packets = sniff(offline=name, session=TCPSession)
    requests, responses = layers_of(packets, KafkaRequest), layers_of(packets, KafkaResponse)

    def counts(layers: list[Any]) -> Counter[tuple[Any, ...]]:
        return Counter((each.api, each.version, each.correlation_id) for each in layers)

    def wanted(side: str) -> Counter[tuple[Any, ...]]:
        return Counter(
            (each["api_key"], each["version"], each["correlation_id"])
            for each in exchanges
            if each[side] is not None
        )

    assert counts(requests) == wanted("request")
    assert counts(responses) == wanted("response")
    assert [each.problem for each in requests + responses if each.problem] == []


@pytest.mark.thorough
def test_packets_read_without_a_session_say_what_is_missing() -> None:
    """A frame that is longer than its segment keeps its header."""
    packets = rdpcap(str(CAPTURES / "produce_consume_group.pcap"))
    requests, responses = layers_of(packets, KafkaRequest), layers_of(packets, KafkaResponse)

    assert (len(requests), len(responses)) == (32, 31)
    assert [each.problem for each in requests + responses if each.problem] == [
        "298 of 368 bytes are not in this segment: sniff with TCPSession",
        "662 of 769 bytes are not in this segment: sniff with TCPSession",
    ]


def test_a_capture_that_starts_in_the_middle_of_a_frame_is_not_made_up() -> None:
    """Bytes that begin like no frame are left to scapy's Raw, with and without a session."""
    middle = b"0123456789" * 5
    assert KafkaRequest not in sent(middle)
    assert KafkaResponse not in received(middle)
    packets = reassembled(sent(middle), sent(METADATA, 51))

    assert [each.version for each in layers_of(packets, KafkaRequest)] == [1]


def test_what_is_newer_than_known_keeps_its_header() -> None:
    """No layout is guessed."""
    newer = KafkaRequest(api="Fetch", version=99, client_id="me", body=b"\x01\x02")
    unknown = KafkaRequest(api=999, version=3, correlation_id=5, client_id="me", body=b"\x01")

    assert KafkaRequest(bytes(newer)).problem == "Fetch v99 is not known: kdiag knows 0-18"
    read = KafkaRequest(bytes(unknown))
    assert (read.api, read.correlation_id, read.client_id) == (999, 5, "me")
    assert read.problem == "API 999 is not known"
    assert bytes(read) == bytes(unknown)


def test_a_body_that_contradicts_its_format_says_where() -> None:
    """Its bytes stay as they are."""
    broken = KafkaRequest(api="Metadata", version=1, body=b"\x00\x00\x00\x09\x00")
    read = KafkaRequest(bytes(broken))

    assert read.body == b"\x00\x00\x00\x09\x00"
    assert read.problem.startswith("topics at byte 4: 9 elements need at least")
    assert read.problem in shown(read)


def test_a_broker_that_does_not_know_a_version_answers_in_version_0() -> None:
    """KIP-511: that is what it says, and it can be written again."""
    sent(KafkaRequest(api="ApiVersions", version=4, correlation_id=1))
    refusal = struct.pack(">iihi", 10, 1, 35, 0)
    response = received(refusal)[KafkaResponse]

    assert (response.version, response.body) == (0, {"errorCode": 35, "apiKeys": []})
    response.clear_cache()
    assert bytes(response) == refusal


def test_secrets_are_in_the_body_and_not_in_what_is_shown() -> None:
    """A password that somebody sniffs does not end in a terminal's history."""
    login = KafkaRequest(api="SaslAuthenticate", version=1, body={"authBytes": b"\0me\0hush"})
    read = KafkaRequest(bytes(login))

    assert read.body == {"authBytes": b"\0me\0hush"}
    for packet in (login, read):
        for text in (shown(packet), repr(packet)):
            assert "<redacted>" in text
            assert "hush" not in text
            assert "AG1lAGh1c2g" not in text
    wrong = KafkaRequest(api="SaslAuthenticate", body={"authBytes": b"hush", "no": 1})
    cut = KafkaRequest(bytes(login)[:-1])
    assert "hush" not in repr(wrong)
    assert "(1 of 22 bytes are not in this segment: sniff with TCPSession)" in repr(cut)
    assert b"hus".hex() not in repr(cut)


@for_each("version", [0, 1])
def test_a_damaged_login_shows_its_size_alone(version: int) -> None:
    """Whatever it reads as: on its connection, no login has succeeded before it."""
    token = b"\0me\0hush-hush"
    sent(KafkaRequest(api="SaslHandshake", version=version, body={"mechanism": "PLAIN"}))
    login = bytes(
        KafkaRequest(api="SaslAuthenticate", version=1, client_id="a", body={"authBytes": token})
    )
    damaged = [
        login[:4] + b"\0\3" + login[6:],
        login[:4] + b"\x03\xe7" + login[6:],
        login[:12] + struct.pack(">h", len(login) - 14) + login[14:],
        login[:4] + b"\0\x12\0\0" + login[8:12] + struct.pack(">h", len(login) - 14) + login[14:],
    ]
    for number, frame in enumerate(damaged, 1):
        packet = sent(frame, number * 100)[KafkaRequest]
        for each in (packet, packet.copy()):
            for text in (shown(each), repr(each), each.mysummary()):
                assert "hush" not in text
            assert " bytes" in repr(each)
    tagged = KafkaRequest(
        struct.pack(">ihhih", 13 + 20, 36, 2, 3, 1) + b"a\0\1\1\7\x0d" + token + b"\0\0\0\0"
    )
    assert "hush" not in repr(tagged) + shown(tagged)


def test_a_login_that_has_succeeded_shows_what_follows() -> None:
    """Also where the damage is behind it: its fields are no secret then."""
    sent(
        KafkaRequest(api="SaslHandshake", version=1, correlation_id=1, body={"mechanism": "PLAIN"})
    )
    sent(
        KafkaRequest(
            api="SaslAuthenticate", version=1, correlation_id=2, body={"authBytes": b"\0me\0hush"}
        )
    )
    before = sent(KafkaRequest(api="Metadata", version=1, correlation_id=3, client_id="me"))
    assert "may hold a password" in repr(before[KafkaRequest])
    received(struct.pack(">iihhiq", 20, 2, 0, -1, 0, 0))
    after = sent(KafkaRequest(api="Metadata", version=1, correlation_id=4, client_id="me"))

    assert "may hold a password" not in repr(after[KafkaRequest])
    assert after[KafkaRequest].mysummary() == "Kafka Metadata v1 request 4 of me"


@pytest.mark.thorough
def test_what_is_shown_is_what_kdiag_shows() -> None:
    """Record batches and what is inside of `bytes` are laid open."""
    packets = sniff(offline=str(CAPTURES / "produce_consume_group.pcap"), session=TCPSession)
    texts = [shown(each) for each in layers_of(packets, KafkaRequest)]

    assert any('"compression": "lz4"' in text for text in texts)
    assert any('"metadata": {' in text for text in texts)


@pytest.mark.thorough
def test_the_examples_of_the_help_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `kdiag help scapy` shows does what it says."""
    monkeypatch.chdir(ROOT)
    topic = (ROOT / "cmd" / "kdiag_cli" / "help" / "library" / "scapy.md").read_text(
        encoding="utf-8"
    )
    examples = re.findall(r"```python\n(.*?)```", topic, re.DOTALL)
    for example in examples:
        exec(example, {})

    printed = capsys.readouterr().out
    assert len(examples) == 2
    assert "Ether / IP / TCP / Kafka" not in printed
    assert "Kafka ApiVersions v3 response 1\n" in printed
    assert "###[ Kafka request ]###" in printed


@pytest.mark.thorough
def test_any_bytes_can_be_dissected() -> None:
    """What is no frame becomes scapy's Raw; nothing is raised."""
    chance = random.Random(0)
    whole = bytes(METADATA)
    for _ in range(200):
        data = bytearray(whole + chance.randbytes(chance.randrange(20)))
        for _ in range(chance.randrange(4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        for packet in (sent(bytes(data)), received(bytes(data))):
            shown(packet)
            assert bytes(packet[TCP].payload) == bytes(data)
