"""`kdiag query`: its arguments and options; it answers a question in SQL about captures."""

from typing import Annotated

import typer

from kdiag.clock import TimeRange
from kdiag.report.sql_report import Query
from kdiag_cli.options.capture_completion import complete_sql
from kdiag_cli.options.captures import (
    DecodeAs,
    EachInterface,
    KeyLogs,
    NoBodies,
    Ports,
    SeparateNetworks,
    TableContents,
    TopicIds,
    WithRecords,
    capture_inputs,
)
from kdiag_cli.options.quantities import UTC_TIMES, TimeZoneShown
from kdiag_cli.options.report import AnswerOutput, RowsFrom, RowsTo, TableQuestion
from kdiag_cli.options.results import (
    CsvSafe,
    NoHeaders,
    Timeout,
    Wide,
    check_csv_safe,
    require_report_extra,
)
from kdiag_cli.output.answer import AnswerFormat

EXAMPLES = """\b
Examples:
  kdiag query traffic.pcap "SELECT api, count(*) AS n FROM exchanges GROUP BY api ORDER BY n DESC"
  kdiag query traffic.pcap -o csv "SELECT topic, sum(record_count) FROM batches GROUP BY topic"
  kdiag query --values traffic.pcap "SELECT key, value FROM records WHERE topic = 'orders'"
  kdiag decode traffic.pcap --output parquet --out tables
  kdiag query tables -o jsonl "SELECT * FROM exchanges WHERE error IS NOT NULL"
  kdiag query tables --from 2026-11-21 "SELECT error, count(*) FROM exchanges GROUP BY error"

\b
Exit codes: 0 done, 2 wrong usage, a wrong query or an unreadable file, 6 timeout, 8 partial (bytes
are missing, malformed or the file is cut), 130 interrupted.
"""

_LEAST_ARGUMENTS = 2


def query(  # noqa: PLR0913 - a parameter for each option
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="CAPTURE... SQL",
            help="Captures, or a folder of tables, and then one SELECT in DuckDB's SQL.",
            autocompletion=complete_sql,
        ),
    ],
    *,
    output: AnswerOutput = AnswerFormat.TABLE,
    no_headers: NoHeaders = False,
    csv_safe: CsvSafe = False,
    time: TimeZoneShown = UTC_TIMES,
    wide: Wide = False,
    timeout: Timeout = None,
    from_: RowsFrom = None,
    to: RowsTo = None,
    values: WithRecords = False,
    no_bodies: NoBodies = False,
    port: Ports = None,
    topic_ids: TopicIds = None,
    keylog: KeyLogs = None,
    separate_networks: SeparateNetworks = False,
    decode_as: DecodeAs = None,
    each_interface: EachInterface = False,
) -> None:
    """Answer a question about captures in SQL.

    kdiag tables lists the tables and their columns. The query can read nothing else.
    """
    del time  # `CommandPage` shows times in it
    if len(arguments) < _LEAST_ARGUMENTS:
        raise typer.BadParameter("give captures and then a SELECT", param_hint="CAPTURE... SQL")
    check_csv_safe(output, is_csv_safe=csv_safe)
    require_report_extra()
    from kdiag_cli.commands.report import run  # noqa: PLC0415 - duckdb is an extra

    *files, sql = arguments
    inputs = capture_inputs(
        files,
        port=port,
        keylog=keylog,
        topic_ids=topic_ids,
        separate_networks=separate_networks,
        decode_as=decode_as,
        each_interface=each_interface,
    )
    asked = Query(sql, {})
    contents = TableContents(bodies=not no_bodies, records=values, tcp=asked.may_name("tcp"))
    question = TableQuestion(
        asked,
        output,
        "query",
        has_headers=not no_headers,
        is_wide=wide,
        is_csv_safe=csv_safe,
        times=TimeRange(from_, to),
        timeout_ns=timeout,
    )
    raise typer.Exit(run.run(question, inputs, contents))
