"""What TCP, recorders and clients do to a connection, and what must come out all the same."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from folders import TLS_CAPTURES
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import BodyForm
from kdiag.exchange.documents.byte_view import view_side
from kdiag.exchange.documents.document import DocumentEncoder, Documents
from kdiag.exchange.model import Connection, Exchange, Gap, Protocol, Status
from kdiag.pcap.decoder import decode_capture
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from programs.kdiag_program import kdiag
from recordings.hard_captures import (
    CASES,
    MSS,
    Packets,
    base,
    one_batch,
    one_sided,
    produce,
    produced,
    retransmitted,
    sasl_handshake_v0,
    seen_twice,
    unacknowledged_mixed,
    write,
)
from recordings.wrapped_captures import TENANTS, WRAPPED
from tiers.cases import for_each
from tiers.sampling import IS_EXHAUSTIVE, sample

ENCRYPTED = [("tls12_aiokafka", "TLS 1.2"), ("tls13_kafkapython", "TLS 1.3")]
OFFLOADED_BYTES = 60_000
"""How large a recorder on the sending machine sees segments that its network card will cut."""
HEADERS_BYTES = 14 + 20 + 20
"""What Ethernet, IPv4 and TCP take of each packet."""


def read(path: Path) -> tuple[list[Exchange], list[Gap], list[Connection]]:
    """Return what a capture decodes to, by kind."""
    events = list(decode_capture([path]))
    return (
        [event for event in events if isinstance(event, Exchange)],
        [event for event in events if isinstance(event, Gap)],
        [event for event in events if isinstance(event, Connection)],
    )


def counted(exchanges: list[Exchange]) -> tuple[int, int, int]:
    """Return whole frames, partial frames and responses without their request."""
    unmatched = [each for each in exchanges if each.pairing is Status.UNMATCHED]
    frames = [
        frame
        for each in exchanges
        if each.pairing is not Status.UNMATCHED
        for frame in (each.request, each.response)
        if frame is not None
    ]
    whole = sum(frame.is_whole for frame in frames)
    return whole, len(frames) - whole, len(unmatched)


@pytest.mark.thorough
@for_each(
    ("make", "expected"),
    [pytest.param(make, expected, id=name) for name, (make, expected) in CASES.items()],
)
def test_a_hard_case_gives_what_can_be_known(
    make: Callable[[], Packets], expected: tuple[int, int, int, int], tmp_path: Path
) -> None:
    """Whole frames, partial frames, lone responses and connections are counted exactly."""
    exchanges, _, connections = read(write(make(), tmp_path / "case.pcap"))

    assert (*counted(exchanges), len(connections)) == expected
    assert {each.protocol for each in connections} == {Protocol.KAFKA}
    assert [each.number for each in sorted(exchanges, key=lambda each: each.number)] == list(
        range(1, len(exchanges) + 1)
    )


@pytest.mark.thorough
def test_duplicates_are_counted(tmp_path: Path) -> None:
    """Segments that were sent twice, or seen twice, brought nothing new the second time."""
    _, _, (sent,) = read(write(retransmitted(), tmp_path / "sent.pcap"))
    _, _, (seen,) = read(write(seen_twice(), tmp_path / "seen.pcap"))
    segments = 6 * -(-len(produce(100)) // MSS)

    assert sent.duplicates == segments
    assert seen.duplicates == segments + 6


@pytest.mark.thorough
@for_each("name", sample("carriers", [*WRAPPED], 9))
def test_what_carries_the_packets_changes_nothing(name: str, tmp_path: Path) -> None:
    """Link types, tunnels, fragments and file formats give the same twelve messages."""
    path = tmp_path / "case"
    path.write_bytes(WRAPPED[name]())
    exchanges, gaps, connections = read(path)

    assert (*counted(exchanges), len(connections)) == (12, 0, 0, 1)
    assert [each.correlation_id for each in exchanges] == [100, 101, 102, 103, 104, 105]
    assert gaps == []
    ends = {connections[0].client.rpartition(":")[0], connections[0].broker.rpartition(":")[0]}
    inside = {"[2001:db8::1]", "[2001:db8::2]"} if name == "IPv6" else {"10.0.0.1", "10.0.0.2"}
    assert ends == inside


@pytest.mark.thorough
@for_each(("options", "times"), [((), 1), (("--separate-networks",), 2)])
@for_each("tenants", sample("tenants", [*TENANTS], 2))
def test_tenants_with_the_same_addresses_are_told_apart_where_asked_for(
    tenants: str, options: tuple[str, ...], times: int, tmp_path: Path
) -> None:
    """Else the second packet of each pair is taken for a duplicate, as of a mirrored port."""
    capture = tmp_path / "tenants.pcap"
    capture.write_bytes(TENANTS[tenants]())
    alone = kdiag("decode", write(base(), tmp_path / "alone.pcap"), "-o", "jsonl").out
    done = kdiag("decode", capture, "-o", "jsonl", *options)

    count = alone.count('"kind":"exchange"')
    assert count > 0
    assert done.out.count('"kind":"exchange"') == times * count
    assert done.out.count('"kind":"connection"') == times
    assert done.code == 0


@pytest.mark.thorough
@pytest.mark.parametrize("snap_bytes", [200, 96])
def test_cut_packets_leave_partial_frames_at_the_right_places(
    snap_bytes: int, tmp_path: Path
) -> None:
    """All twelve messages are there; those that were cut keep their header and say they are cut."""
    exchanges, _, _ = read(write(base(), tmp_path / "cut.pcap", snap_bytes=snap_bytes))
    frames = [frame for each in exchanges for frame in (each.request, each.response) if frame]

    assert len(frames) == 12
    assert all(not each.request.is_whole for each in exchanges if each.request)
    assert [each.correlation_id for each in exchanges] == [100, 101, 102, 103, 104, 105]
    assert {each.client_id for each in exchanges} == {"producer-1"}
    assert all(each.latency_ns is not None for each in exchanges)


@pytest.mark.thorough
@pytest.mark.parametrize("snap_bytes", [200, 96])
def test_what_was_captured_of_cut_packets_is_decoded(snap_bytes: int, tmp_path: Path) -> None:
    """Topic, acks and the error code of the response are before the cut; what is not says so."""
    exchanges, gaps, _ = read(write(base(), tmp_path / "cut.pcap", snap_bytes=snap_bytes))

    for exchange in exchanges:
        dissection = Dissection(exchange)
        request, response = dissection.request, dissection.response
        assert request is not None
        assert response is not None
        assert (request.status, dissection.status) == (Status.PARTIAL, Status.PARTIAL)
        assert request.message.acks == 1
        assert dissection.topics == {"orders"}
        (partition,) = response.message.responses[0].partition_responses
        assert (partition.index, partition.error_code) == (0, 0)
        is_cut = snap_bytes < HEADERS_BYTES + len(produced(100))
        assert response.status is (Status.PARTIAL if is_cut else Status.OK)
        assert exchange.request is not None
        missing = exchange.request.gap_bytes
        assert request.why is not None
        assert request.why.reason.startswith(f"{missing} of {exchange.request.size} bytes")
        assert missing == len(produce(100)) - 3 * (snap_bytes - HEADERS_BYTES)
    assert all(gap.reason for gap in gaps)


def test_a_request_with_acks_0_is_flagged_and_has_no_latency(tmp_path: Path) -> None:
    """Nothing answers it; the others are answered."""
    exchanges, _, _ = read(write(unacknowledged_mixed(), tmp_path / "case.pcap"))
    found = {each.correlation_id: (each.pairing, each.latency_ns is None) for each in exchanges}

    assert found == {
        100: (Status.OK, False),
        101: (Status.NO_RESPONSE, True),
        102: (Status.OK, False),
    }


def test_bare_sasl_tokens_are_marked_and_kept_out_of_the_output(tmp_path: Path) -> None:
    """The password is in none of the documents, nor in the view of the bytes."""
    exchanges, _, _ = read(write(sasl_handshake_v0(), tmp_path / "case.pcap"))
    documents = Documents(TopicNames(), BodyForm(values=True))

    assert [each.pairing for each in exchanges].count(Status.OPAQUE) == 1
    for dissection in map(Dissection, exchanges):
        assert b"alice" not in DocumentEncoder().encode(documents.exchange(dissection))
        for side in dissection.sides:
            is_response = side is dissection.response
            assert "alice" not in str(view_side(dissection, side, is_response=is_response))


@pytest.mark.thorough
def test_one_side_alone_is_read(tmp_path: Path) -> None:
    """Requests without responses are unanswered, responses without requests are unmatched."""
    asked, _, _ = read(write(one_sided(base(), source_port=40_000), tmp_path / "asked.pcap"))
    told, _, _ = read(write(one_sided(base(), source_port=9092), tmp_path / "told.pcap"))

    assert Counter(each.pairing for each in asked) == {Status.UNANSWERED: 6}
    assert Counter(each.pairing for each in told) == {Status.UNMATCHED: 6}


CODECS = [
    ("none", ""),
    ("gzip", ""),
    ("snappy", "xerial"),
    ("snappy", "raw"),
    ("lz4", ""),
    ("zstd", ""),
    ("zstd", "sized"),
]


@pytest.mark.thorough
@for_each(("codec", "form"), CODECS)
def test_two_hundred_records_come_out_of_every_codec(codec: str, form: str, tmp_path: Path) -> None:
    """Each with its offset, key and value."""
    records = [Record(n, key=b"%d" % n, value=b"value of %d" % n) for n in range(200)]
    header = BatchHeader(compression=codec, compression_form=form)
    data = write_batch(records, header)
    exchanges, _, _ = read(write(one_batch(data), tmp_path / "case.pcap"))

    (dissection,) = map(Dissection, exchanges)
    assert dissection.request is not None
    ((batch,),) = (batches for batches in dissection.request.batches if batches)
    assert [(each.offset, each.key, each.value) for each in batch.records()] == [
        (each.offset, each.key, each.value) for each in records
    ]


@pytest.mark.thorough
@pytest.mark.sampled(2)
@pytest.mark.parametrize(("codec", "form"), CODECS)
def test_ten_megabytes_in_one_batch_come_out_whole(codec: str, form: str, tmp_path: Path) -> None:
    """A record of 10 MB crosses the wire in every codec and comes out as it was."""
    value = random.Random(codec).randbytes(1 << 20) * 10
    header = BatchHeader(compression=codec, compression_form=form)
    records = write_batch([Record(0, value=value)], header)
    packets = one_batch(records, mss=MSS if IS_EXHAUSTIVE else OFFLOADED_BYTES)
    exchanges, _, _ = read(write(packets, tmp_path / "big.pcap"))

    assert counted(exchanges) == (2, 0, 0)
    request = exchanges[0].request
    assert request is not None
    (batch,) = read_batches(request.data[-len(records) :]).batches
    assert batch.crc_ok
    assert batch.records()[0].value == value


@pytest.mark.parametrize(("name", "version"), ENCRYPTED)
def test_tls_is_named_without_keys_and_read_with_them(name: str, version: str) -> None:
    """Server name, version and bytes are told at least; with a key log every message is."""
    path = TLS_CAPTURES / f"{name}.pcap"
    closed, _, hidden = read(path)
    keylog = KeyLog.parse(path.with_suffix(".keylog").read_bytes())
    items = list(decode_capture([path], keylog=keylog))
    opened = [item for item in items if isinstance(item, Exchange)]

    assert closed == []
    told = {(each.protocol, each.tls_version, each.sni) for each in hidden}
    assert told == {(Protocol.TLS, version, "localhost")}
    assert all(each.request_bytes and each.response_bytes for each in hidden)
    assert len(opened) > 10
    assert {Dissection(each).status for each in opened} <= {Status.OK, Status.OPAQUE}
