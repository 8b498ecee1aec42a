import os
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from scapy.utils import PcapReader

from folders import CAPTURES, TLS_CAPTURES
from kdiag.errors import CaptureError
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Exchange, Status
from kdiag.pcap.decoder import CaptureDecoder
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pcap.writer.extract import ExtractCounts, ExtractNotes, write_extract
from kdiag.wire import api_keys
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from recordings.capture_writer import Section
from recordings.exchange_maker import request_bytes, response_bytes
from recordings.hard_captures import Talk, produce, produced, sized, write
from recordings.wrapped_captures import fragmented
from tiers.cases import for_each

REFERENCE = Path(os.environ.get("KDIAG_REFERENCE", "/nowhere"), "captures")
RECORDED = [*sorted(CAPTURES.glob("*.pcap")), *sorted(REFERENCE.glob("*.pcap*"))]
LARGEST_BYTES = 200_000
WITH_KEYS_INSIDE = "tls12_aiokafka_dsb.pcapng"
SASL = CAPTURES / "sasl_plain.pcap"
PASSWORD = b"correct horse battery staple"
TOKEN = b"\0alice\0" + PASSWORD


class Reading:
    """One reading of captures, with the notes for an extract of them."""

    def __init__(self, *files: Path, keys: bytes = b"", keeps_secrets: bool = False) -> None:
        self.reader = CaptureReader(files)
        keylog = KeyLog()
        keylog.add(keys)
        keylog.look_ahead = self.reader.find_secrets
        decoder = CaptureDecoder(self.reader.addresses, keylog=keylog)
        decoder.link_sightings()
        self.notes = ExtractNotes(decoder, keeps_secrets=keeps_secrets)
        self.exchanges: list[Exchange] = []
        self.connections: list[Connection] = []
        for batch in self.reader.read_segments():
            self._add(decoder.feed(batch))
        self._add(decoder.finish())
        self.exchanges.sort(key=lambda each: each.number)

    def _add(self, items: Iterable[Any]) -> None:
        self.notes.note(items := list(items))
        self.exchanges += [each for each in items if isinstance(each, Exchange)]
        self.connections += [each for each in items if isinstance(each, Connection)]

    def extract(
        self, file: Path, wanted: Callable[[Exchange], bool] = lambda _: True
    ) -> ExtractCounts:
        """Write the connections of some exchanges."""
        self.notes.wanted |= {each.connection.number for each in self.exchanges if wanted(each)}
        again = CaptureReader(self.reader.inputs)
        again.index.addresses = self.reader.addresses
        return write_extract(self.notes, again, file, self.reader.packets)

    def told(self) -> list[tuple[Any, ...]]:
        """Return what exchanges say, but for the values of secrets."""
        return [told(each) for each in self.exchanges]


def told(exchange: Exchange) -> tuple[Any, ...]:
    """Return what an exchange says, but for the values of secrets and its number."""
    dissection, connection = Dissection(exchange), exchange.connection
    frames = [
        frame and (frame.size, len(frame.data), frame.first_byte_ns, frame.last_byte_ns)
        for frame in (exchange.request, exchange.response)
    ]
    about = exchange.api_key, exchange.version, exchange.correlation_id, exchange.client_id
    result = exchange.pairing, exchange.unanswered_reason, dissection.status
    ends = connection.client, connection.broker, connection.close_reason
    return (*ends, *about, *result, dissection.error_codes, *frames)


def tokens(exchanges: Iterable[Exchange]) -> set[bytes]:
    """Return the tokens of SASL that travelled in the open."""
    found = set()
    for exchange in exchanges:
        if exchange.api_key == api_keys.SASL_AUTHENTICATE and not exchange.connection.tls_version:
            sides = Dissection(exchange).sides
            found |= {bytes(side.message.auth_bytes) for side in sides if side.message}
    return {each for each in found if len(each) > len("xxxx")}


