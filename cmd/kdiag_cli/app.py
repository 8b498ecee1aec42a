"""The program `kdiag`: its table of commands, and the options before a command."""

import gc
import os
from typing import Annotated, Final

import typer
from typer._completion_classes import completion_init

import kdiag
from kdiag_cli.lazy_command import add_commands
from kdiag_cli.options.help_page import GroupPage

COMMANDS: Final = {
    "decode": (
        "kdiag_cli.commands.decode.command",
        "Name every request and response in packet captures.",
    ),
    "tables": (
        "kdiag_cli.commands.report.tables",
        "Explain the tables that captures become, column by column.",
    ),
    "query": (
        "kdiag_cli.commands.report.query",
        "Ask a question about captures in SQL.",
    ),
    "report": (
        "kdiag_cli.commands.report.report",
        "Answer a question that many have about captures.",
    ),
    "diff": (
        "kdiag_cli.commands.report.diff.command",
        "Say what differs between two captures, and what is no more than noise.",
    ),
    "pipeline": (
        "kdiag_cli.commands.pipeline.command",
        "Make tables of captures on Spark, on this machine or on many.",
    ),
    "tune-buffers": (
        "kdiag_cli.commands.tune_buffers.command",
        "Say which socket buffers are best: try them on brokers, or read captures.",
    ),
    "latency": (
        "kdiag_cli.commands.latency.command",
        "Measure how long records take, and where: client, network or broker.",
    ),
    "check": (
        "kdiag_cli.commands.check.command",
        "Check the way to a cluster, layer by layer, and what state it is in.",
    ),
    "tail": (
        "kdiag_cli.commands.tail.command",
        "Follow topics: print their records, exactly, from any offset or time.",
    ),
    "find-coordinator": (
        "kdiag_cli.commands.find_coordinator.command",
        "Ask every broker who coordinates a group, and if that is healthy.",
    ),
    "groups": (
        "kdiag_cli.commands.groups.command",
        "Show every group: its state, members and lag; or all about some.",
    ),
    "txn": (
        "kdiag_cli.commands.txn.command",
        "Show open transactions, those that hang, and how to end them.",
    ),
    "rebalance": (
        "kdiag_cli.commands.rebalance.command",
        "Say why groups rebalance: who, why, how long, who was slowest.",
    ),
    "request": (
        "kdiag_cli.commands.request.command",
        "Send any request of Kafka's protocol, and print the answer.",
    ),
    "api-versions": (
        "kdiag_cli.commands.request.api_versions.command",
        "Show which versions of Kafka's APIs the brokers speak, side by side.",
    ),
    "lab": (
        "kdiag_cli.commands.lab.command",
        "Run a Kafka broker in this process, for clients and tests.",
    ),
    "demo": (
        "kdiag_cli.commands.lab.demo.command",
        "Show what kdiag does, on a Kafka of its own.",
    ),
    "completion": (
        "kdiag_cli.commands.help.completion",
        "Print a script that has a shell complete what you type.",
    ),
    "config": (
        "kdiag_cli.commands.config.command",
        "Show the settings of the client and where each comes from.",
    ),
    "errcode": (
        "kdiag_cli.commands.help.errcode",
        "Explain an error code: what it means and what to do.",
    ),
    "help": (
        "kdiag_cli.commands.help.command",
        "Explain a topic, or list the topics.",
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
        "lab",
        "demo",
    ),
    "Groups": ("groups", "find-coordinator", "rebalance", "txn"),
    "Reference": ("help", "errcode", "config", "completion"),
}
"""The headings of the help, with their commands."""

_EXAMPLES: Final = """\b
Examples:
  kdiag demo
  kdiag decode traffic.pcap
  kdiag check -b localhost:9092
  kdiag find-coordinator -b localhost:9092 orders
  kdiag errcode NOT_COORDINATOR
  kdiag decode --help
  kdiag help
"""

_GC_THRESHOLD: Final = 50_000
"""New objects until the next search for cycles. There are hardly any cycles, and with Python's own
700 the search takes a tenth of a run that keeps thousands of exchanges."""

app = typer.Typer(
    cls=GroupPage,
    help="Diagnostics and protocol toolkit for Apache Kafka.",
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
