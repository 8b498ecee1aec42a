"""`kdiag lab run` and `kdiag lab scenarios`: their arguments and options."""

from pathlib import Path
from typing import Annotated

import typer

from kdiag_cli.options.help_page import CommandPage, DefaultGroup
from kdiag_cli.options.live import LiveFormat, OutputFormat
from kdiag_cli.options.results import CsvSafe, NoHeaders, check_csv_safe
from kdiag_cli.output.document_forms import form_chosen

LIST = "list"
RUN_EXAMPLES = """\b
Examples:
  kdiag lab run member-dies
  kdiag lab run member-dies --without-disturbance
  kdiag lab run my-scenario.yaml --pcap my-scenario.pcapng
  kdiag lab run --all --both --junit scenarios.xml

\b
A scenario passes if kdiag finds what it names; without the disturbance, if kdiag finds nothing of
that. `kdiag lab scenarios` lists those that come with kdiag; `kdiag help lab` has how to write one.

\b
Exit codes: 0 all pass, 1 one does not, 2 wrong usage or not a scenario, 6 one came to no end in its
time, 130 interrupted (Ctrl-C).
"""
LIST_EXAMPLES = """\b
Examples:
  kdiag lab scenarios
  kdiag lab scenarios list -o json
  kdiag lab scenarios show member-dies > my-scenario.yaml
"""
SHOW_EXAMPLES = """\b
Examples:
  kdiag lab scenarios show member-dies > my-scenario.yaml

\b
Exit codes: 0 done, 2 there is no such scenario.
"""
SCHEMA_EXAMPLES = """\b
Examples:
  kdiag lab scenarios schema > scenario.schema.json
"""


class ListScenariosByDefault(DefaultGroup):
    """Lists where no command is named."""

    default = LIST


scenarios_app = typer.Typer(
    cls=ListScenariosByDefault,
    help="List the scenarios that come with kdiag, and what each teaches.",
    add_completion=False,
    rich_markup_mode=None,
)


def _names() -> list[str]:
    """Return the names of the scenarios that come with kdiag, for shells."""
    from kdiag.lab.scenario.shipped import shipped_scenarios  # noqa: PLC0415 - 60 ms, not for --help

    return [each.name for each in shipped_scenarios()]


def run_scenarios(  # noqa: PLR0913 - a parameter for each option
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SCENARIO]...",
            help="A file, or the name of one that comes with kdiag.",
            autocompletion=_names,
        ),
    ] = None,
    *,
    are_all: Annotated[bool, typer.Option("--all", help="Run all that come with kdiag.")] = False,
    without_disturbance: Annotated[
        bool,
        typer.Option(
            "--without-disturbance", help="Leave out what disturbs: nothing may be found then."
        ),
    ] = False,
    is_both: Annotated[
        bool, typer.Option("--both", help="Run each with its disturbance, and without.")
    ] = False,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", help="Write the results as JUnit XML, too."),
    ] = None,
    pcap: Annotated[
        Path | None,
        typer.Option("--pcap", metavar="FILE", help="Keep the recording of the traffic."),
    ] = None,
    output: OutputFormat = LiveFormat.TABLE,
    csv_safe: CsvSafe = False,
    no_headers: NoHeaders = False,
) -> None:
    """Run scenarios: make trouble in a lab, and see whether kdiag finds it."""
    from kdiag_cli.commands.lab.scenario import run  # noqa: PLC0415 - 120 ms, not for --help

    if are_all == bool(scenarios):
        raise typer.BadParameter("give scenarios, or --all", param_hint="SCENARIO...")
    if is_both and without_disturbance:
        raise typer.BadParameter("choose one of --both and --without-disturbance")
    options = run.RunOptions(
        names=tuple(scenarios or ()),
        ways=(True, False) if is_both else (not without_disturbance,),
        junit=junit,
        pcap=pcap,
        has_headers=not no_headers,
    )
    check_csv_safe(output, is_csv_safe=csv_safe)
    with form_chosen(output.document, is_csv_safe=csv_safe):
        code = run.run_all(options, output.result)
    raise typer.Exit(code)


@scenarios_app.command(LIST, cls=CommandPage, epilog=LIST_EXAMPLES)
def list_scenarios(
    *,
    output: OutputFormat = LiveFormat.TABLE,
    csv_safe: CsvSafe = False,
    no_headers: NoHeaders = False,
) -> None:
    """List the scenarios that come with kdiag, and what each teaches."""
    from kdiag_cli.commands.lab.scenario import run  # noqa: PLC0415 - as above

    check_csv_safe(output, is_csv_safe=csv_safe)
    with form_chosen(output.document, is_csv_safe=csv_safe):
        run.print_list(output.result, has_headers=not no_headers)


@scenarios_app.command("show", cls=CommandPage, epilog=SHOW_EXAMPLES)
def show_scenario(
    name: Annotated[str, typer.Argument(help="Of a scenario.", autocompletion=_names)],
) -> None:
    """Print the file of a scenario that comes with kdiag, to begin one's own with."""
    from kdiag_cli.commands.lab.scenario import run  # noqa: PLC0415 - as above

    raise typer.Exit(run.show(name))


@scenarios_app.command("schema", cls=CommandPage, epilog=SCHEMA_EXAMPLES)
def print_schema() -> None:
    """Print the JSON schema of scenarios."""
    from kdiag_cli.commands.lab.scenario import run  # noqa: PLC0415 - as above

    run.print_schema()