def login(port: int = 9092, *, client_start: int = 1000) -> Talk:
    """Return a connection on which somebody has just authenticated."""
    talk = Talk(port=port, client_start=client_start)
    talk.open()
    talk.ask(sized(request_bytes(SaslAuthenticateRequest(auth_bytes=TOKEN), 1)))
    talk.tell(sized(response_bytes(SaslAuthenticateResponse(), 1)))
    talk.ask(produce(101))
    talk.tell(produced(101))
    return talk


def packets_of(file: Path) -> list[Packet]:
    """Return the packets of a capture."""
    with PcapReader(str(file)) as packets:
        return list(packets)


def without_checksums(packet: Packet) -> bytes:
    """Return an Ethernet frame whose checksums are to be computed."""
    again = Ether(bytes(packet))
    del again[IP].chksum, again[TCP].chksum
    return bytes(Ether(bytes(again)))


def extracted(packets: Sequence[Packet], folder: Path) -> tuple[Reading, ExtractCounts, bytes]:
    """Return the reading of packets, the counts of an extract of all, and its bytes."""
    reading = Reading(write(list(packets), folder / "given.pcap"))
    counts = reading.extract(folder / "out.pcap")
    return reading, counts, (folder / "out.pcap").read_bytes()


@pytest.mark.thorough
@for_each(
    "file",
    [
        file
        for file in RECORDED
        if file.stat().st_size < LARGEST_BYTES and file.name != WITH_KEYS_INSIDE
    ],
    ids=lambda path: path.name,
)
def test_an_extract_of_everything_reads_as_the_capture_does(file: Path, tmp_path: Path) -> None:
    """The same exchanges and statuses, and no token is anywhere in its bytes."""
    out = tmp_path / f"out{file.suffix}"
    keys = file.with_suffix(".keylog").read_bytes() if file.with_suffix(".keylog").exists() else b""
    reading = Reading(file, keys=keys)
    counts = reading.extract(out)

    data = out.read_bytes()
    assert [token for token in tokens(reading.exchanges) if token in data] == []
    assert (counts.packets > 0) == bool(reading.exchanges)
    if reading.exchanges:
        again = Reading(out, keys=keys)
        assert again.told() == reading.told()
        kept = [each for each in reading.connections if each.number in reading.notes.wanted]
        assert len(again.connections) == len(kept)


def test_keys_inside_of_a_capture_are_not_written(tmp_path: Path) -> None:
    """So TLS stays what it was: nobody else can read it."""
    capture, section = TLS_CAPTURES / "tls12_aiokafka.pcap", Section()
    keys = section.secrets(capture.with_suffix(".keylog").read_bytes())
    (tmp_path / "keys.pcapng").write_bytes(section.start() + section.interface() + keys)
    reading = Reading(capture, tmp_path / "keys.pcapng")
    counts = reading.extract(tmp_path / "out.pcapng")

    assert (len(reading.exchanges) > 0, counts.encrypted > 0) == (True, True)
    assert b"CLIENT_RANDOM" not in (tmp_path / "out.pcapng").read_bytes()
    assert Reading(tmp_path / "out.pcapng").exchanges == []


def test_only_packets_of_chosen_connections_are_written_with_handshake_and_end(
    tmp_path: Path,
) -> None:
    """In the order and at the times of the capture, byte for byte where nothing is secret."""
    capture = CAPTURES / "produce_consume_group.pcap"
    reading = Reading(capture)
    counts = reading.extract(tmp_path / "out.pcap", lambda each: each.api_key == api_keys.PRODUCE)
    chosen = {each.connection.client for each in Reading(tmp_path / "out.pcap").exchanges}

    ports = {int(each.rpartition(":")[2]) for each in chosen}
    expected = [each for each in packets_of(capture) if {each.sport, each.dport} & ports]
    written = packets_of(tmp_path / "out.pcap")
    assert [bytes(each) for each in written] == [bytes(each) for each in expected]
    assert [each.time for each in written] == [each.time for each in expected]
    assert (counts.packets, counts.connections) == (len(expected), len(chosen))
    assert written[0][TCP].flags == "S"
    assert any(each[TCP].flags.F for each in written[-3:])


