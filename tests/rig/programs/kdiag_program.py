"""Runs the program `kdiag`: inside the test, or as a process of its own."""

import gc
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from typer.testing import CliRunner

from kdiag_cli.app import app
from kdiag_cli.output.terminal import Output
from programs.child_program import ChildProgram

_IN_TURNS: Final = """
import json, sys
from programs.kdiag_program import kdiag
for line in sys.argv[1:]:
    print(json.dumps(kdiag(*json.loads(line))), flush=True)
"""
COMMAND: Final = (sys.executable, "-c", "from kdiag_cli.__main__ import main; main()")


class Done(NamedTuple):
    """What a run left behind."""

    code: int
    out: str
    err: str


def kdiag(*arguments: object, stdin: bytes = b"") -> Done:
    """Run the program inside the test; an exception that escapes from it escapes from here."""
    texts = [str(each) for each in arguments]
    with _without_callbacks():
        result = CliRunner().invoke(
            app, texts, input=stdin, catch_exceptions=False, prog_name="kdiag"
        )
    return Done(result.exit_code, result.stdout, result.stderr)


@contextmanager
def _without_callbacks() -> Iterator[None]:
    """Have the garbage collector call nobody.

    Hypothesis has itself called, and the end of a time limit that is raised there is lost.
    """
    callbacks = gc.callbacks[:]
    gc.callbacks.clear()
    try:
        yield
    finally:
        gc.callbacks[:] = callbacks


def kdiag_on_terminal(width: int, *arguments: object, has_colours: bool = False) -> Done:
    """Run the program inside the test, with a terminal of this width as stdout and as stderr."""
    screens = Screen(is_terminal=True), Screen(is_terminal=True)
    environment = {"COLUMNS": str(width), "TERM": "xterm", "NO_COLOR": "1"[has_colours:]}
    texts = [str(each) for each in arguments]
    code: Any = 0
    with (
        patch.dict(os.environ, environment),
        redirect_stdout(screens[0]),
        redirect_stderr(screens[1]),
    ):
        try:
            app(texts, prog_name="kdiag")
        except SystemExit as end:
            code = end.code
    return Done(code, *(screen.text for screen in screens))


def kdiag_apart(*arguments: object) -> Done:
    """Run the program as a process of its own.

    So must what a process has but one of, such as a session of Spark, and what is measured.
    """
    with start_kdiag(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        out, err = process.communicate()
    return Done(process.returncode, out.decode(), err.decode())


def kdiag_in_turns(*commands: Sequence[object]) -> list[Done]:
    """Run the program several times in one process of its own, which starts Spark's JVM once."""
    lines = [json.dumps(list(map(str, each))) for each in commands]
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", _IN_TURNS, *lines]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with ChildProgram(command, stdout=pipe, stderr=pipe, env=environment) as process:
        out, err = process.communicate()
    if process.returncode or err:
        raise RuntimeError(err.decode())
    return [Done(*json.loads(line)) for line in out.splitlines()]


def start_kdiag(*arguments: object, **streams: Any) -> ChildProgram:
    """Start the program as a process of its own."""
    return ChildProgram([*COMMAND, *map(str, arguments)], **streams)


class Screen(io.TextIOWrapper):
    """A stream that says whether it is a terminal as the test wants it."""

    def __init__(self, *, is_terminal: bool, encoding: str = "utf-8") -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding=encoding)
        self._is_terminal = is_terminal

    @property
    def text(self) -> str:
        """Return what was written."""
        self.flush()
        return self._bytes.getvalue().decode(self.encoding)

    def isatty(self) -> bool:
        """Return what the test wants."""
        return self._is_terminal


class Printed(Output):
    """An output whose text can be read."""

    def __init__(
        self, width: int | None = None, *, has_colour: bool = False, encoding: str = "utf-8"
    ) -> None:
        """Make a terminal of this width, or a pipe without one."""
        self._screen = Screen(is_terminal=width is not None, encoding=encoding)
        super().__init__(self._screen)
        self.width = width
        self.has_colour = has_colour

    @property
    def text(self) -> str:
        """Return what was written."""
        self.flush()
        return self._screen.text

    @property
    def lines(self) -> list[str]:
        """Return the lines that were written."""
        return self.text.splitlines()
