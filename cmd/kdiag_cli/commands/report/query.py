"""`kdiag query`: a question in SQL about captures."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kdiag_cli.commands.report.answer import AnswerFormat
from kdiag_cli.options.captures import (
    CaptureInputs,
    KeyLogs,
    NoBodies,
    Ports,
    SeparateNetworks,
    TableContents,
    TopicIds,
    WithRecords,
)
from kdiag_cli.options.results import NoHeaders

if TYPE_CHECKING:
    from kdiag.report.engine import Database
    from kdiag.report.sql_report import Query

EXAMPLES = """\b
Examples:
  kdiag query traffic.pcap "SELECT api, count(*) AS n FROM exchanges GROUP BY api ORDER BY n DESC"
  kdiag query traffic.pcap -o csv "SELECT topic, sum(record_count) FROM batches GROUP BY topic"
  kdiag query --values traffic.pcap "SELECT key, value FROM records WHERE topic = 'orders'"
  kdiag decode traffic.pcap --output parquet --out tables
  kdiag query tables -o jsonl "SELECT * FROM exchanges WHERE error IS NOT NULL"

\b
Exit codes: 0 done, 2 wrong usage, a wrong query or an unreadable file, 8 partial (bytes are
missing, malformed or the file is cut), 130 interrupted.
"""

_LEAST_ARGUMENTS = 2


def query(  # noqa: PLR0913 - a parameter for each option
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="CAPTURE... SQL",
            help="Captures, or a folder of tables, and then one SELECT in DuckDB's SQL.",
        ),
    ],
    *,
    output: Annotated[
        AnswerFormat, typer.Option("--output", "-o", help="A table for people, or for programs.")
    ] = AnswerFormat.TABLE,
    no_headers: NoHeaders = False,
    values: WithRecords = False,
    no_bodies: NoBodies = False,
    port: Ports = None,
    topic_ids: TopicIds = None,
    keylog: KeyLogs = None,
    separate_networks: SeparateNetworks = False,
) -> None:
    """Ask a question about captures in SQL.

    kdiag tables lists the tables and their columns. The query can read nothing else.
    """
    if len(arguments) < _LEAST_ARGUMENTS:
        raise typer.BadParameter("give captures and then a SELECT", param_hint="CAPTURE... SQL")
    # `--help` must not load what only the run needs.
    from kdiag_cli.captures.tables import require_report_extra  # noqa: PLC0415

    require_report_extra()
    from kdiag.report.sql_report import Query  # noqa: PLC0415
    from kdiag_cli.captures.tables import ask_tables  # noqa: PLC0415

    *files, sql = arguments
    inputs = CaptureInputs(
        files=files,
        ports=frozenset(port or ()),
        keylogs=keylog or (),
        topic_ids=topic_ids,
        separates_networks=separate_networks,
    )
    contents = TableContents(bodies=not no_bodies, records=values)
    ask = partial(print_result, Query(sql, {}), output, command="query", has_headers=not no_headers)
    raise typer.Exit(ask_tables(inputs, contents, ask))


def print_result(
    query: "Query", form: AnswerFormat, database: "Database", *, command: str, has_headers: bool
) -> None:
    """Print the answer of a database to a question.

    Raises:
        ReportError: if the question is wrong.
    """
    from kdiag.report.engine import rows_of  # noqa: PLC0415 - duckdb
    from kdiag_cli.commands.report.answer import Answer, print_answer  # noqa: PLC0415
    from kdiag_cli.output.terminal import Output  # noqa: PLC0415

    found = database.ask(query)
    screen = Output()
    answer = Answer(found.schema.names, rows_of(found))
    print_answer(screen, answer, form, command=command, has_headers=has_headers)
    screen.flush()