def test_secrets_are_masked_wherever_a_packet_carries_them_again(tmp_path: Path) -> None:
    """As a copy, in parts of another size, and together with what follows; checksums fit."""
    talk = login()
    data = b"".join(bytes(each[TCP].payload) for each in talk.packets if each.sport == 40_000)
    talk.packets += [talk.packets[3].copy()]
    for start, stop in ((10, 45), (45, 80), (0, 400)):
        talk.again(0, 1001 + start, data[start:stop])
    reading, counts, written = extracted(talk.packets, tmp_path)

    assert tokens(reading.exchanges) == {TOKEN}
    assert not any(PASSWORD[at : at + 4] in written for at in range(len(PASSWORD) - 3))
    assert b"alice" not in written
    assert counts.secret_packets == 5
    assert counts.unknown_packets == 0
    masked = packets_of(tmp_path / "out.pcap")
    assert [bytes(each) for each in masked] == [without_checksums(each) for each in masked]
    assert Reading(tmp_path / "out.pcap").told() == reading.told()


@pytest.mark.thorough
def test_secrets_stay_where_that_is_asked_for(tmp_path: Path) -> None:
    """The packets are those of the capture to the last byte."""
    reading = Reading(SASL, keeps_secrets=True)
    counts = reading.extract(tmp_path / "out.pcap")

    assert counts.secret_packets == counts.unknown_packets == 0
    same = zip(packets_of(SASL), packets_of(tmp_path / "out.pcap"), strict=True)
    assert all(bytes(one) == bytes(other) for one, other in same)


def test_an_extract_with_secrets_is_its_owners_alone(tmp_path: Path) -> None:
    """One without them has the usual rights; a link is replaced by either."""
    target = tmp_path / "target"
    target.write_text("precious")
    before = os.umask(0o022)
    try:
        for keeps_secrets, mode in ((True, 0o600), (False, 0o644)):
            file = tmp_path / f"{mode:o}.pcap"
            file.symlink_to(target)
            Reading(SASL, keeps_secrets=keeps_secrets).extract(file)
            assert file.lstat().st_mode == stat.S_IFREG | mode
    finally:
        os.umask(before)
    assert target.read_text() == "precious"


def test_a_secret_may_lie_where_sequence_numbers_start_again(tmp_path: Path) -> None:
    """They are compared modulo 2**32."""
    _, counts, written = extracted(login(client_start=2**32 - 40).packets, tmp_path)

    assert PASSWORD[-6:] not in written
    assert PASSWORD[:6] not in written
    assert counts.secret_packets == 1


def test_a_token_of_which_a_part_is_missing_is_masked_as_far_as_it_is_there(
    tmp_path: Path,
) -> None:
    """Also what comes behind the hole, which no exchange has."""
    talk = Talk()
    talk.open()
    talk.ask(sized(request_bytes(SaslAuthenticateRequest(auth_bytes=TOKEN), 1)), mss=20)
    talk.tell(sized(response_bytes(SaslAuthenticateResponse(), 1)))
    del talk.packets[4]
    reading, _, written = extracted(talk.packets, tmp_path)

    assert [Dissection(each).status for each in reading.exchanges] == [Status.PARTIAL]
    assert not any(PASSWORD[at : at + 4] in written for at in range(len(PASSWORD) - 3))


def test_bytes_that_no_frame_has_are_masked(tmp_path: Path) -> None:
    """As the end of a token with which a capture begins, and what does not fit the connection."""
    talk = login()
    talk.again(0, 1001 + 50_000, b"stray " + PASSWORD)
    packets = [*talk.packets[:3], *talk.packets[4:]]
    token = talk.packets[3].copy()
    payload = bytes(token[TCP].payload)
    token[TCP].remove_payload()
    token[TCP].seq += 30
    late = token / payload[30:]
    late.time = token.time
    _, counts, written = extracted([late, *packets[4:]], tmp_path)

    assert PASSWORD[-6:] not in written
    assert counts.unknown_packets == 2


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (
            [b"\5\1\2", b"\1\5alice\x1c" + PASSWORD, b"\5\1\0\1\x0a\0\0\2\x23\x84"],
            [b"\5\2", b"\1\0", b"\5\0\0\1\0\0\0\0\0\0"],
        ),
        (
            [b"CONNECT b:9092 HTTP/1.1\r\nProxy-Authorization: Basic " + PASSWORD + b"\r\n\r\n"],
            [b"HTTP/1.1 200 OK\r\n\r\n"],
        ),
    ],
)
def test_passwords_of_proxies_are_masked(
    asked: list[bytes], answered: list[bytes], tmp_path: Path
) -> None:
    """The rest of the preamble stays, so that the connection reads as before."""
    talk = Talk()
    talk.open()
    for question, answer in zip(asked, answered, strict=True):
        talk.ask(question)
        talk.tell(answer)
    talk.ask(produce(101))
    talk.tell(produced(101))
    reading, counts, written = extracted(talk.packets, tmp_path)

    assert [each.api_key for each in reading.exchanges] == [api_keys.PRODUCE]
    assert PASSWORD not in written
    assert counts.secret_packets == 1
    assert Reading(tmp_path / "out.pcap").told() == reading.told()


