"""The run of `kdiag tail`: what is read, and how it is printed."""

import sys
from collections.abc import Sequence
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.session import FetchLimits
from kdiag.client.network.rebootstrap import report_nothing
from kdiag.clock import NS_PER_MS, SystemClock
from kdiag.probe.tail.follower import Tail
from kdiag.probe.tail.placement import TailRequest
from kdiag.probe.tail.topic_selection import TopicSelector
from kdiag.probe.tail.topic_wait import TopicWait
from kdiag_cli.commands.tail.format_string import parse_format
from kdiag_cli.commands.tail.json_columns import json_template
from kdiag_cli.commands.tail.options import TailOptions, filter_of, offsets_of, selectors_of
from kdiag_cli.commands.tail.printer import (
    JsonPrinter,
    LinePrinter,
    RecordPrinter,
    TerminalPrinter,
    default_template,
)
from kdiag_cli.commands.tail.reading import RecordOutput, TailReading
from kdiag_cli.commands.tail.resume import ResumeFile, stop_option
from kdiag_cli.commands.tail.text_columns import TextColumns
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live.run import run_live
from kdiag_cli.live.session import live_session
from kdiag_cli.options.live import LiveOptions, client_config
from kdiag_cli.output.terminal import Output, say, widen

LEAVE_NS: Final = 10_000_000_000
"""How long a member may take to commit and to leave, once the time of the command is up."""


def run(options: TailOptions, live: LiveOptions) -> ExitCode:
    """Print records until it is enough; return the exit code of the program."""
    cleanup_ns = LEAVE_NS if options.membership.group else 0
    return run_live(lambda: tail(options, live), live.timeout_ns, cleanup_ns=cleanup_ns)


def tail(options: TailOptions, live: LiveOptions) -> ExitCode:
    """Print records until it is enough.

    Raises:
        KdiagError: if an option is wrong, or the cluster cannot be read.
    """
    now_ms = SystemClock().epoch_ns() // NS_PER_MS
    offsets = offsets_of(options, now_ms)
    options = options._replace(repeated=[*options.repeated, *stop_option(offsets.stop)])
    chosen = filter_of(options.filters, offsets, now_ms)
    rack = options.rack or client_config(live).client_rack
    selectors = selectors_of(options)
    if options.resume_file is not None:
        selectors += ResumeFile(options.resume_file).read(selectors)
    request = TailRequest(
        topics=selectors,
        offsets=offsets,
        stops_at_end=options.stops_at_end,
        limits=FetchLimits(is_committed_only=options.is_committed_only, rack=rack),
        skips_damaged=options.skips_damaged,
        is_visible=lambda fetched: chosen.shows(
            is_control=fetched.batch.is_control, is_aborted=fetched.is_aborted
        ),
    )
    output = RecordOutput(make_printer(options, Output()), options, chosen)
    widen(sys.stdout)
    with live_session(live, is_endless=True) as client:
        if options.printing.is_quiet:
            client.updater.rebootstrapping.report = report_nothing
        if options.membership.group:
            from kdiag_cli.commands.tail.membership import read_as_member  # noqa: PLC0415 - 100 ms, for members

            return read_as_member(client, client_config(live), request, output)
        if options.waits:
            request = request._replace(topics=await_topics(client, selectors))
        source = Tail(client, request)
        return TailReading(client.clock, source, output).run()


def await_topics(client: ClusterClient, selectors: Sequence[TopicSelector]) -> list[TopicSelector]:
    """Wait until all topics exist, and return their selectors; say once what is waited for.

    Raises:
        KdiagError: if a topic can never exist, or the cluster cannot be asked.
    """
    wait = TopicWait(client, selectors)
    told: set[str] = set()
    while (missing := wait.look()) is not None:
        if missing.key not in told:
            told.add(missing.key)
            say(f"{missing.key}: {missing.why}; waiting for it")
        client.wait(TopicWait.INTERVAL_NS)
    return wait.selectors


def make_printer(options: TailOptions, output: Output) -> RecordPrinter:
    """Return the printer of the records.

    Raises:
        ConfigError: if the format string is wrong.
    """
    printing = options.printing
    columns = TextColumns(output.is_terminal, printing.key_format, printing.value_format)
    if printing.out is not None:
        from kdiag_cli.commands.tail.parquet import ParquetPrinter  # noqa: PLC0415 - pyarrow is an extra

        return ParquetPrinter(printing.out)
    if printing.format is not None:
        return LinePrinter(output, parse_format(printing.format, columns))
    if printing.output != "text":
        return JsonPrinter(output, json_template(printing.key_format, printing.value_format))
    if output.is_terminal:
        return TerminalPrinter(output, columns, is_wide=printing.is_wide)
    has_marks = options.filters.shows_aborted or options.filters.shows_control
    return LinePrinter(output, default_template(columns, has_marks=has_marks))
