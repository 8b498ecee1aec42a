"""What differs between two captures, and whether that is more than noise.

Latencies, sizes of batches, rates and errors vary by themselves: they are tested
(`kdiag.diagnosis.difference.noise`), all of them together. Clients, versions, settings and topics
do not: a difference is one.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from kdiag.diagnosis.difference.noise import (
    ALPHA,
    LEAST_CHANGE,
    BlockComparison,
    NoiseVerdict,
    compare_blocks,
    compare_occurrences,
    corrected,
    verdict_of,
)
from kdiag.report.difference.measured import BLOCKS, ErrorCount, MeasuredCapture

LEAST_SHIFT_US: Final = 100.0
"""A latency that differs by less is the same: so much does a scheduler take."""

_OF_CAPTURES: Final = frozenset({"partial", "unmatched"})
"""Statuses that come of where a capture begins, and of what it lacks."""

_ABSENT: Final = ErrorCount(0, 0)


class ComparedQuantity(StrEnum):
    """What is tested by blocks."""

    P50 = "p50_us"
    P90 = "p90_us"
    BATCH = "batch_bytes"
    RATE = "bytes_per_s"


class MeasuredChange(msgspec.Struct, kw_only=True, frozen=True):
    """One quantity that varies, before and after.

    Attributes:
        quantity: which.
        of: the API, `client topic` or `flow topic`.
        before, after: of the whole capture; None where it was not there.
        ratio: how many times as large the blocks are after, typically; None without blocks.
        superiority: in which part of the pairs of blocks it is larger after.
        p_value: corrected for the number of comparisons; None if it was not tested.
        blocks: how many blocks were compared, before and after.
        verdict: whether the difference is more than noise.
    """

    quantity: ComparedQuantity
    of: str
    before: float | None
    after: float | None
    ratio: float | None
    superiority: float | None
    p_value: float | None
    blocks: tuple[int, int]
    verdict: NoiseVerdict


class ErrorChange(msgspec.Struct, kw_only=True, frozen=True):
    """A problem, before and after.

    Attributes:
        problem: Kafka's name of the error, or the status of exchanges that are not in order.
        api: of these exchanges.
        before, after: in how many exchanges.
        blocks: in how many of `BLOCKS` blocks of time, before and after.
        p_value: corrected for the number of comparisons.
        verdict: whether the difference is more than noise.
        is_new: whether it is an error, or a missing answer, of which there was none before. An
            outage is always in few blocks, so that no test proves it.
    """

    problem: str
    api: str
    before: int
    after: int
    blocks: tuple[int, int]
    p_value: float
    verdict: NoiseVerdict
    is_new: bool


class StatedChange(msgspec.Struct, kw_only=True, frozen=True):
    """What does not vary by itself and differs.

    Attributes:
        kind: `client`, `software`, `version`, `setting` or `topic`.
        of: the client id or the topic.
        name: the setting, or the API of a version; empty for the others.
        before, after: the values; None where it was not there.
    """

    kind: str
    of: str
    name: str
    before: str | None
    after: str | None


class CaptureComparison(msgspec.Struct, kw_only=True, frozen=True):
    """Two captures, compared.

    Attributes:
        measured: what varies, by quantity and name.
        errors: problems that were there before or after.
        stated: what differs and does not vary by itself.
        alpha: below which corrected p-value a difference counts.
        least_change: by which part a quantity must differ to count.
    """

    measured: list[MeasuredChange]
    errors: list[ErrorChange]
    stated: list[StatedChange]
    alpha: float
    least_change: float

    @property
    def differs(self) -> bool:
        """Return whether anything differs beyond noise."""
        told = (NoiseVerdict.MORE, NoiseVerdict.LESS)
        changes: list[MeasuredChange | ErrorChange] = [*self.measured, *self.errors]
        is_new = any(each.is_new for each in self.errors)
        return bool(self.stated) or is_new or any(each.verdict in told for each in changes)


def compare(
    before: MeasuredCapture, after: MeasuredCapture, least_change: float = LEAST_CHANGE
) -> CaptureComparison:
    """Compare two captures.

    Args:
        before: the one.
        after: the other.
        least_change: by which part a quantity must differ to count, such as 0.2.
    """
    blocks = list(_blocks(before, after))
    compared = [compare_blocks(early, late) for _, _, early, late in blocks]
    problems = sorted({*before.errors, *after.errors})
    chances = [
        compare_occurrences(
            (before.errors.get(each, _ABSENT).blocks, BLOCKS),
            (after.errors.get(each, _ABSENT).blocks, BLOCKS),
        )
        for each in problems
    ]
    tested = [each for each in compared if each.has_enough]
    values = iter(corrected([*(each.p_value for each in tested), *chances]))
    p_values = [next(values) if each.has_enough else None for each in compared]
    return CaptureComparison(
        measured=[
            _measured(before, after, quantity, name, comparison, p_value, least_change)
            for (quantity, name, _, _), comparison, p_value in zip(
                blocks, compared, p_values, strict=True
            )
        ],
        errors=[
            _error(before, after, problem, p_value)
            for problem, p_value in zip(problems, values, strict=True)
        ],
        stated=list(_stated(before, after)),
        alpha=ALPHA,
        least_change=least_change,
    )


def _blocks(
    before: MeasuredCapture, after: MeasuredCapture
) -> Iterator[tuple[ComparedQuantity, str, Sequence[float], Sequence[float]]]:
    """Yield what is tested, with its blocks before and after."""
    for quantity, early, late in (
        (ComparedQuantity.P50, before.p50_blocks, after.p50_blocks),
        (ComparedQuantity.P90, before.p90_blocks, after.p90_blocks),
    ):
        for api in sorted({*early, *late}):
            yield quantity, api, early.get(api, ()), late.get(api, ())
    for quantity, pairs, later in (
        (ComparedQuantity.BATCH, before.batch_blocks, after.batch_blocks),
        (ComparedQuantity.RATE, before.rate_blocks, after.rate_blocks),
    ):
        for pair in sorted({*pairs, *later}):
            yield quantity, " ".join(pair), pairs.get(pair, ()), later.get(pair, ())


def _measured(  # noqa: PLR0913, PLR0917 - a value for each
    before: MeasuredCapture,
    after: MeasuredCapture,
    quantity: ComparedQuantity,
    name: str,
    comparison: BlockComparison,
    p_value: float | None,
    least_change: float,
) -> MeasuredChange:
    is_latency = quantity in {ComparedQuantity.P50, ComparedQuantity.P90}
    least_shift = LEAST_SHIFT_US if is_latency else 0.0
    is_there = 0 not in comparison.blocks
    verdict = NoiseVerdict.TOO_FEW
    if p_value is not None:
        verdict = verdict_of(comparison, p_value, least_change, least_shift)
    return MeasuredChange(
        quantity=quantity,
        of=name,
        before=_whole(before, quantity, name),
        after=_whole(after, quantity, name),
        ratio=round(comparison.ratio, 4) if is_there else None,
        superiority=round(comparison.superiority, 4) if is_there else None,
        p_value=p_value,
        blocks=comparison.blocks,
        verdict=verdict,
    )


def _whole(side: MeasuredCapture, quantity: ComparedQuantity, name: str) -> float | None:
    """Return a quantity of the whole capture."""
    if quantity in {ComparedQuantity.P50, ComparedQuantity.P90}:
        row = side.latencies.get(name)
        return None if row is None else row[quantity.value]
    pairs = side.batch_blocks if quantity is ComparedQuantity.BATCH else side.rate_blocks
    blocks = next((each for pair, each in pairs.items() if " ".join(pair) == name), None)
    if blocks is None:
        return None
    whole = (
        sorted(blocks)[len(blocks) // 2]
        if quantity is ComparedQuantity.BATCH
        else sum(blocks) / BLOCKS
    )
    return round(whole, 1)


def _error(
    before: MeasuredCapture, after: MeasuredCapture, problem: tuple[str, str], p_value: float
) -> ErrorChange:
    early, late = (side.errors.get(problem, _ABSENT) for side in (before, after))
    verdict = NoiseVerdict.NOISE
    if p_value < ALPHA:
        verdict = NoiseVerdict.MORE if late.blocks > early.blocks else NoiseVerdict.LESS
    return ErrorChange(
        problem=problem[0],
        api=problem[1],
        before=early.exchanges,
        after=late.exchanges,
        blocks=(early.blocks, late.blocks),
        p_value=p_value,
        verdict=verdict,
        is_new=not early.exchanges and problem[0] not in _OF_CAPTURES,
    )


def _stated(before: MeasuredCapture, after: MeasuredCapture) -> Iterator[StatedChange]:
    both = before.callers.keys() & after.callers.keys()
    for name in sorted(before.callers.keys() ^ after.callers.keys()):
        early, late = (
            None if each is None else each.software or "library unknown"
            for each in (before.callers.get(name), after.callers.get(name))
        )
        yield StatedChange(kind="client", of=name, name="", before=early, after=late)
    for name in sorted(both):
        old, new = before.callers[name].software, after.callers[name].software
        if old and new and old != new:
            yield StatedChange(kind="software", of=name, name="", before=old, after=new)
    for kind, olds, news in (
        ("version", before.versions, after.versions),
        ("setting", before.settings, after.settings),
    ):
        for client, key in sorted(olds.keys() & news.keys()):
            old, new = olds[client, key], news[client, key]
            if old != new:
                yield StatedChange(kind=kind, of=client, name=key, before=old, after=new)
    for topic in sorted(before.topics ^ after.topics):
        is_new = topic in after.topics
        early, late = (None, "there") if is_new else ("there", None)
        yield StatedChange(kind="topic", of=topic, name="", before=early, after=late)
