"""The run of `kdiag lab fault`: asks the control port, and prints what it says."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from kdiag.errors import ConfigError, ConnectError, KdiagError
from kdiag.lab.fault.control.control_client import ControlClient
from kdiag.lab.fault.fault_file import faults_schema
from kdiag.lab.fault.grammar import parse_fault
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.json_text import print_json
from kdiag_cli.output.result import CommandResult, ResultFormat, print_result
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import Output, say

COMMAND: Final = "lab fault"
VARIABLE: Final = "KDIAG_LAB_CONTROL"

_COLUMNS: Final = ("ID", "FAULT", "SEEN", "FIRED", "IN-SITUATION", "PASSED-OVER")
_KEYS: Final = ("id", "fault", "seen", "fired", "in_situation", "passed_over")


def show(control: str | None, form: ResultFormat, *, has_headers: bool = True) -> ExitCode:
    """Print the faults of a lab, and return the exit code of the program."""

    def list_them() -> None:
        faults = _client(control).listed()
        rows = [[each.get(key) for key in _KEYS] for each in faults]

        def print_text(output: Output) -> None:
            print_table(output, _COLUMNS, rows, has_headers=has_headers)

        print_result(CommandResult(COMMAND, lambda: faults, print_text), form)

    return _told(list_them)


def add(control: str | None, faults: Sequence[str]) -> ExitCode:
    """Add faults; none if one of them is wrong. Return the exit code of the program."""

    def add_them() -> None:
        for each in faults:
            parse_fault(each, "FAULT")
        client, output = _client(control), Output()
        for each in faults:
            added = client.add(each)
            output.line(f"{added['id']}\t{added['fault']}")
        output.flush()

    return _told(add_them)


def remove(control: str | None, numbers: Sequence[int]) -> ExitCode:
    """Remove faults, or all if none is named; return the exit code of the program."""

    def remove_them() -> None:
        client = _client(control)
        if not numbers:
            say(f"{client.clear()} faults removed")
        for number in numbers:
            removed = client.remove(number)
            say(f"{removed['fault']} removed: seen {removed['seen']}, fired {removed['fired']}")

    return _told(remove_them)


def print_faults_schema() -> None:
    """Print the JSON schema of files of faults."""
    output = Output()
    print_json(output, msgspec.json.encode(faults_schema()))
    output.flush()


def _client(control: str | None) -> ControlClient:
    if control is None:
        why = f"not known: give --control HOST:PORT, or set {VARIABLE}"
        raise ConfigError("", "control port", why)
    return ControlClient(control)


def _told(action: Callable[[], None]) -> ExitCode:
    """Do something, and say what was wrong with it."""
    try:
        action()
    except ConnectError as error:
        say(str(error), *filter(None, [error.fix]))
        return ExitCode.CANNOT_CONNECT
    except KdiagError as error:
        say(str(error))
        return ExitCode.USAGE
    return ExitCode.DONE
