import ssl
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from folders import TLS_CAPTURES
from kdiag.pcap.kafka.frame_cutter import FrameSink
from kdiag.pcap.kafka.frame_heuristics import RequestHeuristics
from kdiag.pcap.kafka.frame_stream import FrameLimits, FrameStream, Skip
from kdiag.pcap.tcp.segments import Piece, Segments
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pcap.tls.stream import UNKNOWN_LOSS, TlsStream
from recordings.segment_tape import START_NS, STEP_NS, Unmatched, request
from recordings.tls_capture import Stretch, connections, joined
from secure_ends.tls_pair import HOST, Talk, make_peers

HERE = TLS_CAPTURES
SAID = [
    Stretch(is_client=True, data=b"question"),
    Stretch(is_client=False, data=b"a" * 40_000),
    Stretch(is_client=True, data=b"thanks"),
]


class Sink:
    """Takes what is inside TLS.

    Attributes:
        pieces: what came.
    """

    def __init__(self) -> None:
        self.pieces: list[Piece] = []

    @property
    def data(self) -> bytes:
        """Return the bytes that came."""
        return b"".join(piece.data for piece in self.pieces)

    def add_segments(self, segments: Segments, first: int, last: int, known: int = 0) -> None:
        """Keep the segments."""
        assert known == 0
        self.pieces += [segments.piece(row) for row in range(first, last)]


class Rig:
    """A connection whose side 1 is the client, and what comes out of it.

    Attributes:
        sinks: take what side 0 and side 1 send.
        stream: what is tested.
        packet: number of the last packet.
    """

    def __init__(self, keylog: bytes) -> None:
        self.sinks = Sink(), Sink()
        self.stream = TlsStream(KeyLog.parse(keylog), 1, self.sinks)
        self.packet = 0

    def take(self, data: bytes, *, is_client: bool, size: int = 0, known: int = 0) -> None:
        """Take a packet, which covers `size` bytes of the stream if that is more than it has."""
        self.packet += 1
        time_ns = START_NS + self.packet * STEP_NS
        pieces = [Piece(data, max(size, len(data)), self.packet, time_ns)]
        self.stream.sides[is_client].add_segments(Segments.of_pieces(pieces), 0, 1, known)

    def take_all(self, wire: Iterable[Stretch], segment_bytes: int = 1 << 20) -> "Rig":
        """Take all that crossed the wire, cut into segments."""
        for is_client, data in wire:
            for start in range(0, len(data), segment_bytes):
                self.take(data[start : start + segment_bytes], is_client=is_client)
        return self


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    """Return a talk in TLS 1.2, where each record is a piece of data."""
    folder = tmp_path_factory.mktemp("talk")
    return make_peers(folder, version=ssl.TLSVersion.TLSv1_2).talk(SAID)


@pytest.mark.parametrize("name", ["tls12_aiokafka", "tls13_kafkapython"])
def test_recorded_connections_give_whole_frames_in_both_directions(name: str) -> None:
    """What is inside is Kafka from its first byte to its last."""
    keylog = (HERE / f"{name}.keylog").read_bytes()
    found = connections(HERE / f"{name}.pcap")
    assert len(found) >= 5
    for wire in found:
        rig = Rig(keylog).take_all(wire)
        for sink in rig.sinks:
            position = count = 0
            while position < len(sink.data):
                position += 4 + int.from_bytes(sink.data[position : position + 4])
                count += 1
            assert position == len(sink.data)
            assert count >= 1
        assert rig.stream.facts.sni == "localhost"


def test_without_keys_nothing_comes_out_but_what_the_handshake_tells(talk: Talk) -> None:
    """The facts are those of the connection."""
    rig = Rig(b"").take_all(talk.wire)

    assert [sink.pieces for sink in rig.sinks] == [[], []]
    assert rig.stream.facts.version == "TLS 1.2"
    assert rig.stream.facts.sni == HOST


@pytest.mark.thorough
@pytest.mark.parametrize("segment_bytes", [1, 7, 1460, 1 << 20])
def test_a_record_comes_with_the_packet_of_its_last_byte(talk: Talk, segment_bytes: int) -> None:
    """However many packets carried it, its content is one segment of the last one."""
    rig = Rig(talk.keylog)
    ends: dict[bool, dict[int, int]] = {True: {}, False: {}}
    sent = [0, 0]
    for is_client, data in talk.wire:
        for start in range(0, len(data), segment_bytes):
            part = data[start : start + segment_bytes]
            rig.take(part, is_client=is_client)
            for _ in part:
                sent[is_client] += 1
                ends[is_client][sent[is_client]] = rig.packet

    for is_client in (True, False):
        stops = _data_record_stops(joined(talk.wire, is_client=is_client))
        pieces = rig.sinks[is_client].pieces
        assert [piece.packet for piece in pieces] == [ends[is_client][stop] for stop in stops]
        assert all(piece.time_ns == START_NS + piece.packet * STEP_NS for piece in pieces)
        assert rig.sinks[is_client].data == joined(SAID, is_client=is_client)


