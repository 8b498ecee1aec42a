"""`kdiag errcode`: the meaning of an error code, its usual causes, and what to do."""

from textwrap import wrap
from typing import Annotated, Final

import typer

from kdiag.diagnosis.error_codes.catalog import KNOWN_ERRORS
from kdiag.diagnosis.error_codes.known_error import KnownError
from kdiag.diagnosis.error_codes.search import find_errors, near_names
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.help_page import CommandPage, brief
from kdiag_cli.options.results import NoHeaders, Wide
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import BOLD, Output, harmless, print_paragraph, say

EXAMPLES = """\b
Examples:
  kdiag errcode 15
  kdiag errcode NOT_COORDINATOR 27
  kdiag errcode coordinator
  kdiag errcode NotLeaderOrFollowerException
  kdiag errcode _TRANSPORT
  kdiag errcode -o json 15

\b
Exit codes: 0 done, 2 wrong usage or no such error.
"""

_WIDTH: Final = 100
_INDENT: Final = "  "

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def complete_errors() -> list[tuple[str, str]]:
    """Return the names of errors with their meaning, for a shell to complete."""
    return [(each.name, brief(each.meaning)) for each in KNOWN_ERRORS]


@app.command(cls=CommandPage, epilog=EXAMPLES, context_settings={"ignore_unknown_options": True})
def errcode(
    errors: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CODE|NAME]...",
            help="A code, a name or a part of one, or a Java exception.",
            autocompletion=complete_errors,
        ),
    ] = None,
    *,
    output: Annotated[
        ResultFormat, typer.Option("--output", "-o", help="Text for people, or JSON for programs.")
    ] = ResultFormat.TABLE,
    no_headers: NoHeaders = False,
    wide: Wide = False,
) -> None:
    """Explain an error code: what it means and what to do.

    Knows every error of Kafka, and those that librdkafka makes up. Without an error, lists all.
    """
    found = {text: find_errors(text) for text in errors or ()}
    unknown = [text for text, matches in found.items() if not matches]
    if unknown:
        _say_unknown(unknown)
        raise typer.Exit(ExitCode.USAGE)
    screen = Output(is_wide=wide)
    if output is ResultFormat.JSON:
        every = [each for matches in found.values() for each in matches]
        print_document(screen, "errcode", every if errors else KNOWN_ERRORS)
    elif errors:
        for number, matches in enumerate(found.values()):
            if number:
                screen.line("")
            _print_matches(screen, matches, has_headers=not no_headers)
    else:
        _print_list(screen, list(KNOWN_ERRORS), has_headers=not no_headers)
    screen.flush()


def _say_unknown(texts: list[str]) -> None:
    for text in texts:
        near = near_names(text)
        hint = f"; did you mean {' or '.join(near)}?" if near else ": kdiag errcode lists all"
        say(f"no error is called {text!r}{hint}")


def _print_matches(screen: Output, matches: list[KnownError], *, has_headers: bool) -> None:
    if len(matches) == 1:
        _print_one(screen, matches[0])
    else:
        _print_list(screen, matches, has_headers=has_headers)


def _print_list(screen: Output, errors: list[KnownError], *, has_headers: bool) -> None:
    columns = ("CODE", "NAME", TableColumn("RETRIABLE", 1), "MEANING")
    rows = [(each.code, each.name, _yes_no(each.is_retriable), each.meaning) for each in errors]
    print_table(screen, columns, rows, has_headers=has_headers)


def _print_one(screen: Output, error: KnownError) -> None:
    screen.line(f"{screen.paint(error.name, BOLD)} ({error.code})")
    _print_wrapped(screen, error.meaning)
    if error.causes:
        screen.line(screen.paint("Usual causes", BOLD))
        for cause in error.causes:
            _print_wrapped(screen, cause, bullet="- ")
    screen.line(screen.paint("What to do", BOLD))
    _print_wrapped(screen, error.fix)
    facts = [
        ("Retriable", _yes_no(error.is_retriable)),
        ("Returned by", ", ".join(error.apis)),
        ("In Java", error.java_exception),
        ("Of", "librdkafka, never on the wire" if error.source == "librdkafka" else None),
    ]
    for name, value in facts:
        if value:
            print_paragraph(screen, value, f"{name}: ")


def _print_wrapped(screen: Output, text: str, bullet: str = "") -> None:
    width = min(screen.width or _WIDTH, _WIDTH)
    rest = _INDENT + " " * len(bullet)
    for line in wrap(text, width, initial_indent=_INDENT + bullet, subsequent_indent=rest):
        screen.line(harmless(line))


def _yes_no(is_true: bool | None) -> str | None:  # noqa: FBT001 - the value to be written
    return None if is_true is None else "yes" if is_true else "no"
