import random
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.tcp.sorted_batch import (
    ACK,
    FIN,
    LEFT_OUT,
    NO_PAYLOAD,
    NONE_SEEN,
    RST,
    SYN,
    DirectionRows,
    FlowRows,
    SortedBatch,
)
from recordings.segment_tape import BROKER, CLIENT, START_NS, STEP_NS, Segment, Talk, batch_of


def sort(segments: list[Segment]) -> tuple[SortedBatch, list[FlowRows]]:
    """Return segments sorted, and the connections among them."""
    batch = SortedBatch(batch_of(segments))
    return batch, list(batch.flows())


def only_flow(segments: list[Segment]) -> tuple[SortedBatch, FlowRows]:
    """Return segments of one connection, sorted."""
    batch, (flow,) = sort(segments)
    return batch, flow


def sent_in(batch: SortedBatch, direction: DirectionRows) -> bytes:
    """Return the payloads of one direction."""
    return b"".join(
        batch.segments.piece(row).data for row in range(direction.first, direction.last)
    )


def dialogue(seed: int, client: int = CLIENT, *, rounds: int = 8) -> list[Segment]:
    """Return what two ends say in the middle of a connection, in order."""
    dice = random.Random(seed)
    talk = Talk(client, BROKER, (dice.choice([1000, 2**32 - 90]), 5000))
    for number in range(rounds):
        say = dice.choice([talk.ask, talk.tell])
        say(b"%d:" % number + dice.randbytes(dice.randrange(200)), dice.choice([20, 1460]))
        if dice.random() < 0.3:
            talk.send(dice.randrange(2))
    return talk.segments


@given(st.integers(0, 2**32))
def test_mixed_connections_are_told_apart(seed: int) -> None:
    """Each direction's payloads follow each other as they were sent, in one contiguous run."""
    dice = random.Random(seed)
    talks = [dialogue(seed + number, CLIENT + number * 3) for number in range(dice.randint(1, 4))]
    left, mixed = [list(talk) for talk in talks], []
    while any(left):
        mixed.append(dice.choice([talk for talk in left if talk]).pop(0))
    batch, flows = sort(mixed)

    assert [flow.low for flow in flows] == [CLIENT + number * 3 for number in range(len(talks))]
    for flow, talk in zip(flows, talks, strict=True):
        assert flow.is_plain
        for direction, end in zip(flow.directions, (flow.low, flow.high), strict=True):
            own = [segment for segment in talk if segment.source == end]
            assert sent_in(batch, direction) == b"".join(segment.payload for segment in own)
        packets = [row.packet for row in batch.rows(flow.first, flow.last)]
        assert [mixed[packet - 1] for packet in packets] == talk
        assert flow.last_ns == START_NS + packets[-1] * STEP_NS


def test_rows_say_what_each_packet_was() -> None:
    """Side 0 is the lower endpoint; sizes are those on the wire."""
    talk = Talk().ask(b"abcdef")
    talk.send(1)
    talk.segments[0] = talk.segments[0].cut(2)
    batch, flow = only_flow(talk.segments)
    first, second = batch.rows(flow.first, flow.last)

    assert (first.side, first.size, first.sequence, first.payload) == (0, 6, 1000, 0)
    assert (first.packet, first.time_ns) == (1, START_NS + STEP_NS)
    assert (second.side, second.size, second.acknowledgment) == (1, 0, 1006)
    assert (second.flags, second.payload) == (ACK, NO_PAYLOAD)
    piece = batch.segments.piece(0)
    assert (piece.data, piece.size) == (b"ab", 6)


def test_the_higher_endpoint_may_be_the_one_that_asks() -> None:
    """Which end is the client is no matter here."""
    batch, flow = only_flow(Talk(BROKER, CLIENT).ask(b"question").tell(b"answer").segments)

    assert (flow.low, flow.high) == (CLIENT, BROKER)
    assert [sent_in(batch, direction) for direction in flow.directions] == [b"answer", b"question"]


@pytest.mark.parametrize("flag", [SYN, FIN, RST])
def test_a_connection_that_begins_or_ends_needs_a_closer_look(flag: int) -> None:
    """So does no other one in the batch."""
    talk = Talk().ask(b"abc")
    talk.send(1, flags=flag | ACK)
    _, (ending, other) = sort(talk.segments + Talk(CLIENT + 1).ask(b"abc").segments)

    assert not ending.is_plain
    assert other.is_plain


