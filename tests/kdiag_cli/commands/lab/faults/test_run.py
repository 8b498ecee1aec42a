import re

import pytest

from kdiag.clock import ManualClock
from kdiag.lab.fault.control.control_port import ControlPort
from kdiag.lab.fault.fault_book import FaultBook
from kdiag_cli.commands.lab.faults import command
from kdiag_cli.commands.lab.faults.run import add, remove, show
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.result import ResultFormat


def test_one_wrong_fault_keeps_all_from_being_added(capsys: pytest.CaptureFixture[str]) -> None:
    """Else somebody would have to remove the others."""
    book = FaultBook(ManualClock())
    with ControlPort(book) as port:
        assert add(port.address, ["Fetch delay=1s", "Fetch"]) is ExitCode.USAGE
        assert "nothing happens" in capsys.readouterr().err
        assert len(book) == 0
        examples = re.findall(r"'([^']+)'", command.ADD_EXAMPLES)
        assert add(port.address, examples) is ExitCode.DONE
        assert remove(port.address, ()) is ExitCode.DONE
        assert f"{len(examples)} faults removed" in capsys.readouterr().err


def test_without_a_port_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """But what was expected."""
    assert show(None, ResultFormat.TABLE) is ExitCode.USAGE
    told = capsys.readouterr()
    assert (told.out, "--control" in told.err) == ("", True)
