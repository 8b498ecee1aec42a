"""The pages of `--help`: examples first, options under headings, through a pager where long.

    usage, purpose, examples
    arguments
    options by heading             `_HEADINGS`, whatever order the command declares them in
    what else the command says     behind the first blank line of its epilog

`-h` is shorter: options that many commands have are names in one line for each heading, and what
else the command says is left out.

In a pipe a page is text; on a terminal that it does not fit on, `$PAGER` or less shows it.
"""

import re
import shutil
import signal
import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, ClassVar, Final

import typer
from typer._click.formatting import HelpFormatter
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from kdiag.exchange.line.shown_time import times_shown_in
from kdiag_cli.options.command_line import ARGUMENTS
from kdiag_cli.pager import pager_command, pager_environment

_HEADINGS: Final[Mapping[str, frozenset[str]]] = {
    heading: frozenset(names.split())
    for heading, names in {
        "Choose": """--api --assignor --broker --cause --client --commit --connection --count
            --describe --error --errors --exit --explain --follow --from --from-beginning
            --generation --grep --group --hanging --header --i-know --instance-id --isolation
            --key --lag-above --least-change --match --min-latency --moves --offset --parameter
            --partition --port --protocol --quick --resume-file --share --show --since
            --skip-damaged --slow --start-offset --state --static --status --stuck --to --topic
            --txn --type --until --wait --where --with-waits --both --without-disturbance""",
        "Show": """--all --bytes --color --commit-times --csv-safe --defaults --exit-code --fail-on
            --features --fields --format --groups --help-json --html --json --key-format --list
            --nagios --no-bodies --no-headers --origin --out --output --pager --per-member --quiet
            --raw --schema --show-aborted --show-control --show-secrets --sort --sql --summary --tcp
            --template --time --times --trace --value-format --values --wide --write
            --junit""",
        "Read": """--broker-log --decode-as --each-interface --filter --keylog --live
            --log-zone --promiscuous --separate-networks --topic-ids""",
        "Measure": """--acks --batch-records --duration --end-to-end --interval --max-wait
            --members --min-bytes --num-headers --num-records --partitions --prove --rate
            --read-only --record-header-key-size --record-header-size --record-key-size --rounds
            --rtt --seconds --size --sizes --sweep --warm-up --watch --write-to-topic""",
        "Spark": """--catalog --checkpoint --close --conf --dialect --every --host-of --hourly
            --idle --jars --master --mode --most-files --name --new --once --packages --parts
            --shuffle-payloads --split-mb --wait-for-copies""",
        "Lab": """--both --client-auth --client-files --control --control-port --control-token
            --data --fault --faults --host --junit --keep --listener --nodes --pcap --sasl-mechanism
            --seed-records --tls --users --without-disturbance""",
        "Limits": "--max-bytes --max-frame --max-memory --max-waiting --timeout",
        "Connection": """--allow-programs --as-version --bootstrap-server --config --debug
            --password --password-file --profile --rack --verbose -X""",
    }.items()
}
_MANY_HAVE: Final = """
    --as-version --color --csv-safe --debug --fail-on --help-json --no-headers --pager
    --timeout --trace --verbose --wide --write --config --profile --password-file
    --allow-programs --bootstrap-server -X --keylog --topic-ids --separate-networks
    --each-interface --decode-as --max-frame --max-memory --max-waiting
"""
_SHARED: Final = frozenset(_MANY_HAVE.split())
"""Options that many commands have: names alone in the short help."""

_INNER_HYPHEN: Final = re.compile(r"(?<=[\w-])-(?=\w)")
_WHOLE_HYPHEN: Final = "\u2011"  # at which lines are not broken; no text has it
_LONG: Final = "--help"
_HELP_WORDS: Final = "kdiag.help_words"
"""In the `meta` of a context: the words of the innermost command line, of a group's too."""

_REST: Final = "Options"
_TEXTS: Final = frozenset({None, "table", "wide", "text"})
"""Values of `--output` that people read."""
_MOST_COLUMNS: Final = 60
"""How much typer puts in one line beside what a shell may complete."""

_MARGIN: Final = 2
"""Lines that a terminal needs beside the page: the prompt, and the one that is being typed."""

"""Like git: end at once if all fits, keep colours, leave the page on the screen."""


