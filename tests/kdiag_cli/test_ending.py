import os
import signal
import subprocess
import sys
from typing import Final

import pytest

from folders import ROOT
from programs.child_program import ChildProgram
from programs.kdiag_program import COMMAND

pytestmark = pytest.mark.thorough

ACKS: Final = str(ROOT / "captures" / "acks.pcap")
COMMANDS: Final = (
    ("--help",),
    ("--version",),
    ("decode", "--help"),
    ("decode", ACKS),
    ("decode", ACKS, "-o", "jsonl"),
    ("decode", ACKS, "-o", "csv"),
    ("decode", ACKS, "--summary"),
    ("decode", ACKS, "--show", "1"),
    ("query", ACKS, "SELECT count(*) FROM exchanges"),
    ("report", "errors", ACKS),
    ("tables",),
    ("errcode", "3"),
    ("config", "show", "--defaults"),
    ("completion", "bash"),
    ("help", "exit-codes"),
)
PROGRAM: Final = """
import signal, sys, time
if "nohup" not in sys.argv:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whatever the tests run under
from kdiag_cli.ending import left_on_cluster, run_to_end
def wait():
    while True:  # a signal that comes just before the system waits would not end one long sleep
        time.sleep(0.05)
def work():
    with left_on_cluster() as left:
        left.append("topic t")
        try:
            print("ready", flush=True)
            wait()
        finally:
            print("cleans", flush=True)
            if "slowly" in sys.argv:
                wait()
run_to_end(work)
"""


def run_with(arguments: tuple[str, ...], streams: str) -> subprocess.CompletedProcess[str]:
    """Run the program by a shell that gives it these streams."""
    script = f'exec "$@" {streams}'
    command = ["sh", "-c", script, "sh", *COMMAND, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("streams", [">/dev/full", ">&-"])
def test_output_that_cannot_be_written_is_told_in_one_line(
    arguments: tuple[str, ...], streams: str
) -> None:
    """It is wrong usage, not a finding."""
    done = run_with(arguments, streams)
    why = "No space left on device" if streams == ">/dev/full" else "Bad file descriptor"
    assert done.stderr == f"kdiag: standard output cannot be written: {why}\n"
    assert done.returncode == 2


@pytest.mark.sampled(1)
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full", "<&-"])
def test_streams_that_carry_no_data_change_nothing(
    arguments: tuple[str, ...], streams: str
) -> None:
    """Without stderr or stdin the same is written, and the exit code is the same."""
    done, usual = run_with(arguments, streams), run_with(arguments, "")
    assert (done.returncode, done.stdout) == (usual.returncode, usual.stdout)
    assert done.stderr == ("" if streams.startswith("2") else usual.stderr)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_reader_that_has_gone_is_no_fault(arguments: tuple[str, ...]) -> None:
    """`| head` ends a command quietly."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [*COMMAND, *arguments]
    done = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, check=False, close_fds=True
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_error_is_told_by_its_code_where_stderr_is_full(
    unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that nobody can read costs nothing else."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    assert run_with(("decode", "nosuch.pcap"), "2>/dev/full").returncode == 2


def start() -> tuple[str, ...]:
    """Return the command of a program that waits."""
    return (sys.executable, "-c", PROGRAM)


def waiting(*arguments: str) -> ChildProgram:
    """Start a program that waits, and wait for that."""
    pipe = subprocess.PIPE
    program = ChildProgram([*start(), *arguments], stdout=pipe, stderr=pipe)
    assert program.stdout is not None
    assert program.stdout.readline() == b"ready\n"
    return program


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_program_in_order(number: signal.Signals) -> None:
    """It cleans up, says so, and ends with the code of the signal."""
    with waiting() as program:
        program.send_signal(number)
        out, err = program.communicate()
    assert (program.returncode, out, err[-1000:]) == (
        128 + number,
        b"cleans\n",
        b"kdiag: interrupted; removed topic t\n",
    )


def test_a_second_signal_ends_it_at_once() -> None:
    """Then it names what is left behind."""
    with waiting("slowly") as program:
        program.send_signal(signal.SIGTERM)
        assert program.stdout is not None
        assert program.stdout.readline() == b"cleans\n"
        program.send_signal(signal.SIGINT)
        _, err = program.communicate()
    assert program.returncode == 128 + signal.SIGINT
    assert err == b"kdiag: ended before it could remove topic t\n"


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """Under nohup a program outlives its terminal."""
    command = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *start(), "nohup"]
    with ChildProgram(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        program.send_signal(signal.SIGHUP)
        program.send_signal(signal.SIGTERM)
        program.communicate()
    assert program.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_the_end_changes_nothing(number: int) -> None:
    """All is printed and the exit code is known; only Python is still to end."""
    script = (
        "import atexit, os, sys\n"
        "from kdiag_cli.ending import run_to_end\n"
        f"atexit.register(lambda: os.kill(os.getpid(), {number:d}))\n"
        "run_to_end(lambda: sys.exit(3))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (3, b"")
