"""Commands whose modules are imported when they run, not when `kdiag --help` lists them.

The module of a command `a-b` has either a function `a_b` and the text `EXAMPLES`, or, where there
are commands below it, a `typer.Typer` named `app`.
"""

import gc
from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand
from typer.main import get_command

from kdiag_cli.options.help_page import CommandPage


def add_commands(app: typer.Typer, commands: Mapping[str, tuple[str, str, str]]) -> None:
    """Add commands to a program without importing them.

    Args:
        app: the program.
        commands: for each name the module that has the command, its line in the program's help,
            and the heading under which that stands.
    """
    for name, (module, line, panel) in commands.items():
        lazy = type("_Lazy", (_LazyCommand,), {"module": module})
        app.command(name, cls=lazy, help=line, short_help=line, rich_help_panel=panel)(_nothing)


def _nothing() -> None:
    """Stand in for the function of a command that is not imported yet."""


class _LazyCommand(TyperCommand):
    """The name of a command and its line in the help; parsing first imports the rest."""

    module: ClassVar[str]

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Return the context of the imported command, which then runs."""
        command = get_command(_typer_app(str(self.name), self.module))
        if not gc.isenabled():  # the program has just begun, see `__main__`
            gc.freeze()  # modules stay: looking through them for garbage takes 10 ms
            gc.enable()
        return command.make_context(info_name, args, parent, **extra)


def _typer_app(name: str, module_name: str) -> typer.Typer:
    """Import a command and return it as the only one, or the only group, of a Typer."""
    module = import_module(module_name)
    app = getattr(module, "app", None)
    if isinstance(app, typer.Typer):
        return app
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=CommandPage, epilog=module.EXAMPLES)(
        getattr(module, name.replace("-", "_"))
    )
    return app
