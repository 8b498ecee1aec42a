"""The sections of the page about captures, made of an overview of their tables."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from kdiag.clock import NS_PER_MS, NS_PER_US
from kdiag.exchange.line.phrase import count, size
from kdiag.report.overview.overview import Overview
from kdiag.report.overview.questions import ReportAnswer, Row, left_out_of
from kdiag_cli.commands.report.page.kept_exchanges import KeptExchanges, clock_text
from kdiag_cli.output.pages import plots
from kdiag_cli.output.pages.parts import (
    Cell,
    Choice,
    Note,
    PageLink,
    PagePart,
    PageSection,
    Plot,
    Quantity,
    SortableTable,
)
from kdiag_cli.output.units import duration, with_unit

_MOST_SLOW: Final = 15
_MOST_CLIENTS: Final = 30
_MOST_BROKERS: Final = 12
_MOST_PHASES: Final = 12
_MOST_MEMBERS: Final = 25
_LONGEST_TEXT: Final = 300
_UNITS: Final = (
    ("_bytes_per_s", "bytes/s"),
    ("bytes", "bytes"),
    ("_bytes_per_batch", "bytes"),
    ("_bytes_per_frame", "bytes"),
    ("_us", "us"),
    ("_ms", "ms"),
)
_PLACED: Final = {
    "latency": "latency",
    "slow": "latency",
    "waits": "latency",
    "throughput": "throughput",
    "hot": "throughput",
    "hot_keys": "throughput",
    "errors": "errors",
    "retries": "errors",
    "rebalances": "rebalances",
    "commits": "rebalances",
    "clients": "clients",
    "compat": "clients",
    "metadata": "clients",
    "topology": "topology",
    "splits": "tcp",
    "tcp": "tcp",
}
"""Which section has which report; others have one of their own."""


def sections_of(
    overview: Overview, kept: KeptExchanges, tcp: Sequence[PagePart], source: str
) -> Iterator[PageSection]:
    """Yield the sections below the findings.

    Args:
        overview: of the tables.
        kept: the exchanges that are shown in full.
        tcp: what limits the connections.
        source: the captures, as one types them.
    """
    tables: dict[str, list[PagePart]] = defaultdict(list)
    for name, answer in overview.reports.items():
        if answer.rows:
            tables[_PLACED.get(name, "more")].append(_report(name, answer, kept, source))
    made: tuple[tuple[str, str, list[PagePart]], ...] = (
        ("errors", "Errors and missing answers", list(_errors(overview))),
        ("latency", "Latency", [*_latencies(overview), *_slowest(overview, kept)]),
        ("throughput", "Throughput", list(_flows(overview))),
        ("rebalances", "Rebalances", [*_timeline(overview), *_phases(overview)]),
        ("clients", "Clients", []),
        ("topology", "Who talks to whom", list(_topology(overview, kept))),
        ("tcp", "TCP: splits and limits", [*_splits(overview), *tcp]),
        ("more", "More", []),
    )
    for anchor, title, parts in made:
        yield PageSection(anchor, title, [*parts, *tables[anchor]])
    parts = [*_details(kept, source), *_missing(overview)]
    yield PageSection("exchanges", "Exchanges in full", parts)


def report_anchor(name: str) -> str:
    """Return the place of the table of a report."""
    return f"report-{name}"


def _missing(overview: Overview) -> Iterator[Note]:
    """Yield in one line which reports are not on the page, and why."""
    why = [f"{name} ({reason})" for name, reason in overview.missing.items()]
    if why:
        yield Note(f"Reports that these tables cannot answer: {'; '.join(why)}")


def _latencies(overview: Overview) -> Iterator[PagePart]:
    rows = overview.latencies
    if not rows:
        return
    apis = dict.fromkeys(row["api"] for row in rows)
    columns: dict[str, list[Any]] = {
        "dimension": [row["dimension"] for row in rows],
        "api": [row["api"] for row in rows],
        "name": _names(rows),
        "start": [overview.bins.start_ms(row["bin"]) for row in rows],
        "answers": [row["answers"] for row in rows],
    }
    for name, column in (("p50", "p50_us"), ("p90", "p90_us"), ("p99", "p99_us")):
        columns[name] = [_milliseconds(row[column]) for row in rows]
    columns["most"] = [_milliseconds(row["most_us"]) for row in rows]
    yield Plot(
        "Latency over time",
        plots.percentile_lines(),
        columns,
        (
            Choice("percentile", "Show", {"p99": "p99", "p90": "p90", "p50": "p50", "most": "max"}),
            Choice("dimension", "by", {"api": "API", "broker": "broker", "client": "client"}),
            Choice("api", "of", {"": "all APIs", **{each: each for each in apis}}),
        ),
        f"Each point is {duration(overview.bins.width_ns)}. From the last byte of the request to "
        "the first of the response; Fetch waits for data as long as the client lets it, JoinGroup "
        f"and SyncGroup for the other members: there a long time is no fault. {plots.ZOOM_NOTE}",
        is_over_time=True,
    )


def _milliseconds(time_us: float) -> float:
    return float(f"{time_us / 1000:.4g}")


def _names(rows: Sequence[Row], name: str = "name") -> list[str]:
    return [str(row[name])[:_LONGEST_TEXT] for row in rows]


def _slowest(overview: Overview, kept: KeptExchanges) -> Iterator[PagePart]:
    """Yield the slowest exchanges, unless there is a report that says why they are slow."""
    if "slow" in overview.reports and overview.reports["slow"].rows:
        return
    rows: list[Sequence[Cell]] = [
        (
            PageLink(clock_text(row["time"]), anchor),
            _quantity(row["latency_us"], "us"),
            row["api"],
            row["client_id"] or row["client_host"],
            row["broker"],
            ", ".join((row["topics"] or row["groups"] or ())[:3]) or None,
            row["error"],
        )
        for row, anchor in kept.slowest(_MOST_SLOW)
    ]
    if rows:
        yield SortableTable(
            "The slowest exchanges",
            ("time", "latency", "API", "client", "broker", "about", "error"),
            rows,
            "One for each API, broker and client.",
        )


def _flows(overview: Overview) -> Iterator[PagePart]:
    rows = overview.flows
    if not rows:
        return
    seconds = overview.bins.width_s
    said = {
        "produce topic": "written, by topic",
        "produce client": "written, by producer",
        "refused topic": "refused, by topic",
        "refused client": "refused, by producer",
        "unconfirmed topic": "written without an answer, by topic",
        "unconfirmed client": "written without an answer, by producer",
        "fetch topic": "read, by topic",
        "fetch client": "read, by consumer",
        "replicate topic": "replicated, by topic",
        "replicate client": "replicated, by broker",
    }
    there = {f"{row['flow']} {row['dimension']}" for row in rows}
    shown = {value: text for value, text in said.items() if value in there}
    drawing = plots.stacked_flows()
    drawing["params"][0]["value"] = next(iter(shown))
    yield Plot(
        "Throughput over time",
        drawing,
        {
            "flow": [row["flow"] for row in rows],
            "dimension": [row["dimension"] for row in rows],
            "name": _names(rows),
            "start": [overview.bins.start_ms(row["bin"]) for row in rows],
            "end": [overview.bins.start_ms(row["bin"] + 1) for row in rows],
            "bytes_per_s": [round(row["bytes"] / seconds) for row in rows],
            "records_per_s": [float(f"{row['records'] / seconds:.4g}") for row in rows],
        },
        (
            Choice("shown", "Show what is", shown),
            Choice("measure", "in", {"bytes_per_s": "bytes/s", "records_per_s": "records/s"}),
        ),
        "Bytes of the batches, as compressed as they travel.",
        is_over_time=True,
    )


def _errors(overview: Overview) -> Iterator[PagePart]:
    rows = overview.errors
    if not rows:
        return
    yield Plot(
        "Errors over time",
        plots.stacked_errors(),
        {
            "name": _names(rows, "problem"),
            "start": [overview.bins.start_ms(row["bin"]) for row in rows],
            "end": [overview.bins.start_ms(row["bin"] + 1) for row in rows],
            "exchanges": [row["exchanges"] for row in rows],
        },
        is_over_time=True,
    )


def _timeline(overview: Overview) -> Iterator[PagePart]:
    rows = [row for row in overview.rebalances if row["started_ns"] or row["time_ns"]]
    if not rows:
        return
    starts = [row["started_ns"] or row["time_ns"] for row in rows]
    groups = dict.fromkeys(row["group_id"] for row in rows)
    left_out = left_out_of(rows)
    yield Plot(
        "Rebalances over time",
        plots.group_timeline(len(groups)),
        {
            "group": _names(rows, "group_id"),
            "name": [row["cause"].replace("_", " ") for row in rows],
            "start": [start / NS_PER_MS for start in starts],
            "end": [
                max(start, row["ended_ns"] or start) / NS_PER_MS
                for start, row in zip(starts, rows, strict=True)
            ],
            "ms": [(row["duration_ns"] or 0) / NS_PER_MS for row in rows],
            "generation": [row["generation"] for row in rows],
            "client": [(row["client_id"] or "-")[:_LONGEST_TEXT] for row in rows],
        },
        note=f"{count(left_out, 'rebalance')} more took less time." if left_out > 0 else "",
        is_over_time=True,
    )


def _phases(overview: Overview) -> Iterator[PagePart]:
    """Yield the phase bars of the rebalances that took longest."""
    columns: dict[str, list[Any]] = defaultdict(list)
    most_members = 0
    for row in overview.rebalances:
        members = [each for each in row["phases"] or () if each["asked_ns"] is not None]
        members = sorted(members, key=lambda each: each["asked_ns"])[-_MOST_MEMBERS:]
        label = (
            f"{row['group_id'][:_LONGEST_TEXT]} generation {row['generation']}: "
            f"{row['cause'].replace('_', ' ')}, {duration(row['duration_ns'] or 0)}"
        )
        spans = [(each, *span) for each in members for span in _spans(each)]
        if not spans or label in columns["rebalance"]:
            continue
        first_ns = min(start for _, _, start, _ in spans)
        for member, name, start, end in spans:
            columns["rebalance"].append(label)
            columns["member"].append((member["client_id"] or member["member_id"])[:60])
            columns["name"].append(name)
            columns["from_ms"].append((start - first_ns) / NS_PER_MS)
            columns["to_ms"].append((end - first_ns) / NS_PER_MS)
        most_members = max(most_members, len(members))
        if len(set(columns["rebalance"])) == _MOST_PHASES:
            break
    labels = dict.fromkeys(columns["rebalance"])
    if labels:
        yield Plot(
            "Phases of the longest rebalances",
            plots.phase_bars(most_members, next(iter(labels))),
            columns,
            (Choice("rebalance", "Show", {each: each for each in labels}),),
        )


def _spans(member: Row) -> Iterator[tuple[str, int, int]]:
    names = ("waits for the others", "waits for its assignment", "until its first fetch")
    moments = [member[key] for key in ("asked_ns", "joined_ns", "synced_ns", "first_fetch_ns")]
    for name, start, end in zip(names, moments, moments[1:], strict=False):
        if start is not None and end is not None and end >= start:
            yield name, start, end


def _topology(overview: Overview, kept: KeptExchanges) -> Iterator[PagePart]:
    rows = overview.conversations
    if not rows:
        return
    clients = list(dict.fromkeys(row["client"] for row in rows))[:_MOST_CLIENTS]
    brokers = list(dict.fromkeys(row["broker"] for row in rows))[:_MOST_BROKERS]
    cells: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        if row["client"] in clients and row["broker"] in brokers:
            sums = cells.setdefault((row["client"], row["broker"]), [0, 0, 0])
            sums[0] += row["request_bytes"] + row["response_bytes"]
            sums[1] += row["exchanges"]
            sums[2] += row["errors"]
    yield Plot(
        "Bytes between clients and brokers",
        plots.heat_map(len(clients)),
        {
            "client": [client[:_LONGEST_TEXT] for client, _ in cells],
            "broker": [broker for _, broker in cells],
            "bytes": [each[0] for each in cells.values()],
            "exchanges": [each[1] for each in cells.values()],
            "errors": [each[2] for each in cells.values()],
        },
        note=f"The {len(clients)} clients and {len(brokers)} brokers with the most bytes.",
    )
    if "topology" in overview.reports:
        return
    yield SortableTable(
        "Clients and brokers",
        ("client", "host", "broker", "connections", "exchanges", "sent", "received", "errors"),
        [
            (
                kept.link(row["client"], client_id=row["client_id"], broker=row["broker"]),
                row["client_host"],
                row["broker"],
                row["connections"],
                row["exchanges"],
                _quantity(row["request_bytes"], "bytes"),
                _quantity(row["response_bytes"], "bytes"),
                row["errors"],
            )
            for row in rows
        ],
        left_out=left_out_of(rows),
    )


def _splits(overview: Overview) -> Iterator[PagePart]:
    answer = overview.reports.get("splits")
    kinds = {"split over segments": "split_frames", "sharing a segment": "sharing_frames"}
    rows = [] if answer is None else answer.rows
    rows = [row for row in rows if row["frames"] and any(row[each] for each in kinds.values())]
    if not rows:
        if answer is not None and answer.rows:
            yield "TCP split no frame over segments, and had none share a segment."
        return
    bars = [
        (f"{row['api']} {row['direction']}", name, row[column], row["frames"])
        for row in rows
        for name, column in kinds.items()
    ]
    yield Plot(
        "How TCP split and coalesced frames",
        plots.share_bars(len(rows), tuple(kinds)),
        {
            "of": [each[0] for each in bars],
            "name": [each[1] for each in bars],
            "percent": [round(100 * each[2] / each[3], 2) for each in bars],
            "frames": [each[2] for each in bars],
        },
        note="Kinds of frames that TCP neither split nor coalesced are left out.",
    )


def _report(name: str, answer: ReportAnswer, kept: KeptExchanges, source: str) -> SortableTable:
    """Return the answer to a report as a table; its first text leads to an exchange."""
    texts = [
        column
        for column in answer.columns
        if all(row[column] is None or isinstance(row[column], str) for row in answer.rows)
        and any(row[column] for row in answer.rows)
    ]
    linked = texts[0] if texts else None
    wanted = _MATCHES.get(name)
    rows = [
        [
            kept.link(row[column], **wanted(row))
            if column == linked and wanted is not None and row[column]
            else _value(column, row[column])
            for column in answer.columns
        ]
        for row in answer.rows
    ]
    return SortableTable(
        answer.report.question,
        [_header(column) for column in answer.columns],
        rows,
        " ".join(answer.report.notes.replace("`", "").split()),
        answer.left_out,
        f"kdiag report {name} {source}",
        report_anchor(name),
    )


def _of_flow(row: Row) -> dict[str, Any]:
    api = "Fetch" if row["flow"] in {"fetch", "replicate"} else "Produce"
    return {"api": api, "client_id": row["client_id"]}


_MATCHES: Final[dict[str, Callable[[Row], dict[str, Any]]]] = {
    "latency": lambda row: {
        "reason": "slow",
        "api": row["api"],
        "broker": row["broker"],
        "client_host": row["client_host"],
        "client_id": row["client_id"],
    },
    "errors": lambda row: {
        "problem": row["problem"],
        "api": row["api"],
        "client_id": row["client_id"],
        "broker": row["broker"],
    },
    "compat": lambda row: {
        "reason": "oldest",
        "client_host": row["client_host"],
        "client_id": row["client_id"],
    },
    "clients": lambda row: {"client_host": row["client_host"], "client_id": row["client_id"]},
    "throughput": _of_flow,
    "hot": _of_flow,
    "hot_keys": _of_flow,
    "rebalances": lambda row: {"reason": "rebalance", "client_id": row["client_id"]},
    "splits": lambda row: {"api": row["api"]},
    "slow": lambda row: {"number": row["number"]},
    "topology": lambda row: {"client_id": row["client_id"], "broker": row["broker"]},
    "waits": lambda row: {"client_id": row["client_id"], "api": row["api"]},
    "commits": lambda row: {"client_id": row["client_id"], "api": "OffsetCommit"},
    "metadata": lambda row: {"client_id": row["client_id"], "api": "Metadata"},
    "retries": lambda row: {"client_id": row["client_id"], "api": row["api"]},
}
"""How the exchange is found that a row of a report leads to."""


def _header(column: str) -> str:
    unit = next((ending for ending, _ in _UNITS if column.endswith(ending)), "")
    name = column.removesuffix(unit) if unit in {"_us", "_ms"} else column
    return name.replace("_", " ")


def _value(column: str, value: Any) -> Cell:
    if value is None or isinstance(value, bool):
        return None if value is None else str(value).lower()
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d} {clock_text(value)}"
    unit = next((unit for ending, unit in _UNITS if column.endswith(ending)), "")
    if isinstance(value, int | float):
        return _quantity(value, unit) if unit else value
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]}…"
    return str(value)[:_LONGEST_TEXT]


def _quantity(value: float, unit: str) -> Quantity:
    if unit == "us":
        return Quantity(value, duration(value * NS_PER_US))
    if unit == "bytes":
        return Quantity(value, size(int(value)) if value >= 0 else str(value))
    return Quantity(value, str(with_unit(value, unit)))


def _details(kept: KeptExchanges, source: str) -> Iterator[PagePart]:
    details = list(kept.details())
    if details:
        yield (
            f"{count(len(details), 'exchange')} of those that matter, long lists and texts cut; "
            f"kdiag decode {source} has all. Secrets are redacted."
        )
    yield from details
