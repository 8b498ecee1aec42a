"""`kdiag demo`: its options, of which there is one."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from kdiag_cli.commands.lab.demo.script import CAPTURE, play
from kdiag_cli.commands.lab.demo.shell import DemoError, DemoShell
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.terminal import Output, say

EXAMPLES = """\b
Examples:
  kdiag demo
  kdiag demo --keep

\b
It starts a lab, writes to it, has a group rebalance, has writes refused, looks at all of it, and
decodes the capture of the traffic: the cause is in its first finding. Each step is a command that
is printed before it runs, as you would type it. It needs no network and no Java, takes a few
seconds, and leaves nothing behind without --keep.

\b
Exit codes: 0 done, 1 a command did not do what it should, 130 interrupted.
"""


def demo(
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help=f"Leave the capture, {CAPTURE}, in this folder.")
    ] = False,
) -> None:
    """Show a fault and how kdiag finds it, in a lab."""
    kept = Path(CAPTURE)
    if keep and kept.exists():
        raise typer.BadParameter(f"{CAPTURE} exists here: move it first", param_hint="--keep")
    output = Output()
    with TemporaryDirectory(prefix="kdiag-demo-") as scratch:
        try:
            with DemoShell(Path(scratch), output) as shell:
                play(shell)
            if keep:
                shutil.copyfile(Path(scratch, CAPTURE), kept)
        except (DemoError, OSError) as error:
            say(str(error))
            raise typer.Exit(ExitCode.FINDINGS) from None
    if keep:
        say(f"kept {CAPTURE}: kdiag decode {CAPTURE} --summary")
    else:
        say(f"{CAPTURE} is removed; kdiag demo --keep leaves it here")
