"""`kdiag lab fault`: its commands, their arguments and options."""

from pathlib import Path
from typing import Annotated

import typer

from kdiag_cli.options.help_page import CommandPage, DefaultGroup
from kdiag_cli.options.live import LiveFormat, OutputFormat
from kdiag_cli.options.results import CsvSafe, NoHeaders, check_csv_safe
from kdiag_cli.output.document_forms import form_chosen

LIST = "list"
LIST_EXAMPLES = """\b
Examples:
  kdiag lab fault --control 127.0.0.1:8095
  kdiag lab fault list -o json

\b
`seen` is how many requests a fault's filters have let through, `fired` for how many of them it has
happened, `in_situation` how many others it has concerned as long as it lasted, and `passed_over`
how many answers had no place for it. KDIAG_LAB_CONTROL can be the address, too. Only the user who
started the lab or the proxy can use its control port; see --control-token.

\b
Exit codes: 0 done, 2 wrong usage, 3 no control port answers.
"""
ADD_EXAMPLES = """\b
Examples:
  kdiag lab fault add 'Fetch topic=orders delay=200ms p=0.1' --control 127.0.0.1:8095
  kdiag lab fault add 'JoinGroup nth=2 move_coordinator=2s' 'Heartbeat storm=10s times=1'

\b
`kdiag help lab` has the grammar.

\b
Exit codes: 0 done, 2 wrong usage or not a fault, 3 no control port answers.
"""
REMOVE_EXAMPLES = """\b
Examples:
  kdiag lab fault remove 1 --control 127.0.0.1:8095
  kdiag lab fault remove --all

\b
Exit codes: 0 done, 2 wrong usage, or there is no such fault, 3 no control port answers.
"""
SCHEMA_EXAMPLES = """\b
Examples:
  kdiag lab fault schema > faults.schema.json
"""

Control = Annotated[
    str | None,
    typer.Option(
        "--control",
        metavar="HOST:PORT",
        help="The control port, as `kdiag lab --control-port` printed it.",
        envvar="KDIAG_LAB_CONTROL",
    ),
]

ControlToken = Annotated[
    Path | None,
    typer.Option(
        "--control-token",
        metavar="FILE",
        help="The file with the token of the control port, as `kdiag lab` named it. By default the "
        "one that a lab or proxy of yours has left for this port.",
        dir_okay=False,
    ),
]


class ListFaultsByDefault(DefaultGroup):
    """Lists where no command is named."""

    default = LIST


app = typer.Typer(
    cls=ListFaultsByDefault,
    help="Add faults to a lab or a proxy that runs, and see what they did.",
    add_completion=False,
    rich_markup_mode=None,
)


@app.command(LIST, cls=CommandPage, epilog=LIST_EXAMPLES)
def list_faults(
    *,
    control: Control = None,
    control_token: ControlToken = None,
    output: OutputFormat = LiveFormat.TABLE,
    csv_safe: CsvSafe = False,
    no_headers: NoHeaders = False,
) -> None:
    """List the faults that are in force, with their counters."""
    from kdiag_cli.commands.lab.faults import run  # noqa: PLC0415 - 30 ms, not for --help

    address = run.ControlAddress(control, control_token)
    check_csv_safe(output, is_csv_safe=csv_safe)
    with form_chosen(output.document, is_csv_safe=csv_safe):
        code = run.show(address, output.result, has_headers=not no_headers)
    raise typer.Exit(code)


@app.command("add", cls=CommandPage, epilog=ADD_EXAMPLES)
def add_faults(
    faults: Annotated[list[str], typer.Argument(metavar="FAULT...", help="What goes wrong.")],
    *,
    control: Control = None,
    control_token: ControlToken = None,
) -> None:
    """Put faults into force, and print the number of each."""
    from kdiag_cli.commands.lab.faults import run  # noqa: PLC0415 - as above

    address = run.ControlAddress(control, control_token)
    raise typer.Exit(run.add(address, faults))


@app.command("remove", cls=CommandPage, epilog=REMOVE_EXAMPLES)
def remove_faults(
    numbers: Annotated[
        list[int] | None, typer.Argument(metavar="[NUMBER]...", help="Of faults.", min=1)
    ] = None,
    *,
    are_all: Annotated[bool, typer.Option("--all", help="Remove every fault.")] = False,
    control: Control = None,
    control_token: ControlToken = None,
) -> None:
    """End faults."""
    from kdiag_cli.commands.lab.faults import run  # noqa: PLC0415 - as above

    if bool(numbers) == are_all:
        raise typer.BadParameter("give numbers, or --all", param_hint="NUMBER...")
    address = run.ControlAddress(control, control_token)
    raise typer.Exit(run.remove(address, numbers or ()))


@app.command("schema", cls=CommandPage, epilog=SCHEMA_EXAMPLES)
def print_schema() -> None:
    """Print the JSON schema of files for --faults."""
    from kdiag_cli.commands.lab.faults import run  # noqa: PLC0415 - as above

    run.print_faults_schema()
