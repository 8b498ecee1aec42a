"""The options of faults, for those who start a lab or a proxy, and what they amount to."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from kdiag.clock import SystemClock
from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.broker.node_switch import NodeSwitch
from kdiag.lab.fault.fault_book import FaultBook
from kdiag.lab.fault.rule import FaultRule
from kdiag.net.address import LARGEST_PORT
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
        help="Let faults be added and brokers stopped by this port of this machine; 0 is any.",
        rich_help_panel=BROKEN,
    ),
]


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
    closing: ExitStack, book: FaultBook | None, port: int | None, lab: LabCluster | None = None
) -> str | None:
    """Return the address of the control port, if there is to be one.

    Args:
        closing: ends it.
        book: the faults.
        port: 0 for any that is free; None for no control port.
        lab: whose brokers can be stopped and started.

    Raises:
        ConnectError: if it cannot be had.
    """
    if book is None or port is None:
        return None
    from kdiag.lab.fault.control.control_port import ControlPort  # noqa: PLC0415 - 25 ms, if asked for

    nodes = None if lab is None else NodeSwitch(lab)
    return closing.enter_context(ControlPort(book, port, nodes)).address
