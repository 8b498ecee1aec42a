import ctypes
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from kdiag.errors import (
    AuthenticationError,
    ConfigError,
    ConnectError,
    Fault,
    KdiagError,
    Layer,
    RequestTimeoutError,
)
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live.run import run_live
from kdiag_cli.output.result import ResultFormat
from programs.child_program import ChildProgram

MS_NS = 1_000_000

STUBBORN = """
import ctypes
from kdiag_cli.live.run import run_live

libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)

def work():
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_lock(mutex)

run_live(work, 50_000_000)
"""
"""Locks itself out in the C library, where handlers of signals do not run."""

WITHOUT_READER = """
import sys
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live.run import run_live

def work():
    sys.stdin.read()
    print("nobody reads this")
    return ExitCode.PARTIAL

sys.exit(run_live(work))
"""


def test_the_exit_code_is_that_of_the_work() -> None:
    """Where nothing goes wrong."""
    assert run_live(lambda: ExitCode.PARTIAL) is ExitCode.PARTIAL
    assert run_live(lambda: ExitCode.DONE, 1_000 * MS_NS) is ExitCode.DONE


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("a.b", "-X", "bad"), ExitCode.USAGE),
        (AuthenticationError("a:1", Layer.SASL, "wrong password"), ExitCode.NOT_AUTHENTICATED),
        (RequestTimeoutError("no answer"), ExitCode.TIMEOUT),
    ],
)
def test_errors_are_told_and_have_their_exit_code(
    error: KdiagError, code: ExitCode, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, in one line."""

    def work() -> ExitCode:
        raise error

    assert run_live(work) is code
    assert capsys.readouterr() == ("", f"kdiag: {error}\n")


def test_a_program_that_asked_for_json_gets_a_document_whatever_happens(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A connection that failed is a finding, anything else a warning."""

    def fail(error: Exception) -> ExitCode:
        raise error

    refused = ConnectError("a:1", Layer.TCP, "refused", "Start it", Fault.REFUSED)
    missing = ConfigError("a.b", "-X", "bad")
    documents = []
    for error in (refused, missing):
        run_live(lambda: fail(error), command="ping", output=ResultFormat.JSON)  # noqa: B023 - run now
        documents.append(json.loads(capsys.readouterr().out))

    assert [each["command"] for each in documents] == ["ping", "ping"]
    assert [each["id"] for each in documents[0]["findings"]] == ["KD1101"]
    assert documents[1]["warnings"] == [str(missing)]
    assert documents[0]["data"] == documents[1]["data"] == []


def test_the_document_tells_that_the_time_is_up(capsys: pytest.CaptureFixture[str]) -> None:
    """As a warning: nobody knows what was the matter."""
    quiet, other = socket.socketpair()

    def work() -> ExitCode:
        quiet.recv(1)
        return ExitCode.DONE

    with quiet, other:
        code = run_live(work, 50 * MS_NS, command="ping", output=ResultFormat.JSON)

    assert code is ExitCode.TIMEOUT
    document = json.loads(capsys.readouterr().out)
    assert document["warnings"] == ["gave up after 0.05 s (--timeout)"]


def test_a_bug_is_not_hidden() -> None:
    """Only errors of kdiag are somebody else's fault."""

    def work() -> ExitCode:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_live(work)


def test_an_interrupt_has_an_exit_code_of_its_own() -> None:
    """As shells expect it of Ctrl-C."""

    def work() -> ExitCode:
        raise KeyboardInterrupt

    assert run_live(work) is ExitCode.INTERRUPTED


@pytest.mark.thorough
def test_a_reader_that_is_gone_is_no_error() -> None:
    """As `head` leaves the programs before it."""
    command = [sys.executable, "-c", WITHOUT_READER]
    with ChildProgram(command, stdin=-1, stdout=-1, stderr=-1) as program:
        assert program.stdout is not None
        program.stdout.close()
        assert program.stdin is not None
        program.stdin.close()
        assert program.stderr is not None
        assert (program.stderr.read(), program.wait()) == (b"", 0)


def test_the_time_limit_interrupts_what_waits(capsys: pytest.CaptureFixture[str]) -> None:
    """What was printed before stands; the alarm is given back."""
    quiet, _other = socket.socketpair()
    before = signal.getsignal(signal.SIGALRM)

    def work() -> ExitCode:
        sys.stdout.write("before\n")
        quiet.recv(1)
        return ExitCode.DONE

    with quiet, _other:
        began_ns = time.monotonic_ns()
        code = run_live(work, 50 * MS_NS)
        took_ns = time.monotonic_ns() - began_ns

    assert code is ExitCode.TIMEOUT
    assert capsys.readouterr() == ("before\n", "kdiag: gave up after 0.05 s (--timeout)\n")
    assert 50 * MS_NS <= took_ns < 10_000 * MS_NS
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.thorough
def test_what_has_to_be_undone_gets_its_time() -> None:
    """The program is not ended while it undoes what it did, for as long as that may take."""
    done: list[str] = []

    def work() -> ExitCode:
        try:
            threading.Event().wait()
        finally:
            threading.Event().wait(0.4)
            done.append("undone")
        return ExitCode.DONE

    assert run_live(work, 50 * MS_NS, cleanup_ns=5_000 * MS_NS) is ExitCode.TIMEOUT
    assert done == ["undone"]


@pytest.mark.thorough
def test_who_was_kept_from_noticing_still_ends_in_order() -> None:
    """A process that stood still, as while garbage is collected, is not ended for it."""
    done: list[str] = []

    def work() -> ExitCode:
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})  # or it ends the sleep
            ctypes.PyDLL(None).usleep(500_000)  # no thread of Python runs meanwhile
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
            threading.Event().wait(0.05)
            done.append("undone")
        return ExitCode.DONE

    assert run_live(work, 50 * MS_NS) is ExitCode.TIMEOUT
    assert done == ["undone"]


def test_a_time_limit_that_got_lost_comes_again() -> None:
    """As one that is raised in a finalizer, where Python drops it."""
    times: list[str] = []

    def work() -> ExitCode:
        with suppress(BaseException):
            threading.Event().wait()
        times.append("lost")
        threading.Event().wait()
        return ExitCode.DONE

    assert run_live(work, 50 * MS_NS) is ExitCode.TIMEOUT
    assert times == ["lost"]


@pytest.mark.thorough
def test_the_time_limit_ends_what_cannot_be_interrupted() -> None:
    """It holds by the wall clock, come what may."""
    done = subprocess.run(
        [sys.executable, "-c", STUBBORN], capture_output=True, timeout=60, check=False
    )

    assert done.returncode == ExitCode.TIMEOUT
    assert done.stderr == b"kdiag: gave up after 0.05 s (--timeout)\n"
