"""Commands whose modules are imported when they run, not when `kdiag --help` lists them.

Command `a-b` lives in module `kdiag_cli.a_b`, which has either a function `a_b` and the text
`EXAMPLES`, or, where there are commands below it, a `typer.Typer` named `app`.
"""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command


def add_commands(app: typer.Typer, commands: dict[str, str]) -> None:
    """Add commands, each with the line that the program's help has for it."""
    for name, line in commands.items():
        app.command(name, cls=_LazyCommand, help=line, short_help=line)(_nothing)


def _nothing() -> None:
    """Stand for a command's function, which is not imported yet."""


class _LazyCommand(TyperCommand):
    """A command's name and its line in the help; parsing begins with the import of the rest."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Return the context of the command itself, which is what runs."""
        command = get_command(_typer_app(str(self.name)))
        return command.make_context(info_name, args, parent, **extra)


def _typer_app(name: str) -> typer.Typer:
    """Import a command and return it as the only one, or the only group, of a Typer."""
    function = name.replace("-", "_")
    module = import_module(f"kdiag_cli.{function}")
    app = getattr(module, "app", None)
    if isinstance(app, typer.Typer):
        return app
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, epilog=module.EXAMPLES)(getattr(module, function))
    return app