def test_a_port_that_is_used_again_is_another_connection(tmp_path: Path) -> None:
    """Its packets are written only if it is chosen itself; its SYN shows that the first ended."""
    first, second = login(), login(client_start=900_000)
    for packet in second.packets:
        packet.time += 1
    reading = Reading(write([*first.packets, *second.packets], tmp_path / "given.pcap"))
    number = reading.exchanges[0].connection.number
    counts = reading.extract(tmp_path / "out.pcap", lambda each: each.connection.number == number)

    assert counts.packets == len(first.packets) + 1
    again = Reading(tmp_path / "out.pcap").told()
    assert again == [each for each in reading.told() if each[2] == "reused"]


def test_numbers_that_go_on_elsewhere_are_written_too(tmp_path: Path) -> None:
    """Without them, the connection in front of the jump would seem to be open at the end."""
    first, second = login(), login(client_start=2_000_000_000)
    first.ask(produce(102))
    second.ask(produce(103))
    second.tell(produced(103))
    for packet in second.packets:
        packet.time += 1
        packet[TCP].seq = (packet[TCP].seq + 1_500_000_000) % 2**32
        packet[TCP].ack = (packet[TCP].ack + 1_500_000_000) % 2**32
    given = write([*first.packets, *second.packets[3:]], tmp_path / "given.pcap")
    reading = Reading(given)
    assert {each.close_reason for each in reading.connections} == {"jump", "end of capture"}
    reading.extract(tmp_path / "out.pcap", lambda each: each.connection.close_reason == "jump")

    assert Reading(tmp_path / "out.pcap").told() == reading.told()


@pytest.mark.thorough
def test_segments_in_ip_fragments_are_counted_and_left_out(tmp_path: Path) -> None:
    """A packet alone would be of no use."""
    file = tmp_path / "given.pcap"
    file.write_bytes(fragmented())
    reading = Reading(file)
    counts = reading.extract(tmp_path / "out.pcap")

    assert counts.fragmented > 0
    assert counts.packets + counts.fragmented <= reading.reader.packets


def test_captures_that_grow_meanwhile_are_read_as_far_as_before(tmp_path: Path) -> None:
    """And those that become others are refused."""
    file = tmp_path / "given.pcap"
    file.write_bytes(SASL.read_bytes()[:12_000])
    reading = Reading(file)
    file.write_bytes(SASL.read_bytes())
    counts = reading.extract(tmp_path / "out.pcap")
    written = (tmp_path / "out.pcap").read_bytes()
    assert counts.packets > 0
    assert [token for token in tokens(Reading(file).exchanges) if token in written] == []

    file.write_bytes((CAPTURES / "acks.pcap").read_bytes())
    with pytest.raises(CaptureError, match="changed while it was read"):
        reading.extract(tmp_path / "other.pcap")
    assert not (tmp_path / "other.pcap").exists()


def test_an_extract_of_nothing_is_a_capture_without_packets(tmp_path: Path) -> None:
    """Readers take it."""
    reading = Reading(SASL)
    assert reading.extract(tmp_path / "out.pcap", lambda _: False).packets == 0
    assert packets_of(tmp_path / "out.pcap") == []
