"""The captures that runs have read already, so that none is in the tables twice.

    20:00 a.pcap 21:00     run x, --to 20:30
    20:30 a.pcap 21:00     not read yet: the run is refused from 20:00 on, and not from 20:30 on

A capture is known again by its file and its first packet, also if it has grown since; a copy of it
by its size, its first and its last packet. A file whose name was reused is another capture.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from kdiag.clock import ALWAYS, NS_PER_S, TimeRange
from kdiag.errors import ReportError
from kdiag.report.run_log import LoggedRun, ReadCapture


class CaptureSpan(NamedTuple):
    """A range of time in nanoseconds since 1970, from `start_ns` until before `end_ns`."""

    start_ns: int
    end_ns: int

    def overlaps(self, other: "CaptureSpan") -> bool:
        """Return whether there is a time in both."""
        return max(self.start_ns, other.start_ns) < min(self.end_ns, other.end_ns)

    def without(self, others: Iterable["CaptureSpan"]) -> list["CaptureSpan"]:
        """Return what is left of it."""
        left = [self] if self.start_ns < self.end_ns else []
        for other in others:
            before = [CaptureSpan(start, min(end, other.start_ns)) for start, end in left]
            behind = [CaptureSpan(max(start, other.end_ns), end) for start, end in left]
            left = [each for each in (*before, *behind) if each.start_ns < each.end_ns]
        return left


def span_of(capture: ReadCapture, times: TimeRange) -> CaptureSpan:
    """Return the times of a capture's packets that are wanted."""
    start_ns, end_ns = capture.first_ns, capture.last_ns + 1
    if times.from_ns is not None:
        start_ns = max(start_ns, times.from_ns)
    if times.to_ns is not None:
        end_ns = min(end_ns, times.to_ns)
    return CaptureSpan(start_ns, end_ns)


class _Reading(NamedTuple):
    capture: ReadCapture
    run: LoggedRun

    @property
    def span(self) -> CaptureSpan:
        return span_of(self.capture, TimeRange(self.run.from_ns, self.run.to_ns))


class ReadCaptures:
    """What some runs have read."""

    def __init__(self, runs: Iterable[LoggedRun]) -> None:
        self._by_start: dict[int, list[_Reading]] = {}
        self._by_file: dict[tuple[str, int, int], ReadCapture] = {}
        for run in runs:
            for each in run.captures:
                self._by_start.setdefault(each.first_ns, []).append(_Reading(each, run))
                self._by_file[each.uri, each.size, each.mtime_ns] = each

    def unread(self, capture: ReadCapture, times: TimeRange) -> list[CaptureSpan]:
        """Return which of the wanted times of a capture nobody has read."""
        read = [each.span for each in self._readings(capture)]
        return span_of(capture, times).without(read)

    def reader(self, capture: ReadCapture, times: TimeRange) -> LoggedRun | None:
        """Return a run that has read some of the wanted times of a capture."""
        wanted = span_of(capture, times)
        found = (each for each in self._readings(capture) if wanted.overlaps(each.span))
        return next((each.run for each in found), None)

    def neighbour(self, capture: ReadCapture, times: TimeRange) -> tuple[LoggedRun, int] | None:
        """Return a run that has read a capture up to where it is wanted from, or on from its end.

        Returns:
            The run, and the time of the border; None if there is no such run.
        """
        wanted = span_of(capture, times)
        whole = span_of(capture, ALWAYS)
        for each in self._readings(capture):
            for border_ns, other_ns in zip(wanted, reversed(each.span), strict=True):
                if border_ns == other_ns and whole.start_ns < border_ns < whole.end_ns:
                    return each.run, border_ns
        return None

    def has(self, uri: str, size: int, mtime_ns: int, times: TimeRange) -> bool:
        """Return whether a file that nobody has opened yet is known, and its wanted times read."""
        capture = self._by_file.get((uri, size, mtime_ns))
        return capture is not None and not self.unread(capture, times)

    def _readings(self, capture: ReadCapture) -> list[_Reading]:
        found = self._by_start.get(capture.first_ns, ())
        return [each for each in found if _is_same(each.capture, capture)]


def _is_same(one: ReadCapture, other: ReadCapture) -> bool:
    is_copy = (one.size, one.last_ns) == (other.size, other.last_ns)
    return one.first_ns == other.first_ns and (one.uri == other.uri or is_copy)


def refuse_doubles(runs: Sequence[LoggedRun], run: LoggedRun) -> None:
    """Refuse a run of captures that runs of other names have read.

    Raises:
        ReportError: with what to do.
    """
    others = ReadCaptures(each for each in runs if each.run != run.run)
    for capture in run.captures:
        reader = others.reader(capture, TimeRange(run.from_ns, run.to_ns))
        if reader is not None:
            why = f"is in the tables already, by run {reader.run}"
            todo = f"--new leaves out what is, --name {reader.run} replaces that run"
            raise ReportError(capture.uri, f"{why}: {todo}")


def refuse_losses(runs: Sequence[LoggedRun], run: LoggedRun) -> None:
    """Refuse to replace a run of the same name by one that lacks captures of it.

    Raises:
        ReportError: with what to do.
    """
    own = ReadCaptures([run])
    for earlier in runs:
        times = TimeRange(earlier.from_ns, earlier.to_ns)
        for capture in earlier.captures if earlier.run == run.run else ():
            if own.unread(capture, times):
                why = f"is in the tables by run {run.run}, and is not read now"
                todo = f"--new keeps it and adds what is new, --name {run.run} gives it up"
                raise ReportError(capture.uri, f"{why}: {todo}")


def note_border(runs: Sequence[LoggedRun], run: LoggedRun) -> list[str]:
    """Return a warning if another run ends amid a capture where this one begins, or begins there.

    A request before the border whose response is behind it is a row in both.
    """
    others = ReadCaptures(each for each in runs if each.run != run.run)
    times = TimeRange(run.from_ns, run.to_ns)
    for capture in run.captures:
        found = others.neighbour(capture, times)
        if found is not None:
            neighbour, border_ns = found
            moment = datetime.fromtimestamp(border_ns / NS_PER_S, UTC).isoformat()
            why = f"meets run {neighbour.run} at {moment}: what was in flight then is in both"
            return [f"{capture.uri}: {why}, as an unanswered request and an unmatched response"]
    return []
