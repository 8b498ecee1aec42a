"""A comparison of two captures for programs: one document, whose shape is a contract."""

from collections.abc import Sequence
from typing import Any

from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.difference.noise import FEWEST_BLOCKS
from kdiag.exchange.documents.document import Clockface
from kdiag.report.difference.comparison import CaptureComparison
from kdiag.report.difference.measured import BLOCKS, MeasuredCapture


def comparison_document(
    sources: Sequence[str], sides: Sequence[MeasuredCapture], comparison: CaptureComparison
) -> dict[str, Any]:
    """Return the element of `data`.

    Args:
        sources: what was compared, as it was typed.
        sides: what was measured of each.
        comparison: of the two.
    """
    before, after = (_side(source, side) for source, side in zip(sources, sides, strict=True))
    return {
        "before": before,
        "after": after,
        "differs": comparison.differs,
        "test": {
            "alpha": comparison.alpha,
            "least_change": comparison.least_change,
            "fewest_blocks": FEWEST_BLOCKS,
            "blocks": BLOCKS,
            "measured": "Mann-Whitney U of blocks of time, deflated by their autocorrelation",
            "errors": "Fisher's exact test of blocks of time",
            "correction": "Holm",
        },
        "measured": comparison.measured,
        "errors": comparison.errors,
        "stated": comparison.stated,
    }


def _side(source: str, side: MeasuredCapture) -> dict[str, Any]:
    """Return what is there of one capture."""
    span, clock = side.span, Clockface()
    first_ns, last_ns = span["first_ns"], span["last_ns"]
    return {
        "source": source,
        "first_time": None if first_ns is None else clock.text(first_ns),
        "last_time": None if last_ns is None else clock.text(last_ns),
        "duration_ms": None if first_ns is None else (last_ns - first_ns) / NS_PER_MS,
        "exchanges": span["exchanges"],
        "connections": span["connections"],
        "clients": len(side.callers),
        "errors": span["errors"],
        "latencies": list(side.latencies.values()),
    }
