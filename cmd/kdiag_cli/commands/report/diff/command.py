"""`kdiag diff`: its arguments and options; it says what differs between two captures."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from kdiag_cli.options.captures import (
    DecodeAs,
    EachInterface,
    KeyLogs,
    Ports,
    SeparateNetworks,
    TopicIds,
    capture_inputs,
)
from kdiag_cli.options.quantities import UTC_TIMES, TimeZoneShown
from kdiag_cli.options.results import NoHeaders, Wide, require_folder, require_report_extra
from kdiag_cli.output.json_text import print_json
from kdiag_cli.output.result import ResultFormat
from kdiag_cli.output.terminal import Output

EXAMPLES = """\b
Examples:
  kdiag diff before.pcap after.pcap
  kdiag diff before.pcap after.pcap --least-change 50
  kdiag diff before.pcap after.pcap --html difference.html
  kdiag decode before.pcap --output parquet --out tables
  kdiag diff tables after.pcap -o json
  kdiag diff --schema

\b
Latencies, sizes of batches, rates and errors vary by themselves. Each capture is cut into blocks
of time, blocks are compared with blocks (Mann-Whitney, corrected for the number of comparisons),
and a change counts if chance makes it in less than 1 of 100 comparisons, 9 of 10 pairs of blocks
show it, and it is not less than --least-change. kdiag help diff has more.

\b
Exit codes: 0 done, 1 there is a difference (with --exit-code), 2 wrong usage or an unreadable file,
8 partial (bytes are missing, malformed or a file is cut), 130 interrupted.
"""


def _print_schema(value: bool) -> None:  # noqa: FBT001 - as typer calls it
    """Print the JSON schema of the output and end the program."""
    if not value:
        return
    require_report_extra()
    from kdiag_cli.commands.report.diff.document import diff_schema  # noqa: PLC0415 - duckdb is an extra

    output = Output()
    print_json(output, msgspec.json.encode(diff_schema()))
    output.flush()
    raise typer.Exit


def diff(  # noqa: PLR0913 - a parameter for each option
    before: Annotated[
        str, typer.Argument(help="A capture, a folder of captures, or a folder of tables.")
    ],
    after: Annotated[str, typer.Argument(help="What to compare it with.")],
    *,
    least_change: Annotated[
        float,
        typer.Option(
            metavar="PERCENT", min=0, help="How much a quantity must change to count, in percent."
        ),
    ] = 20.0,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with 1 if there is a difference.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="OUT", help="Write a page with charts as well."),
    ] = None,
    output: Annotated[
        ResultFormat, typer.Option("--output", "-o", help="Text for people, or JSON for programs.")
    ] = ResultFormat.TABLE,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema",
            help="Print the JSON schema of -o json.",
            callback=_print_schema,
            is_eager=True,
        ),
    ] = False,
    no_headers: NoHeaders = False,
    time: TimeZoneShown = UTC_TIMES,
    wide: Wide = False,
    port: Ports = None,
    topic_ids: TopicIds = None,
    keylog: KeyLogs = None,
    separate_networks: SeparateNetworks = False,
    decode_as: DecodeAs = None,
    each_interface: EachInterface = False,
) -> None:
    """Compare two captures; separate real changes from noise.

    Latency of each API, errors, clients, versions, settings, topics, throughput.
    """
    del schema, time  # `_print_schema` has ended the program; the page shows times in a zone
    require_folder(html, "--html")
    require_report_extra()
    from kdiag_cli.commands.report.diff.run import DiffOptions, run  # noqa: PLC0415 - duckdb is an extra

    inputs = capture_inputs(
        port=port,
        keylog=keylog,
        topic_ids=topic_ids,
        separate_networks=separate_networks,
        decode_as=decode_as,
        each_interface=each_interface,
    )
    options = DiffOptions(
        before=before,
        after=after,
        inputs=inputs,
        least_change=least_change / 100,
        fails_on_difference=exit_code,
        html=html,
        output=output,
        has_headers=not no_headers,
        is_wide=wide,
    )
    raise typer.Exit(run(options))
