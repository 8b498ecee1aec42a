"""The sources of `kdiag rebalance explain`: captures, logs and records become histories."""

import gzip
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.diagnosis.rebalance.histories import histories_of, histories_of_records
from kdiag.diagnosis.rebalance.log_histories import histories_of_log
from kdiag.diagnosis.rebalance.log_lines import LogLine, read_lines
from kdiag.diagnosis.rebalance.model import GroupHistory
from kdiag.diagnosis.rebalance.records.record_words import RECORDS
from kdiag.errors import CaptureError
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.phrase import count
from kdiag.exchange.model import Connection, Gap
from kdiag.probe.group_records import TOPIC, GroupRecordsReader
from kdiag_cli.captures.reading import CaptureReading, CaptureResult
from kdiag_cli.commands.rebalance.document import iso_text
from kdiag_cli.commands.rebalance.options import ExplainOptions
from kdiag_cli.live.session import live_session
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.progress import ReadingProgress

_GZIP: Final = b"\x1f\x8b"
_LONGEST_LINE: Final = 1 << 16
"""Longer lines are read in pieces; no line about groups is that long."""


class Explained(NamedTuple):
    """What the sources tell.

    Attributes:
        histories: of the groups, from each source.
        warnings: what could not be read.
        capture: how the reading of the captures ended; None without captures.
        is_partial: whether anything of a log is missing.
    """

    histories: list[GroupHistory]
    warnings: list[str]
    capture: CaptureResult | None
    is_partial: bool


def read_sources(options: ExplainOptions, live: LiveOptions) -> Explained:
    """Read all sources.

    Raises:
        CaptureError: a capture or a log cannot be read.
        KdiagError: the cluster cannot be asked.
    """
    histories: list[GroupHistory] = []
    warnings: list[str] = []
    result, is_partial = None, False
    if options.inputs.files:
        reading = CaptureReading(options.inputs)
        events = CaptureEvents(reading.names.name)
        result = reading.read(GroupEventsPrinter(events))
        histories += histories_of(events.in_order(), "capture")
        warnings += missing_events(events)
    if options.logs:
        lines, cut = _read_logs(options)
        histories += histories_of_log(lines)
        warnings += cut
        is_partial = bool(cut)
        if not lines:
            files = count(len(options.logs), "log")
            warnings.append(f"no line about the rebalances of a group in {files}")
    if options.is_cluster_asked:
        recorded = _read_records(options, live)
        histories += recorded.histories
        warnings += recorded.warnings
        is_partial = is_partial or recorded.is_partial
    return Explained(histories, warnings, result, is_partial)


def _read_records(options: ExplainOptions, live: LiveOptions) -> Explained:
    """Return what the coordinators of a cluster wrote about the groups."""
    with live_session(live) as client:
        reader = GroupRecordsReader(client, options.groups)
        while not reader.is_done:
            reader.poll(client.clock.monotonic_ns() + NS_PER_S)
    histories = histories_of_records(reader.records, reader.topic_name)
    warnings = [*reader.warnings, *_reach(histories)]
    if not reader.has_topic:
        warnings.append(f"the cluster has no topic {TOPIC}: no group has been used yet")
    if reader.unread_count:
        records = count(reader.unread_count, "record")
        warnings.append(f"{records} of {TOPIC} could not be read, and their facts are missing")
    return Explained(histories, warnings, None, reader.is_partial)


def _reach(histories: Iterable[GroupHistory]) -> Iterator[str]:
    """Yield how far back the records of groups reach that do not begin with their first."""
    for history in histories:
        oldest = history.rebalances[0]
        at_ns = oldest.ended_ns or oldest.started_ns
        if oldest.cause.note == RECORDS.oldest and at_ns is not None:
            yield (
                f"group {history.group}: the records reach back to {iso_text(at_ns)} (generation "
                f"{oldest.generation}); compaction has removed those before"
            )


def missing_events(events: CaptureEvents) -> Iterator[str]:
    """Yield what a capture holds about groups, or may hold, and could not tell."""
    if events.unread_count:
        requests = count(events.unread_count, "request")
        yield f"{requests} about groups could not be read, and their facts are missing"
    if events.orphan_count:
        responses = count(events.orphan_count, "response")
        yield f"the requests of {responses} are not in the capture; they may be about groups"


def _read_logs(options: ExplainOptions) -> tuple[list[LogLine], list[str]]:
    """Return the lines about groups, and why logs could not be read to their end."""
    lines: list[LogLine] = []
    warnings: list[str] = []
    files = list(_files_of(options.logs))
    progress = ReadingProgress(sum(file.stat().st_size for file in files))
    done_bytes = 0
    for file in files:
        try:
            with _opened(file) as stream:
                lines += read_lines(str(file), _lines_of(stream), zone=options.log_zone)
        except (EOFError, gzip.BadGzipFile) as error:
            warnings.append(f"{file}: cut or damaged, read up to there: {error}")
        except OSError as error:
            raise CaptureError(str(file), f"cannot be read: {error.strerror or error}") from error
        done_bytes += file.stat().st_size
        progress.update(done_bytes)
    progress.clear()
    return lines, warnings


def _files_of(logs: Sequence[Path]) -> Iterator[Path]:
    """Yield the files; of a folder those named `*.log*`."""
    for log in logs:
        if log.is_dir():
            inside = sorted(each for each in log.glob("*.log*") if each.is_file())
            if not inside:
                raise CaptureError(str(log), "no file named *.log* in this folder")
            yield from inside
        elif log.is_file():
            yield log
        else:
            raise CaptureError(str(log), "no such file")


def _opened(file: Path) -> gzip.GzipFile | BufferedReader:
    with file.open("rb") as stream:
        is_packed = stream.read(2) == _GZIP
    return gzip.open(file, "rb") if is_packed else file.open("rb")


def _lines_of(stream: gzip.GzipFile | BufferedReader) -> Iterator[str]:
    while line := stream.readline(_LONGEST_LINE):
        yield line.decode("utf-8", "replace")


class GroupEventsPrinter:
    """Hands the exchanges of captures on to the events of groups."""

    def __init__(self, events: CaptureEvents) -> None:
        """Hand them to these."""
        self._events = events

    def exchange(self, dissection: Dissection) -> None:
        """Take an exchange."""
        self._events.add(dissection)

    def gap(self, _: Gap) -> None:
        """Take a gap: what it hides is missing in the events."""

    def connection(self, _: Connection) -> None:
        """Take a connection, which tells nothing of groups."""

    def finish(self) -> None:
        """Take the end."""
