"""Compares the CPU time of `kdiag --help` with that of the smallest typer program's `--help`.

    python tests/bench/startup.py

runs both in turns with this very interpreter and prints the medians and their ratio. `kdiag
errcode 3` stands for the commands: what typer loads to read arguments shows there, not in `--help`.
"""

import os
import statistics
import subprocess
import sys
from typing import Final

TURNS: Final = 21
HELLO: Final = """
import typer

app = typer.Typer()

@app.command()
def hello(name: str) -> None:
    print(f"Hello {name}")

app()
"""
KDIAG: Final = "from kdiag_cli.__main__ import main; main()"


def cpu_seconds(program: str, *arguments: str) -> float:
    """Return the user and system time of one run of a program."""
    before = os.times()
    command = [sys.executable, "-c", program, *arguments]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def main() -> None:
    """Print both medians and their ratio."""
    programs = {
        "typer hello world": (HELLO, "--help"),
        "kdiag": (KDIAG, "--help"),
        "kdiag errcode 3": (KDIAG, "errcode", "3"),
    }
    for program in programs.values():
        cpu_seconds(*program)  # writes the compiled files
    turns: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(TURNS):
        for name, program in programs.items():
            turns[name].append(cpu_seconds(*program))
    medians = {name: statistics.median(each) for name, each in turns.items()}
    for name, seconds in medians.items():
        sys.stdout.write(f"{name:20}{seconds * 1000:8.0f} ms\n")
    ratio = medians["kdiag"] / medians["typer hello world"]
    sys.stdout.write(f"{'ratio':20}{ratio:8.2f}\n")


if __name__ == "__main__":
    main()
