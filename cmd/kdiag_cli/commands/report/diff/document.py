"""A comparison of two captures for programs: one document, whose shape is a contract.

The types below are the shape: `kdiag diff --schema` prints them as JSON schema.
"""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.difference.noise import FEWEST_BLOCKS
from kdiag.exchange.documents.document import Clockface
from kdiag.report.difference.comparison import (
    CaptureComparison,
    ErrorChange,
    MeasuredChange,
    StatedChange,
)
from kdiag.report.difference.measured import BLOCKS, MeasuredCapture


class ApiLatency(msgspec.Struct, kw_only=True, frozen=True):
    """The latencies of all answers of an API, in microseconds."""

    api: str
    answers: int
    p50_us: float
    p90_us: float
    p99_us: float


class ComparedCapture(msgspec.Struct, kw_only=True, frozen=True):
    """What is there of one capture; times are RFC 3339, and null without exchanges."""

    source: str
    first_time: str | None
    last_time: str | None
    duration_ms: float | None
    exchanges: int
    connections: int
    clients: int
    errors: int
    latencies: list[ApiLatency]


class NoiseTest(msgspec.Struct, kw_only=True, frozen=True):
    """How differences were told from noise."""

    alpha: float
    least_change: float
    fewest_blocks: int
    blocks: int
    measured: str
    errors: str
    correction: str


class DiffDocument(msgspec.Struct, kw_only=True, frozen=True):
    """Two captures, compared: the element of `data`."""

    before: ComparedCapture
    after: ComparedCapture
    differs: bool
    test: NoiseTest
    measured: list[MeasuredChange]
    errors: list[ErrorChange]
    stated: list[StatedChange]


class DiffOutput(msgspec.Struct, kw_only=True, frozen=True):
    """What `kdiag diff -o json` prints."""

    schema: Literal[1]
    command: Literal["diff"]
    data: list[DiffDocument]
    warnings: list[str]
    findings: list[dict[str, Any]]


def diff_schema() -> dict[str, Any]:
    """Return the JSON schema of what `kdiag diff -o json` prints."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, **msgspec.json.schema(DiffOutput)}


def comparison_document(
    sources: Sequence[str], sides: Sequence[MeasuredCapture], comparison: CaptureComparison
) -> DiffDocument:
    """Return the element of `data`.

    Args:
        sources: what was compared, as it was typed.
        sides: what was measured of each.
        comparison: of the two.
    """
    before, after = (_side(source, side) for source, side in zip(sources, sides, strict=True))
    return DiffDocument(
        before=before,
        after=after,
        differs=comparison.differs,
        test=NoiseTest(
            alpha=comparison.alpha,
            least_change=comparison.least_change,
            fewest_blocks=FEWEST_BLOCKS,
            blocks=BLOCKS,
            measured="Mann-Whitney U of blocks of time, deflated by their autocorrelation",
            errors="Fisher's exact test of blocks of time",
            correction="Holm",
        ),
        measured=comparison.measured,
        errors=comparison.errors,
        stated=comparison.stated,
    )


def _side(source: str, side: MeasuredCapture) -> ComparedCapture:
    """Return what is there of one capture."""
    span, clock = side.span, Clockface()
    first_ns, last_ns = span["first_ns"], span["last_ns"]
    return ComparedCapture(
        source=source,
        first_time=None if first_ns is None else clock.text(first_ns),
        last_time=None if last_ns is None else clock.text(last_ns),
        duration_ms=None if first_ns is None else (last_ns - first_ns) / NS_PER_MS,
        exchanges=span["exchanges"],
        connections=span["connections"],
        clients=len(side.callers),
        errors=span["errors"],
        latencies=[msgspec.convert(row, ApiLatency) for row in side.latencies.values()],
    )
