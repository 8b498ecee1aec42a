from folders import CAPTURES
from kdiag.pcap.files.window import open_window
from kdiag.pcap.reader import CaptureReader, read_blocks
from kdiag.pipeline.rows.packets import PacketRows
from kdiag.pipeline.rows.partitioner import (
    Weights,
    WeightSampler,
    partition_by_weight,
    partition_evenly,
)


def test_two_heavy_connections_come_into_two_parts() -> None:
    """What is light goes to where they are not."""
    partitioner = partition_by_weight(
        3, [Weights({b"a": 30, b"b": 40}, 80), Weights({b"a": 15}, 20)]
    )
    a, b = partitioner.part_of(b"a"), partitioner.part_of(b"b")

    assert a != b
    others = {partitioner.part_of(str(number).encode()) for number in range(1000)}
    assert others == {0, 1, 2} - {a, b}


def test_one_that_has_nearly_everything_has_a_part_for_itself() -> None:
    """However much that is; the others share what is left."""
    partitioner = partition_by_weight(4, [Weights({b"a": 90}, 100)])
    parts = [partitioner.part_of(str(number).encode()) for number in range(3000)]
    counts = [parts.count(part) for part in range(4) if part != partitioner.part_of(b"a")]

    assert sum(counts) == 3000
    assert max(counts) < 1.2 * min(counts)


def test_parts_of_what_is_unknown_are_the_same_in_all_batches() -> None:
    """A key alone decides."""
    assert partition_evenly(5) == partition_evenly(5)
    assert {partition_evenly(5).part_of(bytes([key])) for key in range(50)} == set(range(5))
    assert set(partition_by_weight(5, []).slots) == set(range(5))


def test_connections_weigh_what_their_packets_have() -> None:
    """Both directions together, by the key that rows have."""
    file = CAPTURES / "acks.pcap"
    sampler = WeightSampler()
    with open_window(file) as window:
        for block in read_blocks(window, []):
            sampler.add(block)
    reader = CaptureReader([file])
    (segments,) = reader.read_segments()
    keys, _ = PacketRows(reader.addresses).keys(segments)
    weights = sampler.weights

    assert set(weights.heaviest) == set(keys)
    payload_bytes = int(segments.payload_bytes.sum())
    assert weights.total == sum(weights.heaviest.values())
    assert weights.total == payload_bytes + 1000 * len(segments.packet)


def test_parts_that_hold_heavy_connections_alone_count_too() -> None:
    """There are as many as were asked for, though no slot may be in some of them."""
    partitioner = partition_by_weight(3, [Weights({b"a": 50, b"b": 49, b"c": 1}, 100)])

    assert partitioner.parts == 3
    assert {partitioner.part_of(key) for key in (b"a", b"b")} | {*partitioner.slots} == {0, 1, 2}
