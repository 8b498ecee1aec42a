"""The options of `kdiag latency`, checked and turned into a plan."""

import re
from collections.abc import Sequence
from itertools import product
from typing import Final, NamedTuple

import typer

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.latency.fetch_waits import FetchWait
from kdiag.probe.latency.plan import ACKS_ALL, LatencyPlan, RecordShape
from kdiag_cli.commands.decode.options import read_size
from kdiag_cli.options.live import check_topic, read_timeout_ns

_ACKS: Final = {"0": 0, "1": 1, "all": ACKS_ALL, "-1": ACKS_ALL}
_RATE: Final = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)\s*(?:/\s*s(?:ec)?)?", re.IGNORECASE)
_MOST_PER_S: Final = 5_000
_NONE: Final = re.compile(r"0+\s*(?:ms|s|m|h|)", re.IGNORECASE)
_MIN_BYTES: Final = "1,1024,102400"
_MAX_WAIT_MS: Final = "0,100,500"
_MOST: Final = (1 << 31) - 1
_MOST_RECORD_BYTES: Final = 64 << 20


class Said(NamedTuple):
    """What the options said, as they were given."""

    topic: str | None
    writes_to_topic: bool
    reads_only: bool
    brokers: Sequence[int]
    acks: str
    rate: str
    duration: str
    record_count: int | None
    warm_up: str
    records: RecordShape
    is_end_to_end: bool
    is_sweep: bool
    min_bytes: str | None
    max_wait: str | None
    max_bytes: str


class Choice(NamedTuple):
    """What is measured.

    Attributes:
        topic: the topic that is there already; None for one of kdiag's own.
        brokers: those to measure; none for all.
        plan: the rest.
    """

    topic: str | None
    brokers: Sequence[int]
    plan: LatencyPlan

    @property
    def writes(self) -> bool:
        """Return whether anything is written."""
        return bool(self.plan.acks)


def choose(said: Said) -> Choice:
    """Return what the options mean.

    Raises:
        typer.BadParameter: if one is wrong, or contradicts another.
    """
    _check_topic(said)
    _check_size(said.records)
    writes = said.topic is None or said.writes_to_topic
    interval_ns = read_interval_ns(said.rate)
    duration_ns = read_timeout_ns(said.duration, "--duration") or 0
    if said.record_count is not None:
        duration_ns = interval_ns * -(-said.record_count // said.records.batch_records)
    plan = LatencyPlan(
        acks=read_acks(said.acks) if writes else (),
        interval_ns=interval_ns,
        duration_ns=duration_ns,
        warm_up_ns=read_warm_up_ns(said.warm_up),
        records=said.records,
        is_end_to_end=said.is_end_to_end,
        sweep=_sweep(said),
        max_bytes=read_size(said.max_bytes, "'--max-bytes'"),
    )
    return Choice(said.topic, said.brokers, plan)


def read_acks(text: str) -> tuple[int, ...]:
    """Return acks such as `0,1,all`, each once.

    Raises:
        typer.BadParameter: if one is none.
    """
    words = [each.strip().lower() for each in text.split(",")]
    wrong = next((each for each in words if each not in _ACKS), None)
    if wrong is not None:
        why = f"{wrong!r} is none of 0, 1 and all"
        raise typer.BadParameter(why, param_hint="'--acks'")
    return tuple(dict.fromkeys(_ACKS[each] for each in words))


def read_interval_ns(text: str) -> int:
    """Return the time between two requests, from a rate such as `100/s`.

    Raises:
        typer.BadParameter: if it is none, or too high.
    """
    match = _RATE.fullmatch(text.strip())
    per_s = float(match[1]) if match else 0.0
    if not 0 < per_s <= _MOST_PER_S:
        why = f"{text!r} is no rate up to {_MOST_PER_S}/s: give one such as 100/s"
        raise typer.BadParameter(why, param_hint="'--rate'")
    return round(NS_PER_S / per_s)


def read_warm_up_ns(text: str) -> int:
    """Return a time such as `2s`, which may be 0.

    Raises:
        typer.BadParameter: if it is none.
    """
    if _NONE.fullmatch(text.strip()):
        return 0
    return read_timeout_ns(text, "--warm-up") or 0


def read_numbers(text: str, option: str) -> list[int]:
    """Return numbers such as `1,1024`, each once.

    Raises:
        typer.BadParameter: if one is none, or does not fit the protocol.
    """
    words = [each.strip() for each in text.split(",")]
    for word in words:
        if not (word.isascii() and word.isdecimal()) or int(word) > _MOST:
            why = f"{word!r} is no number from 0 to {_MOST}"
            raise typer.BadParameter(why, param_hint=f"'{option}'")
    return list(dict.fromkeys(map(int, words)))


def _sweep(said: Said) -> list[FetchWait]:
    """Return the settings of fetches to compare; giving some of them asks for it."""
    if not (said.is_sweep or said.min_bytes or said.max_wait):
        return []
    min_bytes = read_numbers(said.min_bytes or _MIN_BYTES, "--min-bytes")
    max_wait_ms = read_numbers(said.max_wait or _MAX_WAIT_MS, "--max-wait")
    return [FetchWait(*each) for each in product(min_bytes, max_wait_ms)]


def _check_topic(said: Said) -> None:
    if said.reads_only and said.topic is None:
        why = "name the topic to fetch from with --topic"
        raise typer.BadParameter(why, param_hint="'--read-only'")
    check_topic(said.topic, reads_only=said.reads_only, writes_to_topic=said.writes_to_topic)


def _check_size(shape: RecordShape) -> None:
    """Refuse batches that no broker takes, before memory is reserved for them."""
    headers = shape.headers * (shape.header_key_bytes + max(0, shape.header_value_bytes))
    size = shape.batch_records * (shape.value_bytes + shape.key_bytes + headers)
    if size > _MOST_RECORD_BYTES:
        why = f"requests of {size} bytes are too large: {_MOST_RECORD_BYTES} at the most"
        raise typer.BadParameter(why, param_hint="'--size'")
