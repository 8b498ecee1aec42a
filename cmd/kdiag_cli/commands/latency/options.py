"""The options of `kdiag latency`, validated, and the plan that they amount to."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import typer

from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.latency.fetch_waits import FetchWait
from kdiag.exchange.line.quantities import parse_duration_ns, parse_size_bytes
from kdiag.findings.rule import Severity
from kdiag.probe.latency.plan import ACKS_ALL, LEAST_RECORD_BYTES, LatencyPlan, RecordShape
from kdiag_cli.options.live import check_topic
from kdiag_cli.options.quantities import size_bytes, usage_errors
from kdiag_cli.options.results import require_folder

_ACKS: Final = {"0": 0, "1": 1, "all": ACKS_ALL, "-1": ACKS_ALL}
_MOST_PER_S: Final = 5_000
_MIN_BYTES: Final = "1,1024,102400"
_MAX_WAIT: Final = "0,100ms,500ms"
_MOST: Final = (1 << 31) - 1
_MOST_RECORD_BYTES: Final = 64 << 20
_DEFAULTS: Final = LatencyPlan()
_NULL: Final = -1


class LatencyOptions(NamedTuple):
    """The options of `kdiag latency`, validated.

    Attributes:
        topic: the topic that is there already; None for one of kdiag's own.
        writes_to_topic: whether that topic may be written to.
        reads_only: whether nothing may be made or written.
        brokers: those to measure; none for all.
        acks: which take turns, where anything is written.
        interval_ns: between one request and the next.
        duration_ns: how long requests are due.
        record_count: how many records, in place of the duration; None to go by that.
        warm_up_ns: how long requests are due before that, which do not count.
        records: what is written.
        is_end_to_end: whether what is written is read as well.
        sweep: the settings of fetches to compare; none for no comparison.
        max_bytes: how much is moved at the most.
        html: the page to write as well.
        fail_on: the least severity of a finding that makes the exit code 1.
        has_headers: whether tables have a line of column names.
    """

    topic: str | None = None
    writes_to_topic: bool = False
    reads_only: bool = False
    brokers: Sequence[int] = ()
    acks: Sequence[int] = _DEFAULTS.acks
    interval_ns: int = _DEFAULTS.interval_ns
    duration_ns: int = _DEFAULTS.duration_ns
    record_count: int | None = None
    warm_up_ns: int = _DEFAULTS.warm_up_ns
    records: RecordShape = _DEFAULTS.records
    is_end_to_end: bool = True
    sweep: Sequence[FetchWait] = ()
    max_bytes: int = _DEFAULTS.max_bytes
    html: Path | None = None
    fail_on: Severity = Severity.ERROR
    has_headers: bool = True

    @property
    def writes(self) -> bool:
        """Return whether anything is written."""
        return self.topic is None or self.writes_to_topic

    @property
    def plan(self) -> LatencyPlan:
        """Return what is measured."""
        duration_ns = self.duration_ns
        if self.record_count is not None:
            duration_ns = self.interval_ns * -(-self.record_count // self.records.batch_records)
        return LatencyPlan(
            acks=self.acks if self.writes else (),
            interval_ns=self.interval_ns,
            duration_ns=duration_ns,
            warm_up_ns=self.warm_up_ns,
            records=self.records,
            is_end_to_end=self.is_end_to_end,
            sweep=self.sweep,
            max_bytes=self.max_bytes,
        )


def check(options: LatencyOptions) -> None:
    """Refuse what contradicts itself, or what no broker can be asked for.

    Raises:
        typer.BadParameter: with the option that is wrong.
    """
    require_folder(options.html, "--html")
    if options.reads_only and options.topic is None:
        why = "name the topic to fetch from with --topic"
        raise typer.BadParameter(why, param_hint="'--read-only'")
    check_topic(
        options.topic, reads_only=options.reads_only, writes_to_topic=options.writes_to_topic
    )
    if options.interval_ns * _MOST_PER_S < NS_PER_S:
        why = f"more than {_MOST_PER_S}/s cannot be kept up"
        raise typer.BadParameter(why, param_hint="'--rate'")
    _check_records(options.records)


def read_acks(text: str) -> tuple[int, ...]:
    """Return acks such as `0,1,all`, each once.

    Raises:
        typer.BadParameter: if one is something else.
    """
    words = [each.strip().lower() for each in text.split(",")]
    wrong = next((each for each in words if each not in _ACKS), None)
    if wrong is not None:
        why = f"{wrong!r} is not one of 0, 1 and all"
        raise typer.BadParameter(why, param_hint="'--acks'")
    return tuple(dict.fromkeys(_ACKS[each] for each in words))


def read_sweep(min_bytes: str | None, max_wait: str | None, *, is_sweep: bool) -> list[FetchWait]:
    """Return the settings of fetches to compare; giving some of them asks for it.

    Raises:
        typer.BadParameter: if a setting does not fit the protocol.
    """
    if not (is_sweep or min_bytes or max_wait):
        return []
    return [FetchWait(*each) for each in product(_sizes(min_bytes), _waits_ms(max_wait))]


def _sizes(text: str | None) -> list[int]:
    with usage_errors("--min-bytes"):
        return _distinct([parse_size_bytes(each) for each in (text or _MIN_BYTES).split(",")])


def _waits_ms(text: str | None) -> list[int]:
    """Return waits in milliseconds, which is also what a number without a unit means."""
    with usage_errors("--max-wait"):
        waits_ns = [parse_duration_ns(each, bare="ms") for each in (text or _MAX_WAIT).split(",")]
        if any(each % NS_PER_MS for each in waits_ns):
            raise ValueError("brokers wait whole milliseconds")
        return _distinct([each // NS_PER_MS for each in waits_ns])


def _distinct(numbers: list[int]) -> list[int]:
    if max(numbers) > _MOST:
        raise ValueError(f"{max(numbers)} does not fit the protocol: {_MOST} at the most")
    return list(dict.fromkeys(numbers))


def value_bytes(given: str | int) -> int:
    """Parse the size of a record's value, which says at least who wrote it."""
    size = size_bytes(given)
    if size < LEAST_RECORD_BYTES:
        raise typer.BadParameter(f"{given!r} is less than {LEAST_RECORD_BYTES} bytes")
    return size


def header_value_bytes(given: str | int) -> int:
    """Parse the size of a header's value, or -1 for null."""
    return _NULL if str(given).strip() == str(_NULL) else size_bytes(given)


def _check_records(shape: RecordShape) -> None:
    """Refuse batches that no broker takes, before memory is reserved for them."""
    headers = shape.headers * (shape.header_key_bytes + max(0, shape.header_value_bytes))
    size = shape.batch_records * (shape.value_bytes + shape.key_bytes + headers)
    if size > _MOST_RECORD_BYTES:
        why = f"requests of {size} bytes are too large: {_MOST_RECORD_BYTES} at the most"
        raise typer.BadParameter(why, param_hint="'--size'")
