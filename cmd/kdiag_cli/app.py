"""The program `kdiag`: its table of commands, and the options before a command."""

import gc
import os
from typing import Annotated, Any, Final

import typer
from typer._completion_classes import completion_init

import kdiag
from kdiag_cli.lazy_command import add_commands
from kdiag_cli.options.help_page import GroupPage

COMMANDS: Final = {
    "decode": (
        "kdiag_cli.commands.decode.command",
        "Print each request and response in packet captures.",
    ),
    "tables": (
        "kdiag_cli.commands.report.tables",
        "Explain the columns of the tables made from captures.",
    ),
    "query": (
        "kdiag_cli.commands.report.query",
        "Answer a question about captures in SQL.",
    ),
    "report": (
        "kdiag_cli.commands.report.report",
        "Run a predefined report on captures.",
    ),
    "diff": (
        "kdiag_cli.commands.report.diff.command",
        "Compare two captures; separate real changes from noise.",
    ),
    "pipeline": (
        "kdiag_cli.commands.pipeline.command",
        "Make the tables of many captures, on Spark.",
    ),
    "tune-buffers": (
        "kdiag_cli.commands.tune_buffers.command",
        "Find the best socket buffer sizes.",
    ),
    "latency": (
        "kdiag_cli.commands.latency.command",
        "Measure how long records take, and where.",
    ),
    "check": (
        "kdiag_cli.commands.check.command",
        "Test the connection to a cluster layer by layer.",
    ),
    "tail": (
        "kdiag_cli.commands.tail.command",
        "Print the records of topics from any offset or time.",
    ),
    "find-coordinator": (
        "kdiag_cli.commands.find_coordinator.command",
        "Show the coordinator of a group, and its health.",
    ),
    "groups": (
        "kdiag_cli.commands.groups.command",
        "List consumer groups with state, members and lag.",
    ),
    "txn": (
        "kdiag_cli.commands.txn.command",
        "List open transactions, find hanging ones, abort them.",
    ),
    "rebalance": (
        "kdiag_cli.commands.rebalance.command",
        "Explain rebalances: the cause and the slowest member.",
    ),
    "request": (
        "kdiag_cli.commands.request.command",
        "Send any request of Kafka's protocol.",
    ),
    "api-versions": (
        "kdiag_cli.commands.request.api_versions.command",
        "Compare which API versions the brokers support.",
    ),
    "lab": (
        "kdiag_cli.commands.lab.command",
        "Run a Kafka cluster in one process, for tests.",
    ),
    "demo": (
        "kdiag_cli.commands.lab.demo.command",
        "Show a fault and how kdiag finds it, in a lab.",
    ),
    "completion": (
        "kdiag_cli.commands.help.completion",
        "Print shell completions, or write man pages.",
    ),
    "config": (
        "kdiag_cli.commands.config.command",
        "Show the settings in force, and where each comes from.",
    ),
    "errcode": (
        "kdiag_cli.commands.help.errcode",
        "Explain an error code: what it means and what to do.",
    ),
    "help": (
        "kdiag_cli.commands.help.command",
        "Explain a topic, or search all topics for a word.",
    ),
}
"""The module of each command, imported when the command runs, and its line in the help."""

PANELS: Final = {
    "Captures": ("decode", "report", "diff", "query", "tables", "pipeline"),
    "Cluster": (
        "check",
        "tail",
        "latency",
        "tune-buffers",
        "request",
        "api-versions",
    ),
    "Groups": ("groups", "find-coordinator", "rebalance", "txn"),
    "Lab": ("lab", "demo"),
    "Reference": ("help", "errcode", "config", "completion"),
}
"""The headings of the help, with their commands."""

_SYMPTOMS: Final = """\
  kdiag decode traffic.pcap --summary     what is wrong in a capture
  kdiag check -b HOST:PORT                why clients cannot connect
  kdiag groups -b HOST:PORT               who lags, and why
  kdiag rebalance explain traffic.pcap    why a group rebalances
  kdiag report compat traffic.pcap        who breaks on Kafka 4
  kdiag demo                              a fault and how it is found
"""

_NAMES: Final = "\n".join(f"{panel:<10} {' '.join(names)}" for panel, names in PANELS.items())

FIRST_SCREEN: Final = f"""\
kdiag: why Apache Kafka misbehaves, from the wire

{_SYMPTOMS}
{_NAMES}

kdiag help symptoms: which command for which trouble
kdiag --help: what each command does
"""
"""What `kdiag` alone prints: fits any terminal, and needs no pager."""

_EXAMPLES: Final = f"\b\nExamples:\n{_SYMPTOMS}"

_GC_THRESHOLD: Final = 50_000
"""New objects until the next search for cycles. There are hardly any cycles, and with Python's own
700 the search takes a tenth of a run that keeps thousands of exchanges."""


class _Program(GroupPage):
    """The program itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; without any, print the first screen."""
        if not args and not ctx.resilient_parsing:
            typer.echo(FIRST_SCREEN, nl=False)
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; for a word that is none, name the command that was meant."""
        if args[0] in self.commands or ctx.resilient_parsing or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        from kdiag_cli.options.wrong_words import command_meant  # noqa: PLC0415 - 5 ms, few need it

        return ctx.fail(command_meant(args, self.commands))


app = typer.Typer(
    cls=_Program,
    help="Find out why Apache Kafka misbehaves, from the wire.",
    epilog=_EXAMPLES,
    no_args_is_help=True,  # on stdout, with exit code 0
    add_completion=False,  # `kdiag completion` prints better scripts
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich would cost three times the rest of a `--help`
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
add_commands(
    app,
    {name: (*COMMANDS[name], panel) for panel, names in PANELS.items() for name in names},
)


def _print_version(is_asked: bool) -> None:  # noqa: FBT001 - the signature of a typer callback
    if is_asked:
        typer.echo(f"kdiag {kdiag.__version__}")
        raise typer.Exit


@app.callback()
def _kdiag(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Declare the options before a command."""


def main() -> None:
    """Run the program."""
    gc.set_threshold(_GC_THRESHOLD)
    # numpy would start threads for matrices, of which there are none: 50 ms.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if "_KDIAG_COMPLETE" in os.environ:  # a shell asks, by a script of `kdiag completion`
        completion_init()
    app(prog_name="kdiag")
