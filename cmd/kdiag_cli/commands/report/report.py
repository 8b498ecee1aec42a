"""`kdiag report`: its arguments and options; it answers questions that many have."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kdiag.clock import TimeRange
from kdiag.report.sql_report import report_names
from kdiag_cli.commands.report.listing import FINDINGS, print_reports, print_sql
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.capture_completion import complete_reports
from kdiag_cli.options.captures import (
    CaptureInputs,
    DecodeAs,
    EachInterface,
    KeyLogs,
    Ports,
    SeparateNetworks,
    TableContents,
    TopicIds,
    WithRecords,
    capture_inputs,
)
from kdiag_cli.options.quantities import UTC_TIMES, TimeZoneShown
from kdiag_cli.options.report import (
    AnswerForm,
    AnswerOutput,
    Dialect,
    Parameters,
    RowsFrom,
    RowsTo,
    TableQuestion,
    read_query,
)
from kdiag_cli.options.results import (
    CsvSafe,
    NoHeaders,
    Timeout,
    Wide,
    check_csv_safe,
    require_folder,
    require_report_extra,
)
from kdiag_cli.output.answer import AnswerFormat
from kdiag_cli.output.terminal import say

EXAMPLES = """\b
Examples:
  kdiag report --list
  kdiag report findings traffic.pcap
  kdiag report clients traffic.pcap
  kdiag report compat traffic.pcap -p target=4.0
  kdiag report latency traffic.pcap -p api=Produce -o csv
  kdiag report throughput tables -p 'topic=order%' -o json
  kdiag report slow traffic.pcap -p rows=5
  kdiag report hot_keys --values traffic.pcap
  kdiag report errors --sql spark
  kdiag report --html page.html traffic.pcap

\b
Exit codes: 0 done, 2 wrong usage or an unreadable file, 6 timeout, 8 partial (bytes are missing,
malformed or the file is cut), 130 interrupted.
"""


def report(  # noqa: PLR0913 - a parameter for each option
    name: Annotated[
        str | None,
        typer.Argument(help="Which report; --list shows them.", autocompletion=complete_reports),
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CAPTURE]...", help="Captures, or a folder of tables."),
    ] = None,
    *,
    list_all: Annotated[bool, typer.Option("--list", help="List the reports.")] = False,
    parameter: Parameters = None,
    sql: Annotated[
        Dialect | None, typer.Option("--sql", help="Print the report's SQL instead of running it.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="OUT", help="Write all of it as one page, with charts: CAPTURE..."
        ),
    ] = None,
    output: AnswerOutput = AnswerFormat.TABLE,
    no_headers: NoHeaders = False,
    csv_safe: CsvSafe = False,
    time: TimeZoneShown = UTC_TIMES,
    wide: Wide = False,
    timeout: Timeout = None,
    from_: RowsFrom = None,
    to: RowsTo = None,
    values: WithRecords = False,
    port: Ports = None,
    topic_ids: TopicIds = None,
    keylog: KeyLogs = None,
    separate_networks: SeparateNetworks = False,
    decode_as: DecodeAs = None,
    each_interface: EachInterface = False,
) -> None:
    """Run a predefined report on captures.

    Clients and their libraries, who breaks on Kafka 4, who talks to whom, latency, what
    was slow and why, waits, errors, retries, rebalances, throughput, hot partitions.
    """
    del time  # `CommandPage` shows times in it
    check_csv_safe(output, is_csv_safe=csv_safe)
    if list_all:
        print_reports(output, has_headers=not no_headers, is_wide=wide)
        return
    inputs = capture_inputs(
        files or (),
        port=port,
        keylog=keylog,
        topic_ids=topic_ids,
        separate_networks=separate_networks,
        decode_as=decode_as,
        each_interface=each_interface,
    )
    if html is not None:
        captures = [*filter(None, (name,)), *(files or ())]
        raise typer.Exit(
            _write_page(
                html,
                inputs._replace(files=captures),
                TimeRange(from_, to),
                has_records=values,
                timeout_ns=timeout,
            )
        )
    if name is None:
        raise typer.BadParameter("name a report, or --list them", param_hint="NAME")
    if name == FINDINGS:
        if parameter or sql is not None:
            raise typer.BadParameter("findings are rules, not SQL", param_hint="'-p' and '--sql'")
        form = AnswerForm(output, not no_headers, wide, csv_safe)
        raise typer.Exit(_print_findings(inputs, form, TimeRange(from_, to), timeout))
    _expect_report(name, files or ())
    query = read_query(name, parameter or [])
    if sql is not None:
        print_sql(query, sql.value)
        return
    if not files:
        raise typer.BadParameter("give captures or a folder of tables", param_hint="CAPTURE...")
    require_report_extra()
    from kdiag_cli.commands.report import run  # noqa: PLC0415 - duckdb is an extra

    question = TableQuestion(
        query,
        output,
        f"report {name}",
        has_headers=not no_headers,
        is_wide=wide,
        is_csv_safe=csv_safe,
        times=TimeRange(from_, to),
        timeout_ns=timeout,
    )
    contents = TableContents(bodies=False, records=values, tcp=query.may_name("tcp"))
    raise typer.Exit(run.run(question, inputs, contents))


def _print_findings(
    inputs: CaptureInputs, form: AnswerForm, times: TimeRange, timeout_ns: int | None
) -> ExitCode:
    """Print what is wrong; return the exit code of the program."""
    if not inputs.files:
        raise typer.BadParameter("give captures or a folder of tables", param_hint="CAPTURE...")
    require_report_extra()
    from kdiag_cli.commands.report.findings import run  # noqa: PLC0415 - duckdb is an extra

    return run(inputs, form, times, timeout_ns)


def _expect_report(name: str, files: Sequence[str]) -> None:
    """End the program with the right command if arguments are in each other's place."""
    names = report_names()
    if name in names and not any("=" in each for each in files):
        return
    from kdiag_cli.options.wrong_words import report_meant  # noqa: PLC0415 - 5 ms, few need it

    meant = report_meant(name, files, names)
    if meant is not None:
        say(meant)
        raise typer.Exit(ExitCode.USAGE)


def _write_page(
    file: Path,
    inputs: CaptureInputs,
    times: TimeRange,
    *,
    has_records: bool,
    timeout_ns: int | None,
) -> ExitCode:
    """Write the page about captures; return the exit code of the program."""
    if not inputs.files:
        raise typer.BadParameter("give captures or a folder of tables", param_hint="CAPTURE...")
    first = inputs.files[0]
    if first in (FINDINGS, *report_names()) and not Path(first).exists():
        why = f"the page has all reports: give captures alone, without {first}"
        raise typer.BadParameter(why, param_hint="--html")
    require_folder(file, "--html")
    require_report_extra()
    from kdiag_cli.commands.report.page.run import PageTarget, run  # noqa: PLC0415 - duckdb is an extra

    return run(PageTarget(file, times, has_records=has_records, timeout_ns=timeout_ns), inputs)
