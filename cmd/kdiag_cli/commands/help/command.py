"""`kdiag help`: topics that belong to no single command, read on a terminal or as Markdown."""

from typing import Annotated, Final

import typer
from typer.core import TyperGroup

from kdiag.findings.finding import RULES
from kdiag_cli.commands.help.topics import topic_text, topic_titles
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.help_page import CommandPage, brief, is_paged
from kdiag_cli.output.terminal import Output, say, table

EXAMPLES = """\b
Examples:
  kdiag help
  kdiag help exit-codes
  kdiag help findings
  kdiag help connecting > connecting.md
"""

_MOST_COLUMNS: Final = 100

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def complete_help_topics() -> list[tuple[str, str]]:
    """Return the topics and the findings with their titles, for a shell to complete."""
    findings = ((key, rule.title) for key, rule in RULES.items())
    return [(name, brief(text)) for name, text in (*topic_titles().items(), *findings)]


@app.command(cls=CommandPage, epilog=EXAMPLES)
def show(
    context: typer.Context,
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPIC",
            help="A topic, the id of a finding, or a command.",
            autocompletion=complete_help_topics,
        ),
    ] = None,
) -> None:
    """Explain a topic, or list the topics.

    In a pipe a topic is the Markdown that it is written in.
    """
    screen = Output()
    if topic is None:
        _print_topics(screen)
    else:
        text = topic_text(topic)
        if text is None:
            _show_command(context, topic)
        else:
            _print(screen, text)
    screen.flush()


def _print_topics(screen: Output) -> None:
    for line in table(topic_titles().items()):
        screen.line(line)
    screen.line("")
    screen.line("kdiag help TOPIC explains one, kdiag COMMAND --help a command.")


def _print(screen: Output, text: str) -> None:
    if not screen.is_terminal:
        screen.write(text.encode())
        return
    from kdiag_cli.output.markdown import markdown_lines  # noqa: PLC0415 - rich: 40 ms, for people

    width = min(screen.width or _MOST_COLUMNS, _MOST_COLUMNS)
    lines = list(markdown_lines(text, screen, width))
    if not is_paged("\n".join(lines)):
        for line in lines:
            screen.line(line)


def _show_command(context: typer.Context, name: str) -> None:
    """Show the help of a command; end the program if no command has that name."""
    program = context.find_root().command
    if isinstance(program, TyperGroup) and name in program.commands:
        program.main([name, "--help"], prog_name="kdiag")
    topics = ", ".join(topic_titles())
    say(f"there is no topic {name!r}: there are {topics}, and the commands")
    raise typer.Exit(ExitCode.USAGE)
