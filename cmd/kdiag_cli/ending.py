"""How the program ends: in order, whichever signal comes and whatever its streams are.

SIGINT, SIGTERM, SIGHUP    the first ends what runs in order, as Ctrl-C does, and the program
with 128 and its number (130, 143, 129); the next one ends it at
once, and names what is left on the cluster
stdout cannot be written   one line on stderr, exit code 2; that a reader has gone is no fault
a stream is closed         stdin is empty, stdout cannot be written, stderr takes anything
"""

import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final, TextIO

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BY_SIGNAL: Final = 128
_NOT_WRITTEN: Final = 2
_STREAMS: Final = (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))
"""What a closed stream is opened with: a write to a stdout that only reads is an error."""

_left: Final[list[str]] = []


class OutputError(Exception):
    """Standard output cannot be written, though its reader is there, or what is to go there.

    Attributes:
        what: what cannot be written.
    """

    def __init__(self, reason: str | None, what: str = "standard output") -> None:
        super().__init__(reason)
        self.what = what


@contextmanager
def left_on_cluster() -> Iterator[list[str]]:
    """Yield a list for what is on the cluster now, and is removed before the block is left.

    If the program has to end at once, it names what is in there; after Ctrl-C it says that it was
    removed.
    """
    count = len(_left)
    try:
        yield _left
    except KeyboardInterrupt:
        if _left[count:]:
            sys.stderr.write(f"kdiag: interrupted; removed {' and '.join(_left[count:])}\n")
        raise
    finally:
        del _left[count:]


def close_quietly(stream: TextIO | None = None) -> None:
    """Give up stdout, so that nothing complains at the end about what could not be written.

    Args:
        stream: another one to give up.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, (stream or sys.stdout).fileno())
    os.close(nowhere)


def run_to_end(program: Callable[[], None]) -> None:
    """Run the program and end with its exit code, or with that of a signal.

    Raises:
        SystemExit: always, with the exit code.
    """
    _open_closed_streams()
    signals = _Signals()
    try:
        _run(program, signals)
    except SystemExit as end:
        try:
            sys.stderr.flush()
        except OSError:  # Python would try once more, and end with 120
            close_quietly(sys.stderr)
        signals.end_with(end.code)
        raise


def _run(program: Callable[[], None], signals: "_Signals") -> None:
    try:
        signals.install()
        program()
        sys.stdout.flush()
    except SystemExit as end:
        reader_has_gone = isinstance(end.__context__, BrokenPipeError)  # typer makes it a 1
        code = 0 if reader_has_gone else end.code
        raise SystemExit(signals.exit_code(_flushed(code))) from None
    except KeyboardInterrupt:
        raise SystemExit(signals.exit_code(_BY_SIGNAL + signal.SIGINT)) from None
    except OutputError as error:
        raise SystemExit(_report_output(error)) from None
    except OSError as error:
        if not _is_of_echo(error):
            raise
        raise SystemExit(_report_output(error)) from None


class _Signals:
    """Handles the signals that ask the program to end.

    Attributes:
        first: the first of them that came.
    """

    def __init__(self) -> None:
        self.first: int | None = None

    def install(self) -> None:
        """Handle the signals that are not ignored, as SIGHUP is under nohup."""
        for each in _SIGNALS:
            if signal.getsignal(each) is not signal.SIG_IGN:
                signal.signal(each, self._handle)

    def exit_code(self, code: int | str | None) -> int | str | None:
        """Return what to end with: what was interrupted by a signal ends with the signal's."""
        was_interrupted = code == _BY_SIGNAL + signal.SIGINT
        return _BY_SIGNAL + self.first if was_interrupted and self.first is not None else code

    def end_with(self, code: int | str | None) -> None:
        """Let signals change nothing any more: all is done, only Python itself is still to end.

        Until its threads have ended, a signal ends the process with the same code.
        """
        number = code if isinstance(code, int) else int(code is not None)
        for each in _SIGNALS:
            if signal.getsignal(each) is not signal.SIG_IGN:
                signal.signal(each, lambda *_: os._exit(number))
        atexit.register(_ignore_signals)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.first is not None:
            _end_at_once(number)
        self.first = number
        on_interrupt = signal.getsignal(signal.SIGINT)
        if callable(on_interrupt) and on_interrupt != self._handle:
            on_interrupt(signal.SIGINT, frame)  # a command has its own way to be interrupted
        else:
            raise KeyboardInterrupt


def _ignore_signals() -> None:
    """Ignore signals while Python removes its modules: their default action would end that."""
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)


def _end_at_once(number: int) -> None:
    """End the process; nothing is waited for, not even the streams."""
    for each in _left:
        os.write(2, f"kdiag: ended before it could remove {each}\n".encode())
    os._exit(_BY_SIGNAL + number)


def _open_closed_streams() -> None:
    """Open the streams that whoever started the program has closed.

    Otherwise the next file or connection would become one of them.
    """
    for number, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, mode)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115 - as long as the process


def _flushed(code: int | str | None) -> int | str | None:
    """Return an exit code, after the last bytes of stdout are written, if they can be."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        close_quietly()
    except OSError as error:
        return _report_output(error)
    return code


def _is_of_echo(error: OSError) -> bool:
    """Return whether typer failed to print a help page or the version."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and frame.tb_frame.f_code.co_name == "echo"


def _report_output(error: Exception) -> int:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    what = error.what if isinstance(error, OutputError) else "standard output"
    close_quietly()
    with suppress(OSError):  # the disk that is full may have both
        sys.stderr.write(f"kdiag: {what} cannot be written: {reason}\n")
        sys.stderr.flush()
    return _NOT_WRITTEN
