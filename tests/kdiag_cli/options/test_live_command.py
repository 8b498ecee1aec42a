"""The options that all live commands have."""

from typing import Annotated

import typer
from typer.testing import CliRunner

from kdiag_cli.options.live import LiveOptions
from kdiag_cli.options.live_command import NO_OPTIONS, live_command
from kdiag_cli.output.document_forms import DocumentForm, chosen_form
from kdiag_cli.output.result import ResultFormat

given: list[object] = []


@live_command
def ping(node: int, *, loud: bool = False, live: LiveOptions = NO_OPTIONS) -> None:
    """Take some options of its own."""
    given[:] = [node, loud, live]


@live_command
def pong(
    *, output: Annotated[str, typer.Option("--output")] = "x", live: LiveOptions = NO_OPTIONS
) -> None:
    """Have an output of its own."""
    given[:] = [output, live]


def run(command: object, *arguments: str) -> int:
    """Run a command and return its exit code."""
    app = typer.Typer()
    app.command()(command)  # type: ignore[type-var]
    return CliRunner().invoke(app, arguments).exit_code


def test_a_command_gets_the_live_options_together() -> None:
    """Beside its own, which stay as they are."""
    assert run(ping, "7", "--loud", "-b", "a:1", "-b", "b:2", "--timeout", "2s", "-w") == 0
    assert given[:2] == [7, True]
    expected = LiveOptions(["a:1", "b:2"], timeout_ns=2_000_000_000, is_wide=True)
    assert given[2] == expected


def test_without_options_they_are_what_nobody_said() -> None:
    """The defaults of `LiveOptions`."""
    assert run(ping, "7") == 0
    assert given == [7, False, NO_OPTIONS]


def test_an_output_of_its_own_takes_the_place_of_the_usual_one() -> None:
    """There cannot be two of a name."""
    assert run(ping, "7", "-o", "json") == 0
    assert given[2] == LiveOptions(output=ResultFormat.JSON)
    assert run(pong, "--output", "mine", "--trace") == 0
    assert given == ["mine", LiveOptions(trace=True)]


forms: list[DocumentForm] = []


@live_command
def ping_form(*, live: LiveOptions = NO_OPTIONS) -> None:
    """Note how documents are written meanwhile."""
    given[:] = [live.output, live.is_wide]
    forms.append(chosen_form())


def test_a_form_holds_while_the_command_runs() -> None:
    """A table is no document; all other forms are that of JSON, written otherwise."""
    assert run(ping_form, "-o", "wide") == 0
    assert given == [ResultFormat.TABLE, True]
    for form in ("json", "jsonl", "yaml", "csv", "tsv"):
        assert run(ping_form, "-o", form) == 0
        assert given == [ResultFormat.JSON, False]
    assert forms == ["json", *DocumentForm]
    assert chosen_form() is DocumentForm.JSON
    assert run(ping_form, "-o", "xml") == 2


def test_other_programs_names_of_options_are_known() -> None:
    """Those of kcl and of Apache's tools; `-v` tells what crosses the wire."""
    assert run(ping, "7", "-v") == 0
    assert given[2] == LiveOptions(trace=True)
    assert run(ping, "7", "-B", "a:1", "--command-property", "client.id=me") == 0
    assert given[2] == LiveOptions(["a:1"], ["client.id=me"])


def test_cells_are_made_safe_only_where_there_are_cells() -> None:
    """An option that does nothing is refused."""
    assert run(ping, "7", "-o", "tsv", "--csv-safe") == 0
    assert run(ping, "7", "-o", "json", "--csv-safe") == 2


def test_a_wrong_time_is_refused() -> None:
    """Before the command runs."""
    assert run(ping, "7", "--timeout", "soon") == 2
