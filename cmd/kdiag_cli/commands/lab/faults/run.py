"""The run of `kdiag lab fault`: asks the control port, and prints what it says."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from kdiag.errors import ConfigError, ConnectError, KdiagError
from kdiag.lab.fault.control.control_client import ControlClient, TokenRefusedError
from kdiag.lab.fault.fault_file import faults_schema
from kdiag.lab.fault.grammar import parse_fault
from kdiag_cli.commands.lab.faults.control_token import read_token, token_file
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.json_text import print_json
from kdiag_cli.output.result import CommandResult, ResultFormat, print_result
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import Output, say

COMMAND: Final = "lab fault"
VARIABLE: Final = "KDIAG_LAB_CONTROL"


class ControlAddress(NamedTuple):
    """Where a control port is, and what opens it.

    Attributes:
        address: `host:port`; None if it is not known.
        token_file: has its token; None for the one that a lab of this user has left by its port.
    """

    address: str | None
    token_file: Path | None = None


_COLUMNS: Final = ("ID", "FAULT", "SEEN", "FIRED", "IN-SITUATION", "PASSED-OVER")
_KEYS: Final = ("id", "fault", "seen", "fired", "in_situation", "passed_over")


def show(control: ControlAddress, form: ResultFormat, *, has_headers: bool = True) -> ExitCode:
    """Print the faults of a lab, and return the exit code of the program."""

    def list_them(client: ControlClient) -> None:
        faults = client.listed()
        rows = [[each.get(key) for key in _KEYS] for each in faults]

        def print_text(output: Output) -> None:
            print_table(output, _COLUMNS, rows, has_headers=has_headers)

        print_result(CommandResult(COMMAND, lambda: faults, print_text), form)

    return _told(control, list_them)


def add(control: ControlAddress, faults: Sequence[str]) -> ExitCode:
    """Add faults; none if one of them is wrong. Return the exit code of the program."""

    def add_them(client: ControlClient) -> None:
        for each in faults:
            parse_fault(each, "FAULT")
        output = Output()
        for each in faults:
            added = client.add(each)
            output.line(f"{added['id']}\t{added['fault']}")
        output.flush()

    return _told(control, add_them)


def remove(control: ControlAddress, numbers: Sequence[int]) -> ExitCode:
    """Remove faults, or all if none is named; return the exit code of the program."""

    def remove_them(client: ControlClient) -> None:
        if not numbers:
            say(f"{client.clear()} faults removed")
        for number in numbers:
            removed = client.remove(number)
            say(f"{removed['fault']} removed: seen {removed['seen']}, fired {removed['fired']}")

    return _told(control, remove_them)


def print_faults_schema() -> None:
    """Print the JSON schema of files of faults."""
    output = Output()
    print_json(output, msgspec.json.encode(faults_schema()))
    output.flush()


def _told(control: ControlAddress, action: Callable[[ControlClient], None]) -> ExitCode:
    """Ask the control port for something, and say what was wrong with it."""
    if control.address is None:
        say(f"control port: not known: give --control HOST:PORT, or set {VARIABLE}")
        return ExitCode.USAGE
    try:
        client = ControlClient(control.address)
    except ConfigError as error:
        say(str(error))
        return ExitCode.USAGE
    file = control.token_file or token_file(client.port)
    client.token = read_token(file) or ""  # without one it is asked, too: it may not be there
    try:
        action(client)
    except ConnectError as error:
        say(str(error), *filter(None, [error.fix]))
        return ExitCode.CANNOT_CONNECT
    except TokenRefusedError:
        has = "has another token" if client.token else "does not exist, or you cannot read it"
        say(
            f"the control port at {control.address} refuses this request: {file} {has}",
            "Run this as the user who started the lab or the proxy, or give --control-token FILE "
            "with the file that it named at its start",
        )
        return ExitCode.USAGE
    except KdiagError as error:
        say(str(error))
        return ExitCode.USAGE
    return ExitCode.DONE
