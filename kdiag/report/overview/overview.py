"""Everything that a page about captures shows of their tables."""

from collections.abc import Collection
from typing import Final, NamedTuple

from kdiag.diagnosis.traffic.answering import MAY_WAIT
from kdiag.errors import ReportError
from kdiag.report.engine import Database
from kdiag.report.overview.questions import ReportAnswer, Row, ask, ask_report
from kdiag.report.overview.time_bins import TimeBins, bins_over
from kdiag.report.sql_report import Query, load_report, report_names

MOST_ROWS: Final = 150
_NOT_REPEATED: Final = frozenset({"latency_over_time"})
"""Reports whose answers are in others: what is drawn over time."""


class Overview(NamedTuple):
    """What captures hold.

    Attributes:
        span: counts of what there is, and from when to when.
        health: how many requests there are, and how many of them went wrong.
        bins: the stretches of time of the rows below.
        latencies: percentiles by bin, of APIs, and for each API of brokers and of clients.
        flows: bytes and records by bin, of topics and of clients.
        errors: counts of problems by bin.
        conversations: who talks to whom.
        rebalances: those that took longest, with what each member did when.
        kept: exchanges that are worth to be shown in full.
        reports: the answers to all reports, by name.
        missing: reports that could not be answered, and why.
    """

    span: Row
    health: Row
    bins: TimeBins
    latencies: list[Row]
    flows: list[Row]
    errors: list[Row]
    conversations: list[Row]
    rebalances: list[Row]
    kept: list[Row]
    reports: dict[str, ReportAnswer]
    missing: dict[str, str]


def read_overview(
    database: Database, numbers: Collection[int] = (), most_rows: int = MOST_ROWS
) -> Overview:
    """Return what the tables hold.

    Args:
        database: the tables.
        numbers: of exchanges that are to be shown in full, too.
        most_rows: how many rows of each report.

    Raises:
        ReportError: if the exchanges cannot be read, or memory is full.
    """
    span = ask(database, "span")[0]
    bins = bins_over(span["first_ns"] or 0, span["last_ns"] or 0)
    binned = {"start_ns": bins.start_ns, "width_ns": bins.width_ns}
    missing: dict[str, str] = {}
    reports: dict[str, ReportAnswer] = {}
    for name in report_names():
        if name in _NOT_REPEATED:
            continue
        try:
            reports[name] = ask_report(database, name, most_rows)
        except ReportError as error:
            missing[name] = error.why
    has_groups = "rebalances" in reports
    causes = ask(database, "rebalance_packets") if has_groups else []
    slow = reports["slow"].rows if "slow" in reports else []
    kept = ask(
        database,
        "kept_exchanges",
        packets=[row["packet"] for row in causes],
        numbers=sorted({*numbers, *(row["number"] for row in slow)}),
    )
    retried = _sum_of(database, "retries", "retries") if "retries" in reports else 0
    return Overview(
        span,
        ask(database, "health", may_wait=sorted(MAY_WAIT))[0] | {"retried": retried},
        bins,
        ask(database, "latency_bins", **binned),
        ask(database, "flow_bins", **binned),
        ask(database, "error_bins", **binned),
        ask(database, "conversations"),
        ask(database, "rebalance_spans") if has_groups else [],
        kept,
        reports,
        missing,
    )


def _sum_of(database: Database, report: str, column: str) -> int:
    """Return the sum of a column over all rows of a report, also those that are not shown."""
    query = load_report(report).query()
    sql = f'SELECT CAST(coalesce(sum("{column}"), 0) AS BIGINT) AS total FROM ({query.sql})'  # noqa: S608 - no text of users
    answer = database.ask(Query(sql, query.values))
    return sum(row["total"] for batch in database.rows_of(answer) for row in batch.to_pylist())
