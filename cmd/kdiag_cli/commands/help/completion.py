"""`kdiag completion`: prints the script that completes commands and names, or writes man pages."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.help_page import document_of
from kdiag_cli.output.terminal import Output, say

EXAMPLES = """\b
Examples:
  source <(kdiag completion bash)
  source <(kdiag completion zsh)
  kdiag completion fish > ~/.config/fish/completions/kdiag.fish
  kdiag completion man ~/.local/share/man/man1

\b
The first two belong in ~/.bashrc or ~/.zshrc (after compinit). Groups, topics and brokers
come from the cluster that the command line, the environment or the profile names, within a second.
After the last, `man kdiag` and `man kdiag-decode` show what --help does.
"""

SCRIPTS: Final = Path(__file__).parent / "scripts"
"""The folder of the scripts, a file for each shell."""


class Shell(StrEnum):
    """A shell that can complete, or `man`, which shows pages."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    MAN = "man"


def completion(
    context: typer.Context,
    shell: Annotated[Shell, typer.Argument(help="The shell that the script is for, or man.")],
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="Of man: the folder to write pages to."),
    ] = None,
) -> None:
    """Print shell completions, or write man pages."""
    if (shell is Shell.MAN) is (folder is None):
        why = "kdiag completion man DIR: DIR is needed for man, and for no shell"
        raise typer.BadParameter(why, param_hint="DIR")
    if folder is not None:
        _write_pages(context, folder)
        return
    output = Output()
    output.write((SCRIPTS / f"kdiag.{shell}").read_bytes())
    output.flush()


def _write_pages(context: typer.Context, folder: Path) -> None:
    from kdiag_cli.commands.help.man import man_pages  # noqa: PLC0415 - 1 ms, for no shell

    pages = man_pages(json.loads(document_of(context.find_root())))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        say(f"{error.filename}: {error.strerror}")
        raise typer.Exit(ExitCode.USAGE) from None
    say(f"wrote {len(pages)} man pages to {folder}: man -l {folder / 'kdiag.1'}")
