"""`kdiag tune-buffers`: what it takes. The work is in `captured_paths`, imported when it runs."""

from typing import Annotated

import typer

from kdiag.finding_rules.rule import Severity
from kdiag_cli.capture_options import KeyLogs, Ports
from kdiag_cli.live_document import LiveOutput
from kdiag_cli.result_options import FailOn, NoHeaders

EXAMPLES = """\b
Examples:
  kdiag tune-buffers traffic.pcap
  kdiag tune-buffers traffic.pcap --rate 10Gbit
  kdiag tune-buffers traffic.pcap -o json | jq '.findings[].title'
  tcpdump -i any -c 100000 -w - 'tcp port 9092' | kdiag tune-buffers -

\b
Exit codes: 0 done, 1 a finding at or above --fail-on, 2 wrong usage or an unreadable file,
8 partial (the capture lacks bytes, or ends early), 130 interrupted.
"""


def tune_buffers(  # noqa: PLR0913 - a parameter for each option
    files: Annotated[
        list[str],
        typer.Argument(metavar="CAPTURE...", help="Captures, folders of captures, or - for stdin."),
    ],
    *,
    rate: Annotated[
        str, typer.Option(metavar="RATE", help="The rate to make room for: 1Gbit, 200Mbit.")
    ] = "1Gbit",
    output: Annotated[
        LiveOutput, typer.Option("--output", "-o", help="A table for people, or for programs.")
    ] = LiveOutput.TABLE,
    no_headers: NoHeaders = False,
    port: Ports = None,
    keylog: KeyLogs = None,
    fail_on: FailOn = Severity.ERROR,
) -> None:
    """Say what limits each connection of a capture: buffers, network or programs.

    Reads windows, window scaling, losses, bytes in flight and round trips, and says which side
    holds a connection back and what to change. Capture whole packets and connections from their
    beginning: only SYNs tell how windows are scaled.
    """
    # `--help` must not load what only the run needs.
    from kdiag_cli import captured_paths  # noqa: PLC0415
    from kdiag_cli.decode_options import DecodeOptions, read_bits_per_s  # noqa: PLC0415

    options = captured_paths.PathOptions(
        traffic=DecodeOptions(files=files, ports=frozenset(port or ()), keylogs=keylog or []),
        bits_per_s=read_bits_per_s(rate),
        output=output,
        has_headers=not no_headers,
        fail_on=fail_on,
    )
    raise typer.Exit(captured_paths.run(options))
