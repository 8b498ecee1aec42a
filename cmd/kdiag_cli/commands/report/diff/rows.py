"""A comparison of two captures as rows, the differences first.

VERDICT     WHAT          OF                  BEFORE   AFTER    CHANGE-PCT  P-VALUE  BLOCKS
new         error         unanswered Produce  0        299               -        1  0/2 of 20
slower      latency, p50  Produce             1.02 ms  6.31 ms         519  4.1e-07  20/20
new         client        writer-2            -        -                 -        -  -
not proven  latency, p50  Fetch               1.50 ms  1.48 ms          -1        1  20/20
"""

from collections.abc import Iterator
from typing import Final

from kdiag.clock import NS_PER_US
from kdiag.diagnosis.difference.noise import FEWEST_BLOCKS, NoiseVerdict
from kdiag.exchange.line.phrase import count, size
from kdiag.report.difference.comparison import (
    CaptureComparison,
    ComparedQuantity,
    ErrorChange,
    MeasuredChange,
    StatedChange,
)
from kdiag.report.difference.measured import BLOCKS
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.terminal import GREEN, RED, YELLOW
from kdiag_cli.output.units import duration

COLUMNS: Final = (
    TableColumn("VERDICT", colours={"slower": RED, "faster": GREEN, "new": YELLOW, "gone": YELLOW}),
    TableColumn("WHAT"),
    TableColumn("OF"),
    TableColumn("BEFORE"),
    TableColumn("AFTER"),
    TableColumn("CHANGE-PCT", 1, unit="percent"),
    TableColumn("P-VALUE", 2),
    TableColumn("PAIRS-PCT", 3, unit="percent"),
    TableColumn("BLOCKS", 4),
)

_NAMES: Final = {
    ComparedQuantity.P50: "latency, p50",
    ComparedQuantity.P90: "latency, p90",
    ComparedQuantity.BATCH: "batch size",
    ComparedQuantity.RATE: "throughput",
}
_LATENCIES: Final = frozenset({ComparedQuantity.P50, ComparedQuantity.P90})
_ORDER: Final = (NoiseVerdict.MORE, NoiseVerdict.LESS, NoiseVerdict.NOISE, NoiseVerdict.TOO_FEW)
_DIFFERS: Final = (NoiseVerdict.MORE, NoiseVerdict.LESS)

_NOT_PROVEN: Final = "not proven"

Row = tuple[object, ...]


def change_rows(comparison: CaptureComparison, *, for_people: bool) -> list[Row]:
    """Return the rows.

    Args:
        comparison: of two captures.
        for_people: whether numbers have units; programs get them as they are.
    """
    new = sorted((each for each in comparison.errors if each.is_new), key=lambda of: -of.after)
    errors = [each for each in comparison.errors if not each.is_new]
    changes: list[MeasuredChange | ErrorChange] = [*comparison.measured, *errors]
    varying = sorted(changes, key=lambda each: _ORDER.index(each.verdict))
    different = [each for each in varying if each.verdict in _DIFFERS]
    alike = [each for each in varying if each.verdict not in _DIFFERS]
    return [
        *(_varying_row(each, for_people=for_people) for each in [*new, *different]),
        *map(_stated_row, comparison.stated),
        *(_varying_row(each, for_people=for_people) for each in alike),
    ]


def verdict_text(comparison: CaptureComparison) -> str:
    """Return what the comparison says, and how it was tested, in a few sentences."""
    varying: list[MeasuredChange | ErrorChange] = [*comparison.measured, *comparison.errors]
    new = sum(each.is_new for each in comparison.errors)
    proven = sum(each.verdict in _DIFFERS for each in varying if not _is_new(each))
    different = proven + len(comparison.stated)
    few = sum(each.verdict is NoiseVerdict.TOO_FEW for each in varying)
    tested = len(varying) - few
    latencies = [each for each in comparison.measured if each.quantity in _LATENCIES]
    if new:
        text = f"{count(new, 'new kind')} of errors or missing answers"
        text += f", {count(different, 'difference')} beyond noise" if different else ""
    elif different:
        text = f"{count(different, 'difference')} beyond noise"
    elif not few or any(each.verdict is not NoiseVerdict.TOO_FEW for each in latencies):
        text = "no difference beyond noise"
    else:
        text = "too little traffic to separate noise from differences; nothing else differs"
    least = f"{100 * comparison.least_change:g} %"
    text += (
        f". {count(tested, 'comparison')} of blocks of time by Mann-Whitney's test (errors: "
        f"Fisher's), p below {comparison.alpha:g} corrected by Holm; what changes by less than "
        f"{least}, or not in 9 of 10 pairs of blocks, is not proven"
    )
    if few:
        text += f"; {few} with fewer than {FEWEST_BLOCKS} blocks on a side are not tested"
    return text


def _varying_row(change: MeasuredChange | ErrorChange, *, for_people: bool) -> Row:
    if isinstance(change, ErrorChange):
        blocks = f"{change.blocks[0]}/{change.blocks[1]} of {BLOCKS}"
        of = f"{change.problem} {change.api}".strip()
        verdict, p_value = _words(change), _probability(change.p_value)
        return (verdict, "error", of, change.before, change.after, None, p_value, None, blocks)
    return (
        _words(change),
        _NAMES[change.quantity] if for_people else change.quantity.value,
        change.of,
        _value(change, change.before, for_people=for_people),
        _value(change, change.after, for_people=for_people),
        None if change.ratio is None else round(100 * (change.ratio - 1)),
        _probability(change.p_value),
        None if change.superiority is None else round(100 * change.superiority),
        f"{change.blocks[0]}/{change.blocks[1]}",
    )


def _is_new(change: MeasuredChange | ErrorChange) -> bool:
    return isinstance(change, ErrorChange) and change.is_new


def _words(change: MeasuredChange | ErrorChange) -> str:
    """Return the verdict in the words of what is compared."""
    if _is_new(change):
        return "new"
    if change.verdict is NoiseVerdict.NOISE:
        return _NOT_PROVEN
    if isinstance(change, MeasuredChange) and change.quantity in _LATENCIES:
        words = {NoiseVerdict.MORE: "slower", NoiseVerdict.LESS: "faster"}
        return words.get(change.verdict, change.verdict.replace("_", " "))
    return change.verdict.replace("_", " ")


def _probability(p_value: float | None) -> str | None:
    return None if p_value is None else f"{p_value:.2g}"


def _value(change: MeasuredChange, value: float | None, *, for_people: bool) -> object:
    if value is None or not for_people:
        return value
    if change.quantity in _LATENCIES:
        return duration(value * NS_PER_US)
    return size(round(value)) + ("/s" if change.quantity is ComparedQuantity.RATE else "")


def _stated_row(change: StatedChange) -> Row:
    verdict = "changed"
    if change.before is None or change.after is None:
        verdict = "new" if change.before is None else "gone"
    what = f"{change.kind} {change.name}".strip()
    if change.kind == "version":
        what = f"version of {change.name}"
    return (verdict, what, change.of, change.before, change.after, None, None, None, None)


def differing(comparison: CaptureComparison) -> Iterator[str]:
    """Yield each difference as a sentence."""
    for row in change_rows(comparison, for_people=True):
        verdict, what, of, before, after, change, *_ = row
        if verdict in {_NOT_PROVEN, "too few"}:
            return
        shown = ["-" if each is None else each for each in (before, after)]
        values = "" if shown == ["-", "-"] else f": {shown[0]} → {shown[1]}"
        percent = "" if change is None else f" ({change:+} %)"
        yield f"{what} of {of} is {verdict}{values}{percent}"
