import pytest
import typer

from kdiag.diagnosis.latency.fetch_waits import FetchWait
from kdiag.probe.latency.plan import ACKS_ALL, RecordShape
from kdiag_cli.commands.latency.options import (
    LatencyOptions,
    check,
    header_value_bytes,
    read_acks,
    read_sweep,
    value_bytes,
)
from tiers.cases import for_each

MS = 1_000_000


def test_by_default_a_topic_of_its_own_is_written_and_read() -> None:
    """With each acks, a hundred requests a second."""
    options = LatencyOptions()
    assert (options.topic, options.writes) == (None, True)
    assert options.plan.acks == (0, 1, ACKS_ALL)
    assert options.plan.interval_ns == 10 * MS
    assert (options.plan.duration_ns, options.plan.warm_up_ns) == (15_000 * MS, 2_000 * MS)
    assert (options.plan.sweep, options.plan.max_bytes) == ((), 1 << 30)


def test_a_topic_that_is_named_is_only_read_unless_it_may_be_written() -> None:
    """It is somebody else's."""
    assert not LatencyOptions(topic="orders").writes
    assert not LatencyOptions(topic="orders", reads_only=True).writes
    assert LatencyOptions(topic="orders", writes_to_topic=True).writes


@for_each(
    ("options", "option"),
    [
        (LatencyOptions(reads_only=True), "--read-only"),
        (LatencyOptions(writes_to_topic=True), "--write-to-topic"),
        (LatencyOptions("orders", writes_to_topic=True, reads_only=True), "--read-only"),
        (LatencyOptions(interval_ns=199_999), "--rate"),
        (LatencyOptions(records=RecordShape(value_bytes=1 << 30)), "--size"),
    ],
)
def test_what_goes_too_far_or_contradicts_itself_is_named(
    options: LatencyOptions, option: str
) -> None:
    """By its option."""
    with pytest.raises(typer.BadParameter) as caught:
        check(options)
    assert caught.value.param_hint == f"'{option}'"
    check(LatencyOptions(interval_ns=200_000))


def test_a_number_of_records_takes_the_place_of_the_duration() -> None:
    """As Kafka's own tool has it; the last request may be full as well."""
    shape = RecordShape(batch_records=4)
    assert LatencyOptions(record_count=1000).plan.duration_ns == 10_000 * MS
    assert LatencyOptions(record_count=1001, records=shape).plan.duration_ns == 2510 * MS


def test_settings_of_fetches_are_combined() -> None:
    """Naming some asks for the comparison."""
    waits = [FetchWait(1, 0), FetchWait(1, 500), FetchWait(65_536, 0), FetchWait(65_536, 500)]
    assert read_sweep("1, 64K,1", "0,500ms,0.5s", is_sweep=False) == waits
    assert len(read_sweep(None, None, is_sweep=True)) == 9
    assert len(read_sweep(None, "0", is_sweep=False)) == 3
    assert read_sweep(None, None, is_sweep=False) == []


def test_waits_without_a_unit_are_milliseconds() -> None:
    """`fetch.max.wait.ms` says so, in whose place the option stands."""
    assert read_sweep("1", "0,500", is_sweep=False) == read_sweep("1", "0,500ms", is_sweep=False)


@for_each(
    ("min_bytes", "max_wait", "option"),
    [
        ("1,x", None, "--min-bytes"),
        ("3G", None, "--min-bytes"),
        (None, "3000000000", "--max-wait"),
        (None, "1.5", "--max-wait"),
        (None, "soon", "--max-wait"),
    ],
)
def test_settings_that_no_fetch_can_have_are_refused(
    min_bytes: str | None, max_wait: str | None, option: str
) -> None:
    """By their option."""
    with pytest.raises(typer.BadParameter) as caught:
        read_sweep(min_bytes, max_wait, is_sweep=False)
    assert caught.value.param_hint == f"'{option}'"


def test_acks_are_read_once_each() -> None:
    """-1 is how the protocol says `all`."""
    assert read_acks("all, 1,-1") == (ACKS_ALL, 1)
    with pytest.raises(typer.BadParameter, match="'2' is not one of 0, 1 and all"):
        read_acks("0,2")


def test_sizes_of_records_have_their_bounds() -> None:
    """A value says who wrote it; a header's value may be null."""
    assert value_bytes("1K") == 1024
    with pytest.raises(typer.BadParameter, match="less than 16 bytes"):
        value_bytes("15")
    assert (header_value_bytes("-1"), header_value_bytes("2K")) == (-1, 2048)
    with pytest.raises(typer.BadParameter, match="is not a size"):
        header_value_bytes("-2")
