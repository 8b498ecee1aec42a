"""`kdiag help`: topics on a terminal or as Markdown, and the search for a word in them."""

from typing import Annotated, Final

import typer
from typer.core import TyperGroup

from kdiag.findings.finding import RULES
from kdiag_cli.commands.help.search import find_rules, find_sections
from kdiag_cli.commands.help.topics import named, topic_text, topic_titles
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.help_page import CommandPage, brief, is_paged
from kdiag_cli.output.terminal import Output, clipped, say, table

EXAMPLES = """\b
Examples:
  kdiag help
  kdiag help symptoms
  kdiag help KD3415
  kdiag help kerberos
  kdiag help connecting > connecting.md
"""

_MOST_COLUMNS: Final = 100
_FINDING: Final = "kd"
"""How the ids of findings begin."""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def complete_help_topics(incomplete: str = "") -> list[tuple[str, str]]:
    """Return the topics with their titles, for a shell to complete; findings once `KD` is typed."""
    if incomplete.lower().startswith(_FINDING):
        return [(key, brief(rule.title)) for key, rule in RULES.items()]
    return [(name, brief(text)) for name, text in topic_titles().items()]


@app.command(cls=CommandPage, epilog=EXAMPLES)
def show(
    context: typer.Context,
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPIC",
            help="A topic, a command, the id of a finding, or a word to search for.",
            autocompletion=complete_help_topics,
        ),
    ] = None,
) -> None:
    """Explain a topic, or search all topics for a word.

    A word that is no topic is searched for in all of them. In a pipe a topic is Markdown.
    """
    screen = Output()
    if topic is None:
        _print_topics(screen)
    else:
        text = topic_text(topic)
        if text is None:
            _show_command(context, topic)
            _print_found(screen, topic)
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
    """Show the help of a command, and end the program, if one has that name."""
    program = context.find_root().command
    if isinstance(program, TyperGroup) and name in program.commands:
        program.main([name, "--help"], prog_name="kdiag")


def _print_found(screen: Output, word: str) -> None:
    """Print which topics and findings speak of a word; end the program if none does."""
    sections, rules = find_sections(word), find_rules(word)
    if not sections and not rules:
        say(f"no topic, command or finding has {word!r}; the topics: {', '.join(topic_titles())}")
        raise typer.Exit(ExitCode.USAGE)
    found = [(f"kdiag help {each.topic}", each.heading) for each in sections]
    found += [(f"kdiag help {each}", named(RULES[each].title)) for each in rules]
    for line in table(found):
        screen.line(clipped(line, screen.width) if screen.width else line)