def _data_record_stops(stream: bytes) -> list[int]:
    """Return where the records of application data end."""
    edges = [0]
    while edges[-1] < len(stream):
        edges.append(edges[-1] + 5 + int.from_bytes(stream[edges[-1] + 3 : edges[-1] + 5]))
    return [stop for start, stop in pairwise(edges) if stream[start] == 23]


def test_a_record_that_waits_for_its_keys_comes_with_the_packet_that_brings_them(
    talk: Talk,
) -> None:
    """One direction captured before the other is readable from the other's hello on."""
    rig = Rig(talk.keylog)
    rig.take(joined(talk.wire, is_client=True), is_client=True)
    assert rig.sinks[1].pieces == []
    rig.take(joined(talk.wire, is_client=False), is_client=False)

    assert rig.sinks[1].data == joined(SAID, is_client=True)
    assert {piece.packet for piece in rig.sinks[1].pieces} == {2}


def test_bytes_that_were_released_late_come_with_the_packet_that_released_them(talk: Talk) -> None:
    """TCP may have held them back for a hole to be filled."""
    rig = Rig(talk.keylog)
    for is_client, data in talk.wire:
        rig.take(data, is_client=is_client, known=1000 + rig.packet)

    assert [piece.packet for piece in rig.sinks[1].pieces] == [
        1000 + number
        for number, (is_client, data) in enumerate(talk.wire)
        if is_client and data[0] == 23
    ]


def test_a_lost_record_leaves_a_hole_of_its_size(talk: Talk) -> None:
    """What follows is in its place, for the cipher tells how much longer a record is."""
    rig = Rig(talk.keylog)
    for is_client, data in talk.wire:
        if len(data) < 40_000:
            rig.take(data, is_client=is_client)
            continue
        first, second, _ = _data_record_stops(data)
        rig.take(data[:first], is_client=is_client)
        rig.take(b"", is_client=is_client, size=second - first)
        rig.take(data[second:], is_client=is_client)

    pieces = [(len(piece.data), piece.size) for piece in rig.sinks[0].pieces]
    assert pieces == [(16384, 16384), (0, 16384), (7232, 7232)]


def test_a_cut_packet_costs_the_record_that_it_cuts(talk: Talk) -> None:
    """The first bytes of an encrypted record are worth nothing."""
    rig = Rig(talk.keylog)
    for is_client, data in talk.wire:
        is_answer = not is_client and len(data) > 40_000
        rig.take(data[:20_000] if is_answer else data, is_client=is_client, size=len(data))

    assert rig.sinks[0].data == b"a" * (1 << 14)
    assert rig.sinks[1].data == joined(SAID, is_client=True)


def test_another_target_may_take_over_in_the_middle(talk: Talk) -> None:
    """Who finds out what is inside hands over to who reads it."""
    rig = Rig(talk.keylog)
    later = Sink()
    for is_client, data in talk.wire:
        rig.take(data, is_client=is_client)
        if rig.sinks[1].pieces:
            rig.stream.targets[1] = later

    assert rig.sinks[1].data == b"question"
    assert later.data == b"thanks"


class Losses:
    """The owner of a stream of requests, which keeps what was passed over."""

    def __init__(self) -> None:
        self.skips: list[Skip] = []

    def heuristics(self) -> RequestHeuristics:
        """Return how to recognise a request of any client."""
        return RequestHeuristics(1 << 20, set())

    def believes(self, head: bytes, size: int) -> bool:
        """Return false: no frame here is larger than the limit."""
        del head, size
        return False

    def skip(self, skip: Skip) -> None:
        """Keep bytes of which no frame could be made."""
        self.skips.append(skip)


def test_frames_are_searched_for_behind_a_loss_of_unknown_size(tmp_path: Path) -> None:
    """Where the change of keys itself is lost, nobody knows how much was said before."""
    second = request(2)
    parts = [request(1), second[:9], second[9:], request(3), request(4)]
    said = [Stretch(is_client=True, data=part) for part in parts]
    talk = make_peers(tmp_path, version=ssl.TLSVersion.TLSv1_2).talk(said)
    rig = Rig(talk.keylog)
    sink, losses = FrameSink([], [], Unmatched()), Losses()
    rig.stream.targets[1] = FrameStream(sink, FrameLimits(1 << 20, 1 << 20), losses)
    flights = [number for number, (is_client, _) in enumerate(talk.wire) if is_client]
    lost = flights[1:4]
    for number, (is_client, data) in enumerate(talk.wire):
        rig.take(b"" if number in lost else data, is_client=is_client, size=len(data))

    assert [frame.data for _, _, frame in sink.starts] == [request(3)[4:], request(4)[4:]]
    assert [(skip.offset, skip.size, skip.why) for skip in losses.skips] == [
        (0, len(second) - 9, UNKNOWN_LOSS)
    ]
