"""The person's pager: which it is, and an output that goes through it as it comes.

    with paged(sys.stdout) as stream:        less starts with the first line, not before
        Output(stream).line("...")
                                             and the person may read on until they leave it

A pager that is left early ends the output as a closed pipe does: `BrokenPipeError`.
"""

import io
import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    import subprocess

    from _typeshed import ReadableBuffer

_PAGER: Final = "less"
_LESS: Final = "FRX"


def pager_command() -> Sequence[str]:
    """Return the command of the pager: `$PAGER` or less; empty for none.

    There is none on a dumb terminal, and none if `$PAGER` is empty, `cat`, or not installed.
    """
    import shlex  # noqa: PLC0415 - 1 ms, on terminals only

    if os.environ.get("TERM") == "dumb":
        return []
    words: list[str] = []
    with suppress(ValueError):  # a quotation mark that is not closed
        words = shlex.split(os.environ.get("PAGER", _PAGER))
    return words if words and words[0] != "cat" and shutil.which(words[0]) else []


def pager_environment() -> dict[str, str]:
    """Return the environment of the pager: less keeps colours, and leaves what it has shown."""
    return {"LESS": _LESS, **os.environ}


class _PagerPipe(io.RawIOBase):
    """The pipe to a pager, which starts with the first byte."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def writable(self) -> bool:
        """Return that it can be written."""
        return True

    def write(self, data: "ReadableBuffer") -> int:
        """Write bytes, all of them.

        Raises:
            BrokenPipeError: the pager has gone.
        """
        if self._process is None:
            import subprocess  # noqa: PLC0415 - 5 ms, on terminals only

            self._process = subprocess.Popen(  # noqa: S603 - the person's own
                self._command, stdin=subprocess.PIPE, env=pager_environment()
            )
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()
        return memoryview(data).nbytes

    def close(self) -> None:
        """Close the pipe, and wait until the person has left the pager; Ctrl-C is for it then."""
        super().close()
        process, self._process = self._process, None
        if process is None:
            return
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            process.communicate()
        except BrokenPipeError:
            process.wait()
        finally:
            signal.signal(signal.SIGINT, before)


class _PagedTerminal(io.TextIOWrapper):
    """A terminal behind a pager: as wide and as colourful as the one before it."""

    def __init__(self, terminal: TextIO, command: Sequence[str]) -> None:
        super().__init__(io.BufferedWriter(_PagerPipe(command)), encoding=terminal.encoding)
        self._terminal = terminal

    def isatty(self) -> bool:
        """Return that a person looks at it."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the terminal, which tells how wide it is."""
        return self._terminal.fileno()


@contextmanager
def paged(stream: TextIO) -> Iterator[TextIO]:
    """Yield a stream through the pager, if this one is a terminal and there is a pager.

    At the end it waits until the person has left the pager.
    """
    command = pager_command() if stream.isatty() else []
    if not command:
        yield stream
        return
    terminal = _PagedTerminal(stream, command)
    try:
        yield terminal
    finally:
        with suppress(BrokenPipeError):
            terminal.close()
