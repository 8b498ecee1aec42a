import signal
from itertools import count
from pathlib import Path
from threading import Event

import pytest

from folders import CAPTURES, DATA
from kdiag.errors import CaptureError, ReportError
from kdiag.exchange.selection import Selection
from kdiag.wire import api_keys
from kdiag.wire.records.compression import ALLOWANCE
from kdiag_cli.captures.reading import CaptureReading, run_on_captures
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.captures import CaptureInputs
from programs.printer_log import PrinterLog
from recordings.exchange_maker import capture_of

CAPTURE = str(CAPTURES / "acks.pcap")


def test_the_exit_code_of_the_work_is_that_of_the_program() -> None:
    """Where nothing goes wrong."""
    assert run_on_captures(lambda: ExitCode.PARTIAL) is ExitCode.PARTIAL


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (CaptureError("a.pcap", "is cut"), "kdiag: a.pcap: is cut\n"),
        (ReportError("latency", "one\ntwo"), "kdiag: latency: one\nkdiag: two\n"),
    ],
)
def test_what_is_wrong_is_told_line_by_line(
    error: Exception, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the user's file, or question."""

    def work() -> ExitCode:
        raise error

    assert run_on_captures(work) is ExitCode.USAGE
    assert capsys.readouterr().err == told


def test_an_interruption_has_its_own_exit_code() -> None:
    """Nothing is told: who interrupts knows."""

    def work() -> ExitCode:
        raise KeyboardInterrupt

    assert run_on_captures(work) is ExitCode.INTERRUPTED


def test_what_takes_too_long_is_given_up(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever it waits for; what it would have waited for is not waited for."""

    def work() -> ExitCode:
        Event().wait()
        return ExitCode.DONE

    assert run_on_captures(work, 1_000_000) is ExitCode.TIMEOUT
    assert capsys.readouterr().err == "kdiag: gave up after 0.001 s (--timeout)\n"


def test_a_time_limit_changes_nothing_for_what_ends_before() -> None:
    """Nor does it later."""
    assert run_on_captures(lambda: ExitCode.PARTIAL, 60_000_000_000) is ExitCode.PARTIAL
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_the_memory_of_a_run_is_that_of_no_other() -> None:
    """What one run may decompress is not said to the next in the same process."""
    before = ALLOWANCE.measure

    def read() -> ExitCode:
        CaptureReading(CaptureInputs([CAPTURE]))
        assert ALLOWANCE.measure is not before
        return ExitCode.DONE

    assert run_on_captures(read) is ExitCode.DONE
    assert ALLOWANCE.measure is before


def test_a_reading_gives_everything_to_the_printer_and_counts_it() -> None:
    """The captures' end is the printer's end."""
    log = PrinterLog()
    result = CaptureReading(CaptureInputs([CAPTURE])).read(log)

    assert log.words[0] == "exchange 1"
    assert log.words[-1] == "finish"
    assert result.exchange_count == result.summary.exchanges == 24
    assert result.totals.packets > 24
    assert result.exit_code is ExitCode.DONE


def test_a_capture_given_twice_counts_once_and_that_is_said(tmp_path: Path) -> None:
    """A copy of it as well; nothing is missing, so the exit code is that of success."""
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(Path(CAPTURE).read_bytes())
    once = CaptureReading(CaptureInputs([CAPTURE])).read(None)
    result = CaptureReading(CaptureInputs([CAPTURE, str(copy), CAPTURE])).read(None)
    (warning,) = result.totals.warnings

    assert warning == (
        f"{2 * once.totals.packets} packets given more than once, the first in {CAPTURE} and "
        f"{copy}: time and bytes are the same, so each counts once"
    )
    assert result.totals.packets == once.totals.packets
    assert (result.exchange_count, result.exit_code) == (24, ExitCode.DONE)
    assert result.totals.duplicates == once.totals.duplicates


@pytest.mark.thorough
def test_a_reading_ends_where_nobody_wants_more() -> None:
    """What was looked for is found, so the rest need not be read."""
    inputs = CaptureInputs([CAPTURE, str(CAPTURES / "admin.pcap")])
    whole = CaptureReading(inputs).read(None)
    part = CaptureReading(inputs).read(None, after_batch=lambda: False)

    assert part.totals.packets < whole.totals.packets


def test_an_interrupted_reading_keeps_what_was_read() -> None:
    """The printer is finished, so that a document is whole."""
    log, calls = PrinterLog(), count()

    def interrupt_once() -> bool:
        if next(calls) == 0:
            raise KeyboardInterrupt
        return True

    inputs = CaptureInputs([CAPTURE, str(CAPTURES / "admin.pcap")])
    result = CaptureReading(inputs).read(log, after_batch=interrupt_once)

    assert log.words[-1] == "finish"
    assert result.exchange_count == 24
    assert result.is_interrupted
    assert result.exit_code is ExitCode.INTERRUPTED


def test_a_capture_without_kafka_is_told_by_what_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty answer alone would leave people guessing."""
    file = tmp_path / "empty.pcap"
    file.write_bytes(capture_of([]))
    CaptureReading(CaptureInputs([str(file)])).read(None).say_warnings()

    assert capsys.readouterr().err.startswith(
        "kdiag: no Kafka in 3 packets, 1 connection (1 empty)"
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("selection", "ids"),
    [
        (Selection(), ["KD3306"]),
        (Selection(groups=("grp-slow",)), ["KD3306"]),
        (Selection(api_keys=frozenset({api_keys.JOIN_GROUP, api_keys.LEAVE_GROUP})), []),
        (Selection(clients=("nobody",)), []),
    ],
)
def test_groups_are_judged_as_a_whole(selection: Selection, ids: list[str]) -> None:
    """A member whose heartbeats are left out is not silent: groups need all of their requests."""
    recording = DATA / "rebalances" / "reb_slow_confluent.pcap.gz"
    reading = CaptureReading(CaptureInputs([str(recording)]))

    result = reading.read(None, selection, shows_progress=False, judges_traffic=True)

    assert [each.id for each in result.findings if each.id.startswith("KD33")] == ids
