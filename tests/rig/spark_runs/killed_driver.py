"""Kills a driver of the pipeline while it writes."""

import os
import signal
from pathlib import Path

from programs.kdiag_program import start_kdiag


def is_killed(arguments: list[object], folder: Path, files: int) -> bool:
    """Start the program, and kill it when it has written so many files; false if it ends before.

    Args:
        arguments: of the program.
        folder: what it writes into.
        files: how many more than there are.
    """
    most = files + count_files(folder)
    process = start_kdiag(*arguments, start_new_session=True)
    if not process.lasts_until(lambda: count_files(folder) > most):
        return False
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return True


def count_files(folder: Path) -> int:
    """Return how many files there are below a folder, of which some may be about to go."""
    return sum(len(files) for _, _, files in os.walk(folder))