def test_a_break_in_either_direction_needs_a_closer_look() -> None:
    """Payloads that are missing, swapped, cut or overlapping do not follow each other."""
    whole = Talk().ask(b"abcdef", 2).tell(b"uvwxyz", 2).segments
    first, second, third, *_ = whole

    assert only_flow(whole)[1].is_plain
    for broken in (
        [first, third],
        [second, first, third],
        [first, first._replace(payload=b"abc"), second],
        [whole[0], whole[3], whole[5]],
        [first.cut(1), second],
    ):
        assert not only_flow(broken)[1].is_plain


def test_numbers_that_wrap_around_are_no_break() -> None:
    """Sequence numbers count modulo 2**32."""
    talk = Talk(starts=(2**32 - 3, 2**32 - 5)).ask(b"abcdef", 2).tell(b"uvwxyz", 4)
    _, flow = only_flow(talk.segments)

    assert flow.is_plain
    assert [direction.sequence for direction in flow.directions] == [2**32 - 3, 2**32 - 5]
    assert [direction.acknowledged for direction in flow.directions] == [2**32 - 5, 3]


def test_packets_recorded_twice_are_left_out_and_counted() -> None:
    """A capture on several interfaces stays plain."""
    segments = [each for each in Talk().ask(b"abcdef", 3).tell(b"xyz").segments for _ in range(2)]
    batch, flow = only_flow(segments)

    assert flow.is_plain
    assert [direction.duplicates for direction in flow.directions] == [2, 1]
    assert [sent_in(batch, direction) for direction in flow.directions] == [b"abcdef", b"xyz"]
    payloads = [row.payload for row in batch.rows(flow.first, flow.last)]
    assert payloads == [0, LEFT_OUT, 1, LEFT_OUT, 2, LEFT_OUT]


def test_what_was_left_out_can_be_had_with_its_own_bytes() -> None:
    """Who has not read the first copy needs the second, and it may contradict the first."""
    first, copy = Talk().ask(b"abc").segments[0], Talk().ask(b"xyz").segments[0]
    batch, flow = only_flow([first, copy])
    kept, left_out = batch.rows(flow.first, flow.last)
    row, segments = batch.left_out(left_out)

    assert (kept.payload, left_out.payload, row.payload) == (0, LEFT_OUT, 0)
    assert segments.piece(row.payload).data == b"xyz"
    assert segments.packet == [left_out.packet]


def test_a_copy_of_an_odd_segment_is_as_odd() -> None:
    """It belongs to no run, for nothing tells where the first one went."""
    talk = Talk().ask(b"abc")
    odd = Talk(starts=(90_000, 5000)).ask(b"def").segments[0]
    batch, flow = only_flow([*talk.segments, odd, odd])

    assert batch.next_break(flow.first, flow.last) == flow.first + 1
    assert batch.next_break(flow.first + 2, flow.last) == flow.first + 2


def test_single_bytes_are_not_left_out() -> None:
    """They may be keep-alive probes, which are no duplicates."""
    segments = Talk().ask(b"a").segments * 2
    batch, flow = only_flow(segments)

    assert not flow.is_plain
    assert [row.payload for row in batch.rows(flow.first, flow.last)] == [0, 1]


def test_nothing_is_left_out_where_a_connection_begins_or_ends() -> None:
    """The first of two equal payloads may belong to the connection before."""
    talk = Talk().ask(b"abc")
    reopened = [*talk.segments, *Talk(starts=(999, 0)).open().ask(b"abc").segments]
    batch, flow = only_flow(reopened)

    assert LEFT_OUT not in [row.payload for row in batch.rows(flow.first, flow.last)]


def test_the_highest_acknowledgment_of_each_direction_counts() -> None:
    """Late packets repeat older ones, and a packet without the flag has none."""
    talk = Talk()
    for end, flags in ((1, ACK), (1, ACK), (1, ACK), (0, ACK), (0, 0)):
        talk.send(end, b"xy", flags)
    numbers = (2**32 - 10, 20, 2**32 - 5, 50, 77)
    _, flow = only_flow(
        [
            segment._replace(acknowledgment=number)
            for segment, number in zip(talk.segments, numbers, strict=True)
        ]
    )

    assert [direction.acknowledged for direction in flow.directions] == [50, 20]


