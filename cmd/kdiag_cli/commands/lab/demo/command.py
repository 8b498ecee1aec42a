"""`kdiag demo`: its options, of which there is one."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from kdiag_cli.commands.lab.demo.script import play
from kdiag_cli.commands.lab.demo.shell import DemoError, DemoShell
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.terminal import Output, say

EXAMPLES = """\b
Examples:
  kdiag demo
  kdiag demo --keep ./demo

\b
It starts a lab, writes to it, has a group rebalance, looks at all of it, and decodes the capture of
what went on. Each step is a command that is printed before it runs, as you would type it. It needs
no network and no Java, takes a few seconds, and leaves nothing behind.

\b
Exit codes: 0 done, 1 a command did not do what it should, 130 interrupted.
"""


def demo(
    *,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="DIR",
            help="Leave the capture and the settings for clients in this folder.",
            file_okay=False,
        ),
    ] = None,
) -> None:
    """Show what kdiag does, on a Kafka of its own."""
    output = Output()
    with TemporaryDirectory(prefix="kdiag-demo-") as scratch:
        folder = Path(scratch) if keep is None else keep
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with DemoShell(folder, output) as shell:
                play(shell)
        except (DemoError, OSError) as error:
            say(str(error))
            raise typer.Exit(ExitCode.FINDINGS) from None
