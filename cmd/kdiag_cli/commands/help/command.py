"""`kdiag help`: topics that belong to no single command, read on a terminal or as Markdown."""

from pathlib import Path
from typing import Annotated, Final

import typer

from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options import completion as completion_values
from kdiag_cli.output.terminal import Output, say, table

EXAMPLES = """\b
Examples:
  kdiag help
  kdiag help exit-codes
  kdiag help findings
  kdiag help connecting > connecting.md
"""

TOPICS: Final = Path(__file__).parents[2] / "help"
"""The folder of the topics, a file of Markdown for each."""

FINDINGS: Final = "findings"
"""The topic that is made of the table of findings."""

_FINDINGS_TITLE: Final = "Findings: what the ids in findings mean"
_MOST_COLUMNS: Final = 100

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=EXAMPLES)
def show(
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPIC",
            help="A topic, the id of a finding, or a command.",
            autocompletion=completion_values.help_topics,
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
            _show_command(topic)
        else:
            _print(screen, text)
    screen.flush()


def topic_titles() -> dict[str, str]:
    """Return the title of each topic by its name, in alphabetical order."""
    titles = {FINDINGS: _FINDINGS_TITLE}
    for path in TOPICS.glob("*.md"):
        titles[path.stem] = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
    return dict(sorted(titles.items()))


def topic_text(topic: str) -> str | None:
    """Return the Markdown of a topic or of a finding's id; None if there is none such."""
    name = topic.lower()
    if name == FINDINGS or name.startswith("kd"):
        from kdiag_cli.output.help_topics import finding_text, findings_text  # noqa: PLC0415 - msgspec

        return findings_text() if name == FINDINGS else finding_text(topic.upper())
    if name not in topic_titles():
        return None
    return (TOPICS / f"{name}.md").read_text(encoding="utf-8")


def _print_topics(screen: Output) -> None:
    for line in table(topic_titles().items()):
        screen.line(line)
    screen.line("")
    screen.line("kdiag help TOPIC explains one, kdiag COMMAND --help a command.")


def _print(screen: Output, text: str) -> None:
    if not screen.is_terminal:
        screen.write(text.encode())
        return
    from kdiag_cli.output.markdown import markdown_lines  # noqa: PLC0415 - a pipe does without

    for line in markdown_lines(text, screen, min(screen.width or _MOST_COLUMNS, _MOST_COLUMNS)):
        screen.line(line)


def _show_command(name: str) -> None:
    """Show the help of a command, if there is one of that name; else wrong usage is told."""
    from kdiag_cli import app as program  # noqa: PLC0415 - it names this module

    if name in program.COMMANDS:
        program.app([name, "--help"], prog_name="kdiag")
    topics = ", ".join(topic_titles())
    say(f"there is no topic {name!r}: there are {topics}, and the commands")
    raise typer.Exit(ExitCode.USAGE)
