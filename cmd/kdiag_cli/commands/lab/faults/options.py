"""The options of faults, for those who start a lab or a proxy, and what they amount to."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from kdiag.clock import SystemClock
from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.broker.node_switch import NodeSwitch
from kdiag.lab.fault.fault_book import FaultBook
from kdiag.lab.fault.rule import FaultRule
from kdiag.net.address import LARGEST_PORT
from kdiag_cli.commands.lab.faults.control_token import publish_token
from kdiag_cli.commands.lab.options import read_fault

BROKEN = "What goes wrong"

FaultTexts = Annotated[
    list[FaultRule] | None,
    typer.Option(
        "--fault",
        metavar="FAULT",
        help="Let this go wrong, as in 'Fetch topic=orders delay=200ms p=0.1'. Repeatable.",
        parser=read_fault,
        rich_help_panel=BROKEN,
    ),
]
FaultFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--faults",
        metavar="FILE",
        help="Faults in YAML (`kdiag lab fault schema`). Repeatable.",
        dir_okay=False,
        rich_help_panel=BROKEN,
    ),
]
ControlPortNumber = Annotated[
    int | None,
    typer.Option(
        "--control-port",
        metavar="PORT",
        min=0,
        max=LARGEST_PORT,
        help="Accept faults and stop brokers over HTTP on this port of 127.0.0.1; 0 is any free "
        "port. Only you can use it: each request needs the token that is in a file of yours.",
        rich_help_panel=BROKEN,
    ),
]


class OpenControl(NamedTuple):
    """A control port that is open.

    Attributes:
        address: `host:port`.
        token_file: has what its requests must bring.
    """

    address: str
    token_file: Path


def book_of(faults: Sequence[FaultRule], control_port: int | None) -> FaultBook | None:
    """Return the faults; None if there are none, and none can come.

    Raises:
        ConfigError: if there are too many.
    """
    if not faults and control_port is None:
        return None
    book = FaultBook(SystemClock())
    for each in faults:
        book.add(each)
    return book


def open_control(
    closing: ExitStack,
    book: FaultBook | None,
    port: int | None,
    lab: LabCluster | None = None,
    folder: Path | None = None,
) -> OpenControl | None:
    """Return the control port, if there is to be one.

    Args:
        closing: ends it.
        book: the faults.
        port: 0 for any that is free; None for no control port.
        lab: whose brokers can be stopped and started.
        folder: that of client.properties, which gets the token, too.

    Raises:
        ConfigError: if the file of its token cannot be written.
        ConnectError: if it cannot be had.
    """
    if book is None or port is None:
        return None
    from kdiag.lab.fault.control.control_port import ControlPort  # noqa: PLC0415 - 25 ms, if asked for

    nodes = None if lab is None else NodeSwitch(lab)
    control = closing.enter_context(ControlPort(book, port, nodes))
    return OpenControl(control.address, publish_token(closing, control.token, control.port, folder))
