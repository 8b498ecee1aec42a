"""What is done on Spark: with a session that starts without a word, and ends so on Ctrl-C."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import partial
from tempfile import TemporaryFile
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import typer

from kdiag.errors import ReportError
from kdiag_cli.captures.reading import run_on_captures
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.terminal import say

if TYPE_CHECKING:
    from kdiag.pipeline.session import Session

_STDERR: Final = 2


class SparkOptions(NamedTuple):
    """Where Spark runs, and its settings as `key=value`."""

    master: str | None
    conf: list[str]


def with_spark(
    options: SparkOptions,
    do: "Callable[[Session], ExitCode]",
    check: Callable[[], None] = lambda: None,
) -> ExitCode:
    """Do something with a session of Spark, and end it; return the exit code.

    Args:
        options: where Spark runs.
        do: is given the session.
        check: finds out before Spark is started what cannot work.
    """
    from kdiag.pipeline.session import cancel, require  # noqa: PLC0415 - `--help` needs it not

    def work() -> ExitCode:
        require()
        check()
        with _session(options) as session:
            return _interruptible(partial(do, session), partial(cancel, session))

    return run_on_captures(work)


def _interruptible(do: Callable[[], ExitCode], cancel: Callable[[], None]) -> ExitCode:
    """Do something in a thread, so that Ctrl-C finds this one waiting for nothing but that.

    A thread that waits for the JVM would be interrupted in the middle of a message.
    """
    future: Future[ExitCode] = Future()

    def work() -> None:
        try:
            future.set_result(do())
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            future.set_exception(error)

    Thread(target=work, daemon=True).start()
    try:
        return future.result()
    except KeyboardInterrupt:
        cancel()
        raise


@contextmanager
def _session(options: SparkOptions) -> Iterator["Session"]:
    from kdiag.pipeline.session import open_session  # noqa: PLC0415 - `--help` needs it not

    conf = {}
    for setting in options.conf:
        key, equals, value = setting.partition("=")
        if not equals:
            raise typer.BadParameter(f"{setting!r} is not key=value", param_hint="'--conf'")
        conf[key] = value
    progress()("starting Spark")
    on_interrupt = signal.getsignal(signal.SIGINT)
    with _apart_from_stderr():
        session = open_session(options.master, conf)
    signal.signal(signal.SIGINT, on_interrupt)  # PySpark has set its own, which asks the JVM
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _apart_from_stderr() -> Iterator[None]:
    """Have what is started here write its messages into a file, shown only if the start fails.

    The JVM greets at length, and what goes wrong in it later is told to Python as well.
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
    """Return what says what is being done, where a person waits."""
    return say if sys.stderr.isatty() else lambda _: None
