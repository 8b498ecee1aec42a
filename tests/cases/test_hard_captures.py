"""What TCP, recorders and clients do to a connection, and what must come out all the same."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from hard_captures import (
    CASES,
    MSS,
    Packets,
    base,
    one_batch,
    one_sided,
    produce,
    retransmitted,
    write,
)
from kdiag.pcap.decoder import decode_capture
from kdiag.wire.connection import Connection, Gap, Protocol
from kdiag.wire.exchange import Exchange, Status
from kdiag.wire.records import BatchHeader, Record, read_batches, write_batch


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


@pytest.mark.parametrize(
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


def test_duplicates_are_counted(tmp_path: Path) -> None:
    """Every segment of the client was sent twice, so half of them brought nothing new."""
    _, _, (connection,) = read(write(retransmitted(), tmp_path / "case.pcap"))

    assert connection.duplicates == 6 * -(-len(produce(100)) // MSS)


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


def test_one_side_alone_is_read(tmp_path: Path) -> None:
    """Requests without responses are unanswered, responses without requests are unmatched."""
    asked, _, _ = read(write(one_sided(base(), source_port=40_000), tmp_path / "asked.pcap"))
    told, _, _ = read(write(one_sided(base(), source_port=9092), tmp_path / "told.pcap"))

    assert Counter(each.pairing for each in asked) == {Status.UNANSWERED: 6}
    assert Counter(each.pairing for each in told) == {Status.UNMATCHED: 6}


@pytest.mark.parametrize(
    ("codec", "form"),
    [
        ("none", ""),
        ("gzip", ""),
        ("snappy", "xerial"),
        ("snappy", "raw"),
        ("lz4", ""),
        ("zstd", ""),
        ("zstd", "sized"),
    ],
)
def test_ten_megabytes_in_one_batch_come_out_whole(codec: str, form: str, tmp_path: Path) -> None:
    """A record of 10 MB crosses the wire in every codec and comes out as it was."""
    value = random.Random(codec).randbytes(1 << 20) * 10
    header = BatchHeader(compression=codec, compression_form=form)
    records = write_batch([Record(0, value=value)], header)
    exchanges, _, _ = read(write(one_batch(records), tmp_path / "big.pcap"))

    assert counted(exchanges) == (2, 0, 0)
    request = exchanges[0].request
    assert request is not None
    (batch,) = read_batches(request.data[-len(records) :]).batches
    assert batch.crc_ok
    assert batch.records()[0].value == value
