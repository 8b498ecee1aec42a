"""The options of `kdiag decode`, validated, and what they amount to for the library."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from kdiag.clock import SystemClock
from kdiag.exchange.documents.body import BodyForm
from kdiag.exchange.model import Status
from kdiag.exchange.selection import Selection
from kdiag.findings.rule import Severity
from kdiag_cli.options.captures import CaptureInputs, TableContents
from kdiag_cli.options.filters import CaptureMoment
from kdiag_cli.options.results import check_csv_safe, require_folder
from kdiag_cli.output.terminal import TimeStyle

if TYPE_CHECKING:
    from kdiag.report.where import Where


class DecodeOptions(NamedTuple):
    """The options of `kdiag decode`, validated.

    Attributes:
        inputs: the captures, or the interface to capture from.
        output: `text`, `jsonl`, `json`, `csv` or `parquet`.
        out: the folder for the tables of `parquet`; None with every other output.
        bodies: whether these tables hold the bodies.
        api_keys, clients, topics, groups, connections, errors, min_latency_ns, with_waits, brokers,
            error_codes, statuses, where: which exchanges are chosen, as `Selection` has it.
        since, until: the time in which they began.
        values: whether the records inside record batches are shown.
        raw: whether bodies are Kafka's exact JSON.
        show_secrets: whether passwords and tokens are shown.
        summary: whether to count instead of listing.
        is_wide: whether tables show all their columns.
        show, explain: the number of the one exchange to print in full, or byte by byte.
        tcp: whether to report the facts of TCP for each connection.
        sort: whether to order by time.
        lists_all: whether each connection that is not Kafka's gets a line.
        time_style: how lines tell the time.
        fail_on: with `summary`, the least severity of a finding that makes the exit code 1.
        pager: whether a person reads through their pager.
        csv_safe: whether no cell of `csv` may begin like a formula.
    """

    inputs: CaptureInputs
    output: str = "text"
    out: Path | None = None
    bodies: bool = True
    api_keys: AbstractSet[int] = frozenset()
    clients: Sequence[str] = ()
    topics: Sequence[str] = ()
    groups: Sequence[str] = ()
    connections: Sequence[str] = ()
    errors: bool = False
    min_latency_ns: int | None = None
    with_waits: bool = False
    brokers: Sequence[str] = ()
    error_codes: AbstractSet[int] = frozenset()
    statuses: AbstractSet[Status] = frozenset()
    since: CaptureMoment | None = None
    until: CaptureMoment | None = None
    where: str | None = None
    values: bool = False
    raw: bool = False
    show_secrets: bool = False
    summary: bool = False
    is_wide: bool = False
    show: int | None = None
    explain: int | None = None
    tcp: bool = False
    sort: bool = False
    lists_all: bool = False
    time_style: TimeStyle = TimeStyle.OF_DAY
    fail_on: Severity | None = None
    pager: bool = False
    csv_safe: bool = False

    @property
    def is_listing(self) -> bool:
        """Return whether exchanges are listed, not counted or shown one alone."""
        return not self.summary and self.show is None and self.explain is None

    @property
    def form(self) -> BodyForm:
        """Return how bodies are shown."""
        return BodyForm(raw=self.raw, values=self.values, show_secrets=self.show_secrets)

    def selection(self, first_ns: int | None = None) -> Selection:
        """Return which exchanges are chosen.

        Args:
            first_ns: the time of the first packet, since 1970; None if it is not known.

        Raises:
            typer.BadParameter: `since` or `until` needs what is not known.
        """
        since, until = (
            None if each is None else each.since_1970_ns(first_ns)
            for each in (self.since, self.until)
        )
        return Selection(
            api_keys=frozenset(self.api_keys),
            clients=tuple(self.clients),
            topics=tuple(self.topics),
            groups=tuple(self.groups),
            connections=frozenset(self.connections),
            errors=self.errors,
            min_latency_ns=self.min_latency_ns,
            with_waits=self.with_waits,
            brokers=tuple(self.brokers),
            error_codes=frozenset(self.error_codes),
            statuses=frozenset(self.statuses),
            since_ns=since,
            until_ns=until,
            where=None if self.where is None else read_where(self.where),
        )

    @property
    def contents(self) -> TableContents:
        """Return what the tables hold."""
        return TableContents(
            bodies=self.bodies,
            records=self.values,
            tcp=self.tcp,
            shows_secrets=self.show_secrets,
            is_sorted=self.sort,
        )


def read_where(text: str) -> "Where":
    """Return the condition that somebody wrote.

    Raises:
        typer.BadParameter: it cannot be understood; shows the place.
    """
    from kdiag.report.where import ExpressionError, Where  # noqa: PLC0415 - 8 ms, for one option

    try:
        return Where(text, now_ns=SystemClock().epoch_ns())
    except ExpressionError as error:
        raise typer.BadParameter(str(error), param_hint="'--where'") from None


def check(options: DecodeOptions) -> None:
    """Refuse what contradicts itself.

    Raises:
        typer.BadParameter: with what would be right.
    """
    inputs = options.inputs
    if options.where is not None:
        read_where(options.where)
    if options.summary + (options.show is not None) + (options.explain is not None) > 1:
        raise typer.BadParameter("choose one of --summary, --show and --explain")
    _check_reader(options)
    _check_inputs(inputs)
    require_folder(inputs.write, "'--write'")
    if inputs.write is not None and inputs.live is None:
        _check_extract(options)
    if options.with_waits and options.min_latency_ns is None:
        raise typer.BadParameter("is for --min-latency", param_hint="'--with-waits'")
    is_text = options.output == "text" and options.is_listing
    if (options.lists_all or options.time_style is not TimeStyle.OF_DAY) and not is_text:
        raise typer.BadParameter(
            "is for lines of text", param_hint="'--all', and '--time' relative or delta"
        )
    check_csv_safe(options.output, is_csv_safe=options.csv_safe)
    if options.output == "csv" and not options.is_listing:
        raise typer.BadParameter("--output csv lists exchanges; the rest is text or JSON")
    if options.output == "parquet":
        _check_tables(options)
    elif options.out is not None or not options.bodies:
        raise typer.BadParameter("is for --output parquet", param_hint="'--out' and '--no-bodies'")


def _check_reader(options: DecodeOptions) -> None:
    """Refuse what is not for who reads: a script, or a person at a pager."""
    if options.fail_on is not None and not options.summary:
        raise typer.BadParameter("is for --summary, which has findings", param_hint="'--fail-on'")
    if options.pager and (options.inputs.live is not None or options.output == "parquet"):
        raise typer.BadParameter("is for what is printed of files", param_hint="'--pager'")


def _check_inputs(inputs: CaptureInputs) -> None:
    if bool(inputs.files) == (inputs.live is not None):
        raise typer.BadParameter("give captures to read, or --live IFACE", param_hint="FILE")
    if (inputs.is_promiscuous or inputs.filter is not None) and inputs.live is None:
        hint = "'--promiscuous' and '--filter'"
        raise typer.BadParameter("is for --live; --where chooses exchanges", param_hint=hint)
    if inputs.max_frame_bytes == 0:
        raise typer.BadParameter("no frame is as small", param_hint="'--max-frame'")


def _check_extract(options: DecodeOptions) -> None:
    is_single = options.show is not None or options.explain is not None
    if is_single or options.output == "parquet":
        why = "writes what lists and --summary choose: not with --show, --explain or parquet"
        raise typer.BadParameter(why, param_hint="'--write'")


def _check_tables(options: DecodeOptions) -> None:
    if not options.is_listing or options.raw:
        raise typer.BadParameter("--output parquet writes tables, nothing else")
    if options.out is None:
        raise typer.BadParameter("--output parquet needs a folder: --out DIR", param_hint="'--out'")
