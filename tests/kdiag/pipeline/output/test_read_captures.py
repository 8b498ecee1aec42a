import pytest

from kdiag.clock import ALWAYS, TimeRange
from kdiag.errors import ReportError
from kdiag.pipeline.output.read_captures import (
    CaptureSpan,
    ReadCaptures,
    note_border,
    refuse_doubles,
    refuse_losses,
    span_of,
)
from kdiag.report.run_log import LoggedRun, ReadCapture

A = ReadCapture("/in/a.pcap", 1000, 7, 100, 199)
B = ReadCapture("/in/b.pcap", 2000, 8, 200, 299)
GROWN = ReadCapture("/in/a.pcap", 1500, 9, 100, 249)
REUSED = ReadCapture("/in/a.pcap", 1000, 9, 500, 599)
COPY = ReadCapture("/elsewhere/a.pcap", 1000, 9, 100, 199)
EMPTY = ReadCapture("/in/c.pcap", 24, 7, 9, -9)


def entry(run: str, *captures: ReadCapture, times: TimeRange = ALWAYS) -> LoggedRun:
    """Return a run that has read captures."""
    return LoggedRun(run, captures=[*captures], from_ns=times.from_ns, to_ns=times.to_ns)


@pytest.mark.parametrize("capture", [A, GROWN, COPY])
def test_what_a_run_has_read_is_refused_to_others(capture: ReadCapture) -> None:
    """Also if it has grown since, or is a copy; it may be repeated by its own name."""
    runs = [entry("x", A, B)]
    with pytest.raises(ReportError, match=r"a\.pcap: is in the tables already, by run x: --new"):
        refuse_doubles(runs, entry("y", capture))
    refuse_doubles(runs, entry("x", capture))


@pytest.mark.parametrize("capture", [REUSED, EMPTY, B])
def test_other_captures_are_read(capture: ReadCapture) -> None:
    """Of a name that was reused, too; one without packets is never there twice."""
    refuse_doubles([entry("x", A, EMPTY)], entry("y", capture))


def test_times_that_adjoin_are_read_and_such_that_overlap_are_not() -> None:
    """The first is included, the last is not."""
    runs = [entry("x", A, times=TimeRange(None, 150))]
    refuse_doubles(runs, entry("y", A, times=TimeRange(150, None)))
    with pytest.raises(ReportError, match="by run x"):
        refuse_doubles(runs, entry("y", A, times=TimeRange(149, None)))


def test_a_border_between_two_runs_is_told() -> None:
    """Where packets lie on both sides of it; whichever run came first."""
    early, late = TimeRange(None, 150), TimeRange(150, None)
    for first, second in ((early, late), (late, early)):
        (told,) = note_border([entry("x", B, A, times=first)], entry("y", B, A, times=second))
        assert told.startswith("/in/a.pcap: meets run x at 1970-01-01T00:00:00")
    assert note_border([entry("x", A)], entry("y", A, times=TimeRange(200, None))) == []
    assert (
        note_border([entry("x", A, times=early)], entry("y", A, times=TimeRange(151, None))) == []
    )
    assert note_border([entry("x", A, times=early)], entry("x", A, times=early)) == []


def test_a_run_that_lacks_captures_of_itself_is_refused() -> None:
    """A ring buffer has dropped them, or the folder is another host's of the same name."""
    runs = [entry("x", A), entry("y", B)]
    refuse_losses(runs, entry("x", GROWN, B))
    refuse_losses(runs, entry("z", B))
    with pytest.raises(ReportError, match=r"a\.pcap: is in the tables by run x, and is not read"):
        refuse_losses(runs, entry("x", REUSED))


def test_what_is_unread_of_a_capture() -> None:
    """Times that several runs have read are added."""
    read = ReadCaptures(
        [entry("x", A, times=TimeRange(None, 150)), entry("y", A, times=TimeRange(150, 180))]
    )
    assert read.unread(A, ALWAYS) == [CaptureSpan(180, 200)]
    assert read.unread(A, TimeRange(120, 170)) == []
    assert read.unread(B, ALWAYS) == [span_of(B, ALWAYS)]
    assert read.has(A.uri, A.size, A.mtime_ns, TimeRange(None, 170))
    assert not read.has(A.uri, A.size, A.mtime_ns, ALWAYS)
    assert not read.has(A.uri, A.size, A.mtime_ns + 1, TimeRange(None, 170))
