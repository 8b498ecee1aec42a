"""The shell of the demo: commands of kdiag, printed as one would type them, and run.

    shell.run("find-coordinator", "-g", "billing")             prints it, and what it prints
    shell.start("lab", "--topic", "orders:3").wait_for("bootstrap.servers=")

A command is a process of its own, so that what is shown is what happens. What runs beside the
others is ended when the shell is left, whatever happens.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from threading import Condition, Thread
from typing import IO, Any, Final, Self

from kdiag_cli.output.terminal import BOLD, DIM, Output, harmless

_KDIAG: Final = (sys.executable, "-m", "kdiag")
_DEADLINE_S: Final = 20.0
_MERGED: Final = subprocess.STDOUT


class DemoError(Exception):
    """A command did not do what it should."""


class DemoProcess:
    """A command that runs beside the others; its lines are kept as they come."""

    def __init__(self, process: "subprocess.Popen[str]", label: str) -> None:
        self.process = process
        self._label = label
        self._lines: list[str] = []
        self._is_over = False
        self._news = Condition()
        assert process.stdout is not None
        self._reader = Thread(target=self._read, args=(process.stdout,), daemon=True)
        self._reader.start()

    def __repr__(self) -> str:
        return f"<DemoProcess {self._label}>"

    def wait_for(self, text: str) -> str:
        """Return the first line that has a text.

        Raises:
            DemoError: if it ends before, or that takes too long.
        """

        def found() -> str | None:
            return next((line for line in self._lines if text in line), None)

        with self._news:
            self._news.wait_for(lambda: found() is not None or self._is_over, _DEADLINE_S)
            line = found()
        if line is None:
            raise DemoError(f"{self._label}: no {text!r} within {_DEADLINE_S:g} s: {self._lines}")
        return line

    def stop(self) -> list[str]:
        """End it as Ctrl-C does, and return all of its lines."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(_DEADLINE_S)
        self._reader.join()
        return self._lines

    def close(self) -> None:
        """End it whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            with self._news:
                self._lines.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._is_over = True
            self._news.notify_all()


class DemoShell:
    """Runs commands in a folder; a context manager, which ends what runs beside.

    Attributes:
        folder: where they run.
        count: how many there have been.
    """

    def __init__(self, folder: Path, output: Output) -> None:
        self.folder = folder
        self.count = 0
        self._output = output
        self._running: list[DemoProcess] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._running:
            each.close()

    def __repr__(self) -> str:
        return f"<DemoShell after {self.count} commands>"

    def title(self, text: str) -> None:
        """Print what comes next."""
        self._output.line("")
        self._output.line(self._output.paint(f"# {text}", BOLD))

    def print_lines(self, lines: list[str]) -> None:
        """Print lines of a command that ran beside."""
        for line in lines:
            self._output.line(harmless(line))
        self._output.flush()

    def run(self, *arguments: str, is_quiet: bool = False, code: int = 0) -> None:
        """Print a command, run it, and let it print.

        Args:
            *arguments: those of kdiag.
            is_quiet: whether its stdout is not shown, only what it says on stderr.
            code: the exit code that it is to have.

        Raises:
            DemoError: if it has another one.
        """
        self._print_command(arguments, " > /dev/null" if is_quiet else "")
        done = subprocess.run(  # noqa: S603 - kdiag itself
            [*_KDIAG, *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            check=False,
            **self._streams(is_quiet=is_quiet),
        )
        shown = done.stderr if is_quiet else done.stdout
        if isinstance(shown, bytes):  # a terminal has it already
            self._output.write(shown)
            self._output.flush()
        if done.returncode != code:
            raise DemoError(f"kdiag {shlex.join(arguments)} ended with {done.returncode}")

    def start(self, *arguments: str) -> DemoProcess:
        """Print a command, and let it run beside."""
        self._print_command(arguments, " &")
        process = subprocess.Popen(  # noqa: S603 - kdiag itself
            [*_KDIAG, *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=_MERGED,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        started = DemoProcess(process, f"kdiag {arguments[0]}")
        self._running.append(started)
        return started

    def note(self, text: str) -> None:
        """Print a command of the shell itself."""
        self._output.line(f"{self._output.paint('$', DIM)} {text}")
        self._output.flush()

    def _print_command(self, arguments: tuple[str, ...], ending: str = "") -> None:
        self.count += 1
        self.note(self._output.paint(f"kdiag {shlex.join(arguments)}{ending}", BOLD))

    def _streams(self, *, is_quiet: bool) -> dict[str, Any]:
        """Return where a command prints: straight to a terminal, so that it fits it."""
        is_terminal = self._output.is_terminal
        if is_quiet:
            return {
                "stdout": subprocess.DEVNULL,
                "stderr": None if is_terminal else subprocess.PIPE,
            }
        return {"stdout": None if is_terminal else subprocess.PIPE, "stderr": _MERGED}
