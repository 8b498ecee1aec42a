"""What is asked of the tables of a capture, to compare it with another."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from kdiag.report.engine import Database
from kdiag.report.overview.questions import Row, ask

BLOCKS: Final = 20
"""Into how many blocks of equal length the time of a capture is cut."""

_UNIQUE: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{12,}|[0-9]{7,}"
)
_PACKAGE: Final = "kdiag.report.difference"
_PROTOCOL: Final = frozenset({"MEMBER_ID_REQUIRED"})
"""Errors that belong to the protocol: a member that joins gets its id by one."""


class Caller(NamedTuple):
    """A client.

    Attributes:
        software: name and version of its library; empty where it does not tell.
        exchanges: how many it had.
    """

    software: str
    exchanges: int


class ErrorCount(NamedTuple):
    """How often a problem was there.

    Attributes:
        exchanges: in how many exchanges.
        blocks: in how many blocks of time.
    """

    exchanges: int
    blocks: int


class MeasuredCapture(NamedTuple):
    """What a capture holds, as far as it is compared.

    Attributes:
        span: counts of what there is, and from when to when.
        latencies: of all answers, by API.
        p50_blocks, p90_blocks: medians and 90th percentiles of blocks, by API, in microseconds.
        batch_blocks: medians of the sizes of batches, by client and topic, in bytes.
        rate_blocks: bytes per second of blocks of time, by flow and topic.
        errors: by problem and API.
        callers: by client id, what is unique in it masked.
        settings: by client id and name of the setting.
        versions: by client id and API.
        topics: their names.
    """

    span: Row
    latencies: dict[str, Row]
    p50_blocks: dict[str, list[float]]
    p90_blocks: dict[str, list[float]]
    batch_blocks: dict[tuple[str, str], list[float]]
    rate_blocks: dict[tuple[str, str], list[float]]
    errors: dict[tuple[str, str], ErrorCount]
    callers: dict[str, Caller]
    settings: dict[tuple[str, str], str]
    versions: dict[tuple[str, str], str]
    topics: frozenset[str]


def measure(database: Database) -> MeasuredCapture:
    """Ask the tables of a capture.

    Raises:
        ReportError: if a table is missing or memory is full.
    """

    def question(name: str, **values: int) -> list[Row]:
        return ask(database, name, _PACKAGE, **values)

    span = ask(database, "span")[0]
    first_ns, last_ns = span["first_ns"] or 0, span["last_ns"] or 0
    timed = {"start_ns": first_ns, "span_ns": max(1, last_ns - first_ns), "blocks": BLOCKS}
    blocks = question("latency_blocks")
    p50_blocks: dict[str, list[float]] = defaultdict(list)
    p90_blocks: dict[str, list[float]] = defaultdict(list)
    for row in blocks:
        p50_blocks[row["api"]].append(row["p50_us"])
        p90_blocks[row["api"]].append(row["p90_us"])
    batch_blocks: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in question("batch_blocks"):
        batch_blocks[masked(row["client"]), row["topic"]].append(row["bytes"])
    return MeasuredCapture(
        span,
        {row["api"]: row for row in question("latencies")},
        dict(p50_blocks),
        dict(p90_blocks),
        dict(batch_blocks),
        _rates(question("rate_blocks", **timed), timed["span_ns"]),
        {
            (row["problem"], row["api"]): ErrorCount(row["exchanges"], min(row["blocks"], BLOCKS))
            for row in question("error_blocks", **timed)
            if row["problem"] not in _PROTOCOL
        },
        _callers(question("callers")),
        _texts(question("settings"), "setting", "value"),
        _texts(question("spoken_versions"), "api", "versions"),
        frozenset(row["topic"] for row in question("topics")),
    )


def masked(client: str) -> str:
    """Return a client id with `*` for what is another in every run: UUIDs, long numbers."""
    return _UNIQUE.sub("*", client)


def _rates(rows: Iterable[Row], span_ns: int) -> dict[tuple[str, str], list[float]]:
    """Return bytes per second of each block of time; of a block without rows 0."""
    block_s = span_ns / BLOCKS / 1e9
    rates: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * BLOCKS)
    for row in rows:
        rates[row["flow"], row["topic"]][row["block"]] += row["bytes"] / block_s
    return dict(rates)


def _callers(rows: Iterable[Row]) -> dict[str, Caller]:
    callers: dict[str, Caller] = {}
    for row in rows:
        name = masked(row["client"])
        known = callers.get(name, Caller("", 0))
        software = ", ".join(sorted({*filter(None, known.software.split(", ")), row["software"]}))
        callers[name] = Caller(software.removeprefix(", "), known.exchanges + row["exchanges"])
    return callers


def _texts(rows: Iterable[Row], key: str, value: str) -> dict[tuple[str, str], str]:
    """Return values by client and key; those of clients with the same masked name together."""
    sets: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        sets[masked(row["client"]), row[key]].update(row[value].split(", "))
    return {name: ", ".join(sorted(values, key=_by_number)) for name, values in sets.items()}


def _by_number(text: str) -> tuple[int, str]:
    return (int(text), "") if text.lstrip("-").isdigit() else (1 << 62, text)
