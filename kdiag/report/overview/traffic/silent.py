"""When brokers were silent, found by SQL: the times of `Silence`.

    answers    | | || |                            | || |
    captures   <------------ one -----------><---- the next --->    a silence may go on
               <------ one ------>      <------ the next ------>    ends with the first capture

Where nothing was captured, no answer is missing.
"""

from collections.abc import Iterable
from typing import Final

from kdiag.diagnosis.traffic.answering import SERVED_AT_ONCE
from kdiag.diagnosis.traffic.silence import (
    GONE,
    LATE_NS,
    LEAST_SILENT_NS,
    UNKNOWN,
    BrokerTimes,
    Wait,
)
from kdiag.diagnosis.traffic.traffic import OWN_CLIENT_ID, Traffic
from kdiag.report.engine import Database
from kdiag.report.overview.questions import Row, ask, left_out_of

_PACKAGE: Final = "kdiag.report.overview.traffic"

Span = tuple[int, int]
"""From when to when, in nanoseconds since 1970."""


def read_silences(database: Database, traffic: Traffic) -> str:
    """Find when brokers were silent.

    Args:
        database: the tables.
        traffic: gets the times.

    Returns:
        What is not known, and why; empty if all is.

    Raises:
        ReportError: if a table or a column is missing, or memory is full.
    """
    rows = ask(
        database,
        "silences",
        _PACKAGE,
        own=f"{OWN_CLIENT_ID}%",
        least_ns=LEAST_SILENT_NS,
        late_ns=LATE_NS,
        served_at_once=sorted(SERVED_AT_ONCE),
        unknown=sorted(UNKNOWN),
        gone=sorted(GONE),
    )
    if not rows:
        return ""
    captured = _united(
        (row["first_ns"], row["last_ns"]) for row in ask(database, "covered", _PACKAGE)
    )
    by_broker: dict[str, list[Row]] = {}
    for row in rows:
        by_broker.setdefault(row["broker"], []).append(row)
    for broker, silences in by_broker.items():
        waits = [Wait(**each) for row in silences for each in row["waits"]]
        spans = [_captured_part((row["first_ns"], row["last_ns"]), captured) for row in silences]
        times = BrokerTimes()
        times.restore(waits, [each for each in spans if each[1] - each[0] >= LEAST_SILENT_NS])
        traffic.silence.brokers.put(broker, times)
    left_out = left_out_of(rows)
    return f"there are too many silences to judge each: {left_out:,} are not" if left_out else ""


def _united(spans: Iterable[Span]) -> list[Span]:
    """Return the times that captures cover, each as long as one follows the other at once."""
    united: list[Span] = []
    for first_ns, last_ns in spans:
        if united and first_ns - united[-1][1] < LEAST_SILENT_NS:
            united[-1] = united[-1][0], max(united[-1][1], last_ns)
        else:
            united.append((first_ns, last_ns))
    return united


def _captured_part(silence: Span, captured: Iterable[Span]) -> Span:
    """Return the part of a silence up to the end of what was captured."""
    first_ns, last_ns = silence
    for from_ns, to_ns in captured:
        if from_ns <= first_ns <= to_ns:
            return first_ns, min(last_ns, to_ns)
    return silence
