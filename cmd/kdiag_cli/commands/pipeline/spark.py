"""A session of Spark that starts without a word, and ends so on Ctrl-C."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import partial
from tempfile import TemporaryFile
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from kdiag.errors import ReportError
from kdiag.pipeline.session import cancel, open_session
from kdiag_cli.captures.reading import run_on_captures
from kdiag_cli.commands.pipeline.options import SparkOptions
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.terminal import say

if TYPE_CHECKING:
    from kdiag.pipeline.session import Session

_STDERR: Final = 2


def with_spark(
    options: SparkOptions,
    do: "Callable[[Session], ExitCode]",
    check: Callable[[], None] = lambda: None,
) -> ExitCode:
    """Do something with a session of Spark, then end it; return the exit code.

    Args:
        options: where Spark runs.
        do: receives the session.
        check: raises a KdiagError, before Spark starts, if it cannot work.
    """

    def work() -> ExitCode:
        check()
        with _session(options) as session:
            return _interruptible(partial(do, session), partial(cancel, session))

    return run_on_captures(work)


def _interruptible(do: Callable[[], ExitCode], cancel: Callable[[], None]) -> ExitCode:
    """Do something in a thread, so that Ctrl-C interrupts nothing but the wait for it.

    A thread that talks to the JVM would be interrupted in the middle of a message.
    """
    future: Future[ExitCode] = Future()

    def work() -> None:
        try:
            future.set_result(do())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            future.set_exception(error)

    Thread(target=work, daemon=True).start()
    try:
        return future.result()
    except KeyboardInterrupt:
        _mute_stderr()
        cancel()
        raise


def _mute_stderr() -> None:
    """Silence stderr from here on: threads of PySpark report at length that their JVM has gone."""
    sys.stderr.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STDERR)
    os.close(nowhere)


@contextmanager
def _session(options: SparkOptions) -> Iterator["Session"]:
    progress()("starting Spark")
    on_interrupt = signal.getsignal(signal.SIGINT)
    with _apart_from_stderr():
        session = open_session(options.master, options.conf, table_format=options.table_format)
    signal.signal(signal.SIGINT, on_interrupt)  # PySpark installed its own, which asks the JVM
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _apart_from_stderr() -> Iterator[None]:
    """Send the messages of what is started here to a file, shown only if the start fails.

    The JVM greets at length; its later failures reach Python as well.
    """
    sys.stderr.flush()
    with TemporaryFile() as log, ExitStack() as restored:
        stderr = os.dup(_STDERR)
        restored.callback(os.close, stderr)
        restored.callback(os.dup2, stderr, _STDERR)
        os.dup2(log.fileno(), _STDERR)
        try:
            yield
        except ReportError:
            log.seek(0)
            os.write(stderr, log.read())
            raise


def progress() -> Callable[[str], Any]:
    """Return what reports each step, where a person waits."""
    return say if sys.stderr.isatty() else lambda _: None
