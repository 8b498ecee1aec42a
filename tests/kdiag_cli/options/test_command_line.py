from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command

from kdiag_cli.options.command_line import given_options
from kdiag_cli.options.help_page import CommandPage


def repeat(  # noqa: PLR0913 - a parameter for each kind of option
    context: typer.Context,
    names: list[str],
    *,
    properties: Annotated[list[str] | None, typer.Option("--property", "-X")] = None,
    start: Annotated[str, typer.Option("--start", "-s", parser=str.upper)] = "",
    is_quiet: Annotated[bool, typer.Option("--quiet", "-q")] = False,
    has_times: Annotated[bool, typer.Option("--times/--no-times")] = True,
) -> None:
    """Keep what can be repeated."""
    del names, properties, start, is_quiet, has_times
    context.obj.extend(given_options(context, {"is_quiet"}))


def repeated(*words: str) -> list[str]:
    """Return the options of a command line that are to be repeated."""
    app = typer.Typer(add_completion=False)
    app.command(cls=CommandPage)(repeat)
    kept: list[str] = []
    command: Any = get_command(app)
    command.main([*words], standalone_mode=False, obj=kept)
    return kept


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["a", "--start", "xyz"], ["-s", "xyz"]),
        (["a", "--start=x y", "b"], ["-s", "x y"]),
        (["-s", "x", "a", "-s", "yz"], ["-s", "yz"]),
        (["a", "-q"], []),
        (["a", "--no-times"], ["--no-times"]),
        (
            ["a", "-X", "client.id=a b", "-X", "client.rack=b"],
            ["-X", "client.id=a b", "-X", "client.rack=b"],
        ),
        (["a", "-X", "sasl.password=hush", "-X", "client.rack=b"], ["-X", "client.rack=b"]),
        (["a", "-X", "ssl.key.password = hush"], []),
        (["a", "-X", "unknown.setting=hush"], []),
        (["a", "-X", "sasl.jaas.config=x required password=hush;"], []),
        (["a"], []),
    ],
)
def test_options_are_repeated_as_they_were_typed(words: list[str], options: list[str]) -> None:
    """In their shortest form; without arguments, what is left out, and secrets."""
    assert repeated(*words) == options
