"""`kdiag lab proxy`: its arguments and options."""

from pathlib import Path
from typing import Annotated

import typer

from kdiag.lab.broker.lab_cluster import LOOPBACK
from kdiag.net.address import LARGEST_PORT
from kdiag_cli.commands.lab.faults.options import ControlPortNumber, FaultFiles, FaultTexts
from kdiag_cli.commands.lab.options import LabFormat, read_fault_files
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.options.live_command import NO_OPTIONS, live_command

PROXY_EXAMPLES = """\b
Examples:
  kdiag lab proxy -b localhost:9092 --fault 'Produce delay=500ms'
  kdiag lab proxy -b kafka:9092 --port 9092 --control-port 8095 --pcap proxy.pcapng
  kdiag lab proxy --config client.properties --fault 'any client_id=app-* close=middle p=0.01'

\b
Clients that begin with what it prints stay behind it: answers have its own addresses in place of
the brokers'. They speak plaintext to it; towards the cluster it logs in as -b, --config and -X say.
See `kdiag help lab`.

\b
Exit codes: 2 wrong usage or the control port cannot be had, 3 cannot connect or listen, 4
authentication, 5 authorization, 6 timeout, 130 interrupted (Ctrl-C), 143 by SIGTERM.
"""


@live_command
def proxy(  # noqa: PLR0913 - a parameter for each option
    *,
    port: Annotated[
        int,
        typer.Option(
            "--port",
            min=0,
            max=LARGEST_PORT,
            help="Listen here for the first broker, the next ones follow; 0 is any that are free.",
        ),
    ] = 0,
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Listen on this address, and send it to clients. Not protected."
        ),
    ] = LOOPBACK,
    pcap: Annotated[
        Path | None,
        typer.Option(
            "--pcap", metavar="FILE", help="Record the traffic of clients, without passwords."
        ),
    ] = None,
    faults: FaultTexts = None,
    fault_files: FaultFiles = None,
    control_port: ControlPortNumber = None,
    output: Annotated[
        LabFormat, typer.Option("--output", "-o", help="Text, or events as JSON, one a line.")
    ] = LabFormat.TEXT,
    live: LiveOptions = NO_OPTIONS,
) -> None:
    """Inject faults between clients and a real cluster.

    It listens for each broker on this machine until Ctrl-C, and prints the bootstrap servers on
    stdout. Requests and answers pass byte for byte, but for addresses of brokers and for what
    faults change.
    """
    from kdiag_cli.commands.lab.proxy.run import ProxyOptions, run_proxy  # noqa: PLC0415 - 60 ms, not for --help

    if live.trace or live.write is not None:
        raise typer.BadParameter("a proxy records by --pcap", param_hint="'--trace', '--write'")
    options = ProxyOptions(
        host=host,
        port=port,
        capture=pcap,
        faults=(*(faults or ()), *read_fault_files(fault_files or [])),
        control_port=control_port,
        is_json=output is LabFormat.JSONL,
    )
    raise typer.Exit(run_proxy(options, live))
