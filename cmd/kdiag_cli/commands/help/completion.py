"""`kdiag completion`: prints the script that completes commands, options, groups and topics."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from kdiag_cli.output.terminal import Output

EXAMPLES = """\b
Examples:
  source <(kdiag completion bash)
  source <(kdiag completion zsh)
  kdiag completion fish > ~/.config/fish/completions/kdiag.fish

\b
The first two belong into ~/.bashrc or ~/.zshrc (after compinit). Groups, topics and brokers are
asked from the cluster that the command line, the environment or the profile names, for a second
at the most.
"""

SCRIPTS: Final = Path(__file__).parent / "scripts"
"""The folder of the scripts, a file for each shell."""


class Shell(StrEnum):
    """A shell that can complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell that the script is for.")],
) -> None:
    """Print shell completions, or write man pages."""
    output = Output()
    output.write((SCRIPTS / f"kdiag.{shell}").read_bytes())
    output.flush()
