import gc
import pickle
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from kdiag.pipeline.input.segment_timestamps import SegmentTimestamps
from kdiag.pipeline.input.split import Split, Walk, in_order
from kdiag.pipeline.input.split_index import CaptureUris, SplitIndex, shared_index
from kdiag.pipeline.input.split_packets import BundleWork, bundle_groups, split_groups
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.staging import Staged, StagedPiece
from kdiag.pipeline.rows.partitioner import Weights, partition_by_weight
from kdiag.pipeline.shared import Shared, share
from kdiag.pipeline.stages import Chunks, decode_part, tabulate_chunk

MINUTE_NS = 60_000_000_000
PREAMBLE = b"\xd4\xc3\xb2\xa1" + bytes(20)


def splits_of(count: int, split_bytes: int = 64 << 20) -> list[Split]:
    """Return the splits of made-up captures, four in each file, one minute in each."""
    return [
        Split(
            f"s3://bucket/captures/host-{number // 4}.pcap",
            number % 4 * split_bytes,
            (number % 4 + 1) * split_bytes,
            PREAMBLE,
            1 + number * 1000,
            1000,
            number * MINUTE_NS,
            (number + 1) * MINUTE_NS - 1,
        )
        for number in range(count)
    ]


def seconds(work: Callable[[], Any]) -> float:
    """Return the least CPU time of three runs, without Python's collector."""
    times = []
    gc.disable()
    try:
        for _ in range(3):
            began = time.process_time()
            work()
            times.append(time.process_time() - began)
    finally:
        gc.enable()
    return min(times)


def check_growth(work: Callable[[int], Callable[[], Any]]) -> None:
    """Check that four times the splits take about four times as long, not sixteen times."""
    few, many = (seconds(work(count)) for count in (5_000, 20_000))
    assert many < 10 * few + 0.02


def sent(function: Any) -> int:
    """Return how many bytes Spark sends of a function to a task."""
    return len(cloudpickle.dumps(function))  # type: ignore[no-untyped-call]


@pytest.mark.bench
@pytest.mark.parametrize("split_bytes", [64 << 20, 5_000])
def test_planning_grows_with_the_splits(split_bytes: int) -> None:
    """Files of megabytes, and tiny ones of which many follow within the reach of a datagram."""
    check_growth(lambda count: partial(plan, splits_of(count, split_bytes)))


def plan(splits: list[Split]) -> int:
    """Divide splits into tasks, as the driver does; return how many bytes go to them."""
    return sum(len(pickle.dumps(group)) for group in split_groups(splits, tasks=len(splits)))


@pytest.mark.bench
def test_putting_files_in_order_grows_with_them() -> None:
    """They are numbered through."""

    def order(count: int) -> Callable[[], Any]:
        splits = [each._replace(first_packet=1) for each in splits_of(count)]
        walks = [Walk(each.uri, each.first_ns, [each], "", [], Weights()) for each in splits]
        return partial(in_order, walks)

    check_growth(order)


@pytest.mark.bench
def test_dividing_connections_grows_with_the_parts() -> None:
    """There is a part for each two splits."""
    heaviest = {bytes([number]): 1000 for number in range(200)}
    check_growth(
        lambda count: partial(partition_by_weight, count // 2, [Weights(heaviest, 10**9)] * 20)
    )


def test_a_packet_is_in_the_capture_of_its_split() -> None:
    """By the name that the log of runs has; what no split has is in none."""
    index = SplitIndex(splits_of(6))

    assert [index.capture_of(packet) for packet in (0, 1, 4000, 4001, 6000, 6001)] == [
        None,
        "s3://bucket/captures/host-0.pcap",
        "s3://bucket/captures/host-0.pcap",
        "s3://bucket/captures/host-1.pcap",
        "s3://bucket/captures/host-1.pcap",
        None,
    ]
    assert SplitIndex([]).capture_of(1) is None


def test_a_packet_lags_as_much_as_its_split_says() -> None:
    """One that is in none does not lag."""
    index = SplitIndex([each._replace(lag_ns=each.first_packet) for each in splits_of(3)])

    assert [index.lag_ns(packet) for packet in (1, 1000, 1001, 3000, 3001)] == [1, 1, 1001, 2001, 0]


@pytest.mark.thorough
def test_what_a_task_is_sent_does_not_grow_at_all(tmp_path: Path) -> None:
    """Neither splits, nor files, nor parts, nor chunks, nor names travel with a task."""
    sizes = []
    for count in (1_000, 20_000):
        folder = str(tmp_path)
        splits = splits_of(count)
        uris = tuple({each.uri for each in splits})
        shared = share(folder, splits, list[Split])
        job = Job(uris, folder, topic_names=(("id", "name"),)).on(shared)
        partitioner = partition_by_weight(count // 2, [Weights({}, 1)])
        groups = [*split_groups(splits, tasks=count)]
        bundling = share(folder, BundleWork(groups, partitioner), BundleWork)
        staged = [Staged("frames", part, f"{folder}/{part}", 1, 1, 1) for part in range(count // 2)]
        names = {f"id-{number}": b"n" for number in range(count)}
        work = Chunks([StagedPiece(each, 0, 1) for each in staged], names, {})
        functions = (
            partial(bundle_groups, shared, job.reading, bundling),
            partial(decode_part, job, shared, count // 2),
            partial(tabulate_chunk, job, share(folder, work, Chunks), 2),
        )
        sizes.append([sent(each) for each in functions])

    small, large = sizes
    assert all(abs(one - other) < 50 for one, other in zip(small, large, strict=True))
    assert max(large) < 10_000


@pytest.mark.bench
def test_a_lookup_does_not_walk_through_all_splits() -> None:
    """The first split that is late enough is found, though 100,000 before it are not."""
    splits = splits_of(100_000)
    index = SplitIndex(splits)
    last = splits[-1]

    assert next(index.later(1, 0)) == 0
    assert next(index.later(1_000, 0)) == 1
    assert list(index.later(0, last.first_ns)) == [99_999]
    assert list(index.later(last.first_packet + last.packets, 0)) == []
    assert list(index.later(0, last.last_ns)) == []
    assert seconds(lambda: [list(index.later(0, last.first_ns)) for _ in range(100)]) < 1


@pytest.mark.thorough
def test_a_later_split_is_any_with_a_later_time() -> None:
    """Hosts' captures follow each other though their times overlap."""
    splits = [
        each._replace(last_ns=(number * 7919 % 1000)) for number, each in enumerate(splits_of(1000))
    ]
    index = SplitIndex(splits)

    for packet, time_ns in ((0, 500), (123_456, 990), (999_000, 0), (600_001, 998)):
        assert list(index.later(packet, time_ns)) == [
            number
            for number, each in enumerate(splits)
            if each.first_packet + each.packets - 1 > packet and each.last_ns > time_ns
        ]


def test_tasks_in_one_process_read_shared_splits_once(tmp_path: Path) -> None:
    """And not before a connection needs them."""
    SegmentTimestamps(Shared("/there/is/no/such/file", list[Split]))
    shared = share(str(tmp_path), splits_of(100), list[Split])
    uris = CaptureUris(shared)

    assert uris[3] == "s3://bucket/captures/host-3.pcap"
    assert uris[1:3] == ["s3://bucket/captures/host-1.pcap", "s3://bucket/captures/host-2.pcap"]
    assert len(uris) == 25
    assert shared_index(shared) is shared_index(type(shared)(shared.uri, list[Split]))


def test_no_splits_have_an_index_too() -> None:
    """A stream that is closed before its first batch has none."""
    assert list(SplitIndex([]).later(0, 0)) == []
