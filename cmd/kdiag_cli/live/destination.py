"""The nodes that `--to` names: read, asked in a session, and reported where there are none."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from kdiag.client.cluster_client import ClusterClient
from kdiag.errors import ConnectError, Fault
from kdiag.probe.destination import Destination, Nodes, Way, parse_destination
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.session import OnExchange, live_session
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.terminal import Output, say


def read_destination(text: str) -> Destination:
    """Parse the value of `--to`.

    Raises:
        typer.BadParameter: if it is not a destination.
    """
    try:
        return parse_destination(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="'--to'") from None


@contextmanager
def destination_session(
    destination: Destination, options: LiveOptions, on_exchange: OnExchange | None = None
) -> Iterator[ClusterClient]:
    """Open a client that knows as much of its cluster as the destination needs.

    Raises:
        ConfigError, ConnectError, CaptureError: as `live_session`.
    """
    connects = destination.way is not Way.BOOTSTRAP
    try:
        with live_session(options, on_exchange=on_exchange, connects=connects) as client:
            yield client
    except ConnectError as error:
        if error.fault is not Fault.CONTROLLER:
            raise
        fix = f"{error.fix}; or ask the controller itself, with --to {Way.BOOTSTRAP}"
        raise ConnectError(
            error.address, error.layer, error.why, fix, fault=Fault.CONTROLLER
        ) from None


def report_nowhere(command: str, nodes: Nodes, form: ResultFormat) -> ExitCode:
    """Report why there is nobody to ask; return the exit code."""
    if form is ResultFormat.JSON:
        output = Output()
        print_document(output, command, [], warnings=[nodes.why])
        output.flush()
    say(nodes.why)
    if nodes.error is None:
        return ExitCode.USAGE
    return exit_code_of([nodes.error, ExitCode.FINDINGS])