def test_a_silent_direction_has_seen_nothing() -> None:
    """Where a capture has one side alone, the other has neither payload nor acknowledgment."""
    _, flow = only_flow(Talk().ask(b"abc").segments)

    silent = flow.directions[1]
    assert (silent.first, silent.duplicates, silent.acknowledged) == (silent.last, 0, NONE_SEEN)


def test_packets_without_payload_acknowledge_all_the_same() -> None:
    """Their direction has an empty run."""
    talk = Talk().ask(b"abc")
    talk.send(1)
    _, flow = only_flow(talk.segments)

    assert flow.is_plain
    assert flow.directions[1].first == flow.directions[1].last
    assert flow.directions[1].acknowledged == 1003


@given(st.integers(0, 2**32))
def test_plain_rows_between_breaks_are_runs_of_their_own(seed: int) -> None:
    """They are what the same packets in a batch of their own would be."""
    dice = random.Random(seed)
    before = Talk(CLIENT - 1).open().ask(b"of another connection").segments
    segments = Talk(starts=(7, 8)).open().segments
    segments += dialogue(seed)
    lost = dice.randrange(len(segments))
    del segments[lost]
    batch, flows = sort(before + segments)
    (flow,) = (flow for flow in flows if flow.low == CLIENT)
    first, covered = flow.first, 0
    while first < flow.last:
        last = batch.next_break(first, flow.last)
        if last > first:
            some = batch.contiguous_runs(flow, first, last)
            rows = list(batch.rows(first, last))
            assert some.last_ns == rows[-1].time_ns
            _check_alone(batch, some, [segments[row.packet - 1 - len(before)] for row in rows])
        covered += last - first
        first = last + 1

    assert covered < len(segments)
    assert batch.next_break(flow.last, flow.last) == flow.last


def _check_alone(batch: SortedBatch, some: FlowRows, segments: list[Segment]) -> None:
    """Check that a run is what its packets are alone."""
    alone, expected = only_flow(segments)
    assert expected.is_plain
    for direction, other in zip(some.directions, expected.directions, strict=True):
        assert sent_in(batch, direction) == sent_in(alone, other)
        assert direction.acknowledged == other.acknowledged
        if direction.first < direction.last:
            assert direction.sequence == other.sequence


def test_left_out_payloads_are_counted_in_the_run_that_has_them() -> None:
    """Each run counts its own."""
    segments = [each for each in Talk().ask(b"abcdefghi", 3).segments for _ in range(2)]
    segments.append(segments[0]._replace(sequence=2000))
    batch, flow = only_flow(segments)
    last = batch.next_break(flow.first, flow.last)
    directions = defaultdict(list)
    for start, stop in ((0, 3), (3, last)):
        for side, direction in enumerate(batch.contiguous_runs(flow, start, stop).directions):
            directions[side].append((sent_in(batch, direction), direction.duplicates))

    assert last == 6
    assert directions == {0: [(b"abcdef", 1), (b"ghi", 2)], 1: [(b"", 0), (b"", 0)]}


@pytest.mark.parametrize(
    ("step", "is_plain"), [(1 << 20, True), ((1 << 20) + 1, False), (-5, True)]
)
def test_an_acknowledgment_number_that_jumps_needs_a_closer_look(step: int, is_plain: bool) -> None:  # noqa: FBT001
    """It may be a stray's, and would hide the others of its direction."""
    talk = Talk().ask(b"abc").ask(b"def")
    last = talk.segments[-1]
    talk.segments[-1] = last._replace(acknowledgment=last.acknowledgment + step)
    batch, flow = only_flow(talk.segments)

    assert flow.is_plain is is_plain
    assert batch.next_break(flow.first, flow.last) == (flow.last if is_plain else flow.first + 1)


def test_the_largest_window_of_rows_is_told() -> None:
    """It says how far apart packets of a connection may be."""
    segments = Talk().ask(b"abc").tell(b"def").segments
    packets = batch_of(segments)
    batch = SortedBatch(packets._replace(window=np.array([7, 9], np.uint16)))
    (flow,) = batch.flows()

    assert flow.window == 9
    assert [row.window for row in batch.rows(flow.first, flow.last)] == [7, 9]
    assert batch.contiguous_runs(flow, flow.first, flow.first + 1).window == 7
