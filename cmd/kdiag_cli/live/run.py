"""The frame of every live command: its time limit, its errors, its exit code."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, Final

from kdiag.diagnosis.connection_finding import connection_finding
from kdiag.errors import ConnectError, KdiagError
from kdiag_cli.ending import close_quietly
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.output.document_forms import DocumentForm, chosen_form
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.terminal import Output, say

_GRACE_S: Final = 0.25
"""How long a command has to notice that its time is up, and to end besides what it cleans up."""
_LAST_S: Final = 1.0
"""How long one that has noticed may still run beyond that, on a machine that stood still."""


class _TimeUp(BaseException):
    """The time of the command is up; like KeyboardInterrupt, only the frame catches it."""


def run_live(
    work: Callable[[], ExitCode],
    timeout_ns: int | None = None,
    *,
    command: str = "",
    output: ResultFormat = ResultFormat.TABLE,
    cleanup_ns: int = 0,
) -> ExitCode:
    """Run the work of a live command and return the exit code of the program.

    Errors go to stderr. With `--output json` they also become a document on stdout, so that a
    program never reads nothing. Whatever was printed before the time was up stays.

    Args:
        work: prints its results and returns the exit code; runs in the main thread.
        timeout_ns: the longest it may take by the wall clock, whatever it waits for; None for ever.
        command: the name in the document.
        output: whether JSON was asked for.
        cleanup_ns: how long the work may clean up once its time is up.
    """
    has_document = chosen_form() in {DocumentForm.JSON, DocumentForm.YAML}
    is_json = output is ResultFormat.JSON and has_document  # rows have no place for failures

    def report_timeout() -> None:
        message = f"gave up after {(timeout_ns or 0) / 1e9:g} s (--timeout)"
        if is_json:
            print_failure(command, message)
        say(message)

    try:
        with _limited(timeout_ns, report_timeout, cleanup_ns):
            code = work()
            sys.stdout.flush()
    except KdiagError as error:
        if is_json:
            print_failure(command, error)
        say(str(error))
        if isinstance(error, ConnectError) and error.fix:
            say(f"  {error.fix}")
        return exit_code_of([error])
    except _TimeUp:
        report_timeout()
        return ExitCode.TIMEOUT
    except BrokenPipeError:
        close_quietly()
        return ExitCode.DONE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return code


def print_failure(command: str, problem: KdiagError | str) -> None:
    """Print the document of a command without a result.

    Args:
        command: its name.
        problem: why there is none; a connection that failed becomes a finding.
    """
    output = Output()
    if isinstance(problem, ConnectError):
        print_document(output, command, [], findings=[connection_finding(problem)])
    else:
        print_document(output, command, [], warnings=[str(problem)])
    output.flush()


@contextmanager
def _limited(timeout_ns: int | None, report: Callable[[], None], cleanup_ns: int) -> Iterator[None]:
    """Raise _TimeUp when the time is up; if that does not help, report it and end the program.

    A signal interrupts whatever Python waits for, but not the C library while it looks up a name;
    then only the end of the process keeps the promise. An exception that is raised in a finalizer
    is lost, so it is raised again.
    """
    if timeout_ns is None:
        yield
        return
    seconds, cleanup_s = timeout_ns / 1e9, cleanup_ns / 1e9
    is_noticed = False
    ended = Event()

    def raise_time_up(*_: Any) -> None:
        nonlocal is_noticed
        is_noticed = True
        signal.setitimer(signal.ITIMER_REAL, cleanup_s + _GRACE_S)  # from now on, if it gets lost
        raise _TimeUp

    def insist() -> None:
        if ended.wait(seconds) or ended.wait(_GRACE_S):
            return
        if is_noticed and ended.wait(cleanup_s + _LAST_S):
            return
        report()
        os._exit(ExitCode.TIMEOUT)

    before = signal.signal(signal.SIGALRM, raise_time_up)
    Thread(target=insist, daemon=True).start()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        ended.set()
        signal.signal(signal.SIGALRM, before)
