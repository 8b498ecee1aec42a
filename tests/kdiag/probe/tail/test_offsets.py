"""Where each partition starts and stops; `test_tail` reads from there."""

from kdiag.client.fetch.position import OPEN_END, PartitionKey
from kdiag.probe.tail.offset_spec import At, OffsetSpec, Position
from kdiag.probe.tail.offsets import StartAndStop, find_offsets
from scripted_kafka.log_cluster import LogCluster

KEY = PartitionKey("orders", 0)
S_MS = 1000


def found(
    spec: OffsetSpec, *, own: Position | None = None, stops_at_end: bool = False
) -> StartAndStop:
    """Return the offsets of a log that holds 5 to 8."""
    with LogCluster(1) as cluster:
        log = cluster.add("orders", 0)
        log.append(*[b"x"] * 9, timestamp=100)
        log.start = 5
        with cluster.client() as client:
            offsets = find_offsets(
                client,
                client.refresh(["orders"]),
                {KEY: own},
                spec,
                is_committed_only=True,
                stops_at_end=stops_at_end,
            )
    return offsets[KEY]


def test_without_a_word_it_is_everything_and_no_end() -> None:
    """The beginning is the oldest that is left."""
    assert found(OffsetSpec()) == StartAndStop(5, 5, OPEN_END, end=9, high_watermark=9)


def test_a_number_is_kept_to_be_checked_later() -> None:
    """It may lie where nothing is any more; a partition's own counts more."""
    asked = OffsetSpec(Position(At.OFFSET, 2), Position(At.OFFSET, 7))
    assert found(asked) == StartAndStop(5, 2, 7, 2, 9, 9)
    assert found(asked, own=Position(At.OFFSET, 6)) == StartAndStop(5, 6, 7, 6, 9, 9)


def test_the_end_is_never_passed_by_who_stops_there() -> None:
    """A stop beyond it is cut."""
    assert found(OffsetSpec(stop=Position(At.OFFSET, 99)), stops_at_end=True).stop == 9
    assert found(OffsetSpec(stop=Position(At.END))).stop == 9


def test_a_time_to_come_has_no_offset_yet() -> None:
    """A time that is past and newer than every record stops at the end."""
    past, future = Position(At.TIMESTAMP, S_MS), Position(At.TIMESTAMP, 1 << 50)
    assert found(OffsetSpec(stop=past)).stop == 9
    assert found(OffsetSpec(stop=future)).stop == OPEN_END
    assert found(OffsetSpec(stop=Position(At.TIMESTAMP, 103))).stop == 3
