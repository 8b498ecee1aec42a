from typing import Any

import pytest
import typer

from kdiag.diagnosis.latency.fetch_waits import FetchWait
from kdiag.probe.latency.plan import ACKS_ALL, RecordShape
from kdiag_cli.commands.latency.options import (
    Choice,
    Said,
    choose,
    read_acks,
    read_interval_ns,
    read_numbers,
    read_warm_up_ns,
)

MS = 1_000_000
DEFAULTS = Said(
    topic=None,
    writes_to_topic=False,
    reads_only=False,
    brokers=(),
    acks="0,1,all",
    rate="100/s",
    duration="15s",
    record_count=None,
    warm_up="2s",
    records=RecordShape(),
    is_end_to_end=True,
    is_sweep=False,
    min_bytes=None,
    max_wait=None,
    max_bytes="1G",
)


def chosen(**changes: Any) -> Choice:
    """Return what the defaults with other options mean."""
    return choose(DEFAULTS._replace(**changes))


def test_by_default_a_topic_of_its_own_is_written_and_read() -> None:
    """With each acks, a hundred requests a second."""
    choice = chosen()
    assert (choice.topic, choice.writes) == (None, True)
    assert choice.plan.acks == (0, 1, ACKS_ALL)
    assert choice.plan.interval_ns == 10 * MS
    assert (choice.plan.duration_ns, choice.plan.warm_up_ns) == (15_000 * MS, 2_000 * MS)
    assert (choice.plan.sweep, choice.plan.max_bytes) == ([], 1 << 30)


def test_a_topic_that_is_named_is_only_read_unless_it_may_be_written() -> None:
    """It is somebody else's."""
    assert not chosen(topic="orders").writes
    assert not chosen(topic="orders", reads_only=True).writes
    assert chosen(topic="orders", writes_to_topic=True).writes


@pytest.mark.parametrize(
    ("changes", "option"),
    [
        ({"reads_only": True}, "--read-only"),
        ({"writes_to_topic": True}, "--write-to-topic"),
        ({"topic": "orders", "writes_to_topic": True, "reads_only": True}, "--read-only"),
        ({"acks": "2"}, "--acks"),
        ({"rate": "0"}, "--rate"),
        ({"rate": "fast"}, "--rate"),
        ({"rate": "99999/s"}, "--rate"),
        ({"duration": "0"}, "--duration"),
        ({"warm_up": "soon"}, "--warm-up"),
        ({"min_bytes": "1,x"}, "--min-bytes"),
        ({"max_wait": "3000000000"}, "--max-wait"),
        ({"max_bytes": "all"}, "--max-bytes"),
        ({"records": RecordShape(value_bytes=1 << 30)}, "--size"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], option: str) -> None:
    """By its option."""
    with pytest.raises(typer.BadParameter) as caught:
        chosen(**changes)
    assert caught.value.param_hint == f"'{option}'"


def test_a_number_of_records_takes_the_place_of_the_duration() -> None:
    """As Kafka's own tool has it; the last request may be full as well."""
    shape = RecordShape(batch_records=4)
    assert chosen(record_count=1000).plan.duration_ns == 10_000 * MS
    assert chosen(record_count=1001, records=shape).plan.duration_ns == 2510 * MS


def test_settings_of_fetches_are_combined() -> None:
    """Naming some asks for the comparison."""
    waits = [FetchWait(1, 0), FetchWait(1, 500), FetchWait(64, 0), FetchWait(64, 500)]
    assert chosen(min_bytes="1,64", max_wait="0,500").plan.sweep == waits
    assert len(chosen(is_sweep=True).plan.sweep) == 9
    assert len(chosen(max_wait="0").plan.sweep) == 3


def test_values_are_read_as_people_write_them() -> None:
    """With and without units and spaces, each once."""
    assert read_acks("all, 1,-1") == (ACKS_ALL, 1)
    assert read_interval_ns("200") == read_interval_ns("200 / s") == 5 * MS
    assert read_interval_ns("0.5/s") == 2000 * MS
    assert read_warm_up_ns("0") == read_warm_up_ns("0s") == 0
    assert read_warm_up_ns("500ms") == 500 * MS
    assert read_numbers("5, 5,7", "--x") == [5, 7]