class Colour(StrEnum):
    """When to write colours: where a person looks on, everywhere, nowhere."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class _WholeWords(HelpFormatter):
    """Writes a page, and breaks no line at a hyphen: `--help-json` is one word."""

    def write(self, string: str) -> None:
        """Write text, with the hyphens that it is to have."""
        super().write(string.replace(_WHOLE_HYPHEN, "-"))

    def write_text(self, text: str) -> None:
        """Write paragraphs."""
        super().write_text(_whole(text))

    def write_dl(self, rows: Any, *args: Any, **more: Any) -> None:
        """Write a list of terms with what they mean."""
        super().write_dl([(_whole(term), _whole(text)) for term, text in rows], *args, **more)


def _whole(text: str) -> str:
    return _INNER_HYPHEN.sub(_WHOLE_HYPHEN, text)


class _Page:
    """What the pages of commands and of groups have in common."""

    def get_help(self, ctx: Any) -> str:
        """Return the page as text."""
        formatter = _WholeWords(width=ctx.terminal_width, max_width=ctx.max_content_width)
        self.format_help(ctx, formatter)  # type: ignore[attr-defined]
        return formatter.getvalue().rstrip("\n")


class CommandPage(_Page, TyperCommand):
    """A command whose page is laid out as above, with the options that every command has."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with those that every command has before `--help`."""
        *own, last = super().get_params(ctx)
        return [*own, *_COMMON, last]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line, and keep it as it was."""
        ctx.meta[ARGUMENTS] = ctx.meta[_HELP_WORDS] = [*args]
        arguments = [each for each in self.params if each.param_type_name == "argument"]
        if "bootstrap_server" in {each.name for each in self.params} and not ctx.resilient_parsing:
            self._expect_no_address(ctx, args, takes_any=bool(arguments))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, whose texts show times in the zone of `--time`; documents keep UTC."""
        times = ctx.params.get("time")
        is_text = ctx.params.get("output") in _TEXTS and ctx.params.get("html") is None
        if times is None or not is_text:
            return super().invoke(ctx)
        with times_shown_in(times.zone):
            return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        is_short = _is_short(ctx)
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        examples, _, rest = (self.epilog or "").partition("\n\n")
        _write_block(formatter, examples)
        _write_parameters(self.get_params(ctx), ctx, formatter, is_short=is_short)
        if is_short:
            _write_block(formatter, f"\b\n{ctx.command_path} --help shows all of it.")
        else:
            _write_block(formatter, rest)

    def _expect_no_address(self, ctx: Any, args: list[str], *, takes_any: bool) -> None:
        """Fail with the right command if an address stands where it should be behind `-b`."""
        if not any(":" in each for each in args):
            return
        from kdiag_cli.options.wrong_words import address_meant  # noqa: PLC0415 - 5 ms, few need it

        _, extra, _ = self.make_parser(ctx).parse_args([*args])
        named = extra if not takes_any else ()
        meant = address_meant(ctx.command_path, args, named)
        if meant is not None and (takes_any or named):
            ctx.fail(meant)

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option `--help`, which shows the page."""
        return _showing(super().get_help_option(ctx))


class GroupPage(_Page, TyperGroup):
    """A program, or a command with others below it, by the headings of their `rich_help_panel`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with `--help-json` before `--help`."""
        *own, last = super().get_params(ctx)
        return [*own, *(each for each in _COMMON if each.name == "help_json"), last]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        _write_block(formatter, self.epilog or "")
        self.format_commands(ctx, formatter)
        _write_parameters(self.get_params(ctx), ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, as wide a column of names under each heading."""
        del ctx
        shown = [each for each in self.commands.values() if not each.hidden]
        width = max(len(each.name or "") for each in shown)
        by_panel: dict[str, list[tuple[str, str]]] = {}
        for each in shown:
            panel = getattr(each, "rich_help_panel", None) or "Commands"
            line = each.get_short_help_str(formatter.width)
            by_panel.setdefault(panel, []).append(((each.name or "").ljust(width), line))
        for panel, rows in by_panel.items():
            with formatter.section(panel):
                formatter.write_dl(rows)

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option `--help`, which shows the page."""
        return _showing(super().get_help_option(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; who gives none wants to see the page, and that is no mistake."""
        ctx.meta[_HELP_WORDS] = [*args]
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            show_page(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)


class DefaultGroup(GroupPage):
    """A group of commands, of which one runs where none is named.

    Attributes:
        default: its name.
    """

    default: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default before options that are not the group's own."""
        own = {each for param in self.get_params(ctx) for each in param.opts}
        is_none_named = not args and not ctx.resilient_parsing  # a shell completes the name then
        if is_none_named or (args and args[0] not in self.commands and args[0] not in own):
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def _read_colour(ctx: typer.Context, value: Colour) -> None:
    """Decide on colours while a command runs."""
    if value is not Colour.AUTO:
        from kdiag_cli.output.terminal import choose_colour  # noqa: PLC0415 - 2 ms, not for --help

        choose_colour(value is Colour.ALWAYS)
        ctx.find_root().call_on_close(partial(choose_colour, None))


def _show_document(ctx: typer.Context, value: bool) -> None:  # noqa: FBT001 - as above
    if value and not ctx.resilient_parsing:
        typer.echo(document_of(ctx))
        raise typer.Exit


def document_of(ctx: Any) -> str:
    """Return what a command takes, as the JSON of `--help-json`."""
    from kdiag_cli.options.help_json import help_document  # noqa: PLC0415 - 3 ms, few ask for it

    return help_document(ctx, _heading)


def _declare(
    *,
    color: Annotated[
        Colour,
        typer.Option(
            callback=_read_colour,
            expose_value=False,
            is_eager=True,
            help="Use colour: auto (only on a terminal), always, never.",
        ),
    ] = Colour.AUTO,
    help_json: Annotated[
        bool,
        typer.Option(
            "--help-json",
            callback=_show_document,
            expose_value=False,
            is_eager=True,
            help="Print this help as JSON, for programs.",
        ),
    ] = False,
) -> None:
    """Declare the options that every command has."""


def _declared() -> list[Any]:
    app = typer.Typer(add_completion=False)
    app.command()(_declare)
    return get_command(app).params


_COMMON: Final = _declared()


def brief(meaning: str) -> str:
    """Return what fits of the meaning of an offer: a second line would be another offer."""
    from kdiag_cli.output.terminal import clipped  # noqa: PLC0415 - 2 ms, not for --help

    return clipped(meaning, _MOST_COLUMNS)


def heading_of(option: str) -> str:
    """Return the heading under which an option stands, by its long name."""
    return next((name for name, options in _HEADINGS.items() if option in options), _REST)


def show_page(text: str) -> None:
    """Print a text, through a pager if it is longer than the terminal."""
    if not is_paged(text):
        typer.echo(text)


def is_paged(text: str, height: int | None = None) -> bool:
    """Show a text in a pager if it is longer than the terminal; return whether it was.

    `$PAGER` names another pager than less; if it is empty or `cat`, there is none.

    Args:
        text: without the end of its last line.
        height: of the terminal; as it says itself by default.
    """
    pager = pager_command() if sys.stdout.isatty() and sys.stdin.isatty() else []
    lines = text.count("\n") + 1 + _MARGIN
    if not pager or lines <= (height or shutil.get_terminal_size().lines):
        return False
    import subprocess  # noqa: PLC0415 - 5 ms, on terminals only

    try:
        process = subprocess.Popen(pager, stdin=subprocess.PIPE, env=pager_environment())  # noqa: S603 - the person's own
    except OSError:
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager
    try:
        process.communicate(f"{text}\n".encode(errors="replace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return True


def _showing(option: Any) -> Any:
    """Return the option `--help` with a callback that uses a pager."""
    if option is not None:
        option.callback = _show_help
    return option


def _show_help(ctx: Any, param: Any, value: bool) -> None:  # noqa: FBT001 - the signature of a callback
    del param
    if value and not ctx.resilient_parsing:
        show_page(ctx.get_help())
        ctx.exit()


def _write_block(formatter: Any, text: str) -> None:
    """Write a part of an epilog, which may begin with a backspace: its lines stay as they are."""
    if text.strip():
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text.strip("\n"))


def _write_parameters(
    params: Iterable[Any], ctx: Any, formatter: Any, *, is_short: bool = False
) -> None:
    """Write arguments, and options under their headings; in short, shared ones by name alone."""
    sections: dict[str, list[tuple[str, str]]] = {
        name: [] for name in ("Arguments", *_HEADINGS, _REST)
    }
    shared: dict[str, list[str]] = {}
    for each in params:
        record = each.get_help_record(ctx)
        if record is not None:
            is_option = each.param_type_name == "option"
            name = _heading(each) if is_option else "Arguments"
            if is_short and is_option and not _SHARED.isdisjoint(each.opts):
                shared.setdefault(name, []).append(each.opts[0])
            else:
                sections.setdefault(name, []).append(record)
    for name, rows in sections.items():
        if rows:
            with formatter.section(name):
                formatter.write_dl(rows)
    if shared:
        with formatter.section("Shared by many commands"):
            formatter.write_dl([(name, " ".join(names)) for name, names in shared.items()])


def _is_short(ctx: Any) -> bool:
    """Return whether a page was asked for by `-h`."""
    words = ctx.meta.get(_HELP_WORDS, ())
    return "-h" in words and _LONG not in words


def _heading(option: Any) -> str:
    named: str | None = getattr(option, "rich_help_panel", None)
    headings = (*map(heading_of, option.opts), _REST)
    return named or next((each for each in headings if each != _REST), _REST)
