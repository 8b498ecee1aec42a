import re
from pathlib import Path

import pytest

from kdiag.clock import ManualClock
from kdiag.lab.fault.control.control_port import ControlPort
from kdiag.lab.fault.fault_book import FaultBook
from kdiag_cli.commands.lab.faults import command
from kdiag_cli.commands.lab.faults.run import ControlAddress, add, remove, show
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.result import ResultFormat


def test_one_wrong_fault_keeps_all_from_being_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else somebody would have to remove the others."""
    book = FaultBook(ManualClock())
    with ControlPort(book) as port:
        address = ControlAddress(port.address, tmp_path / "token")
        (tmp_path / "token").write_text(port.token)
        assert add(address, ["Fetch delay=1s", "Fetch"]) is ExitCode.USAGE
        assert "nothing happens" in capsys.readouterr().err
        assert len(book) == 0
        examples = re.findall(r"'([^']+)'", command.ADD_EXAMPLES)
        assert add(address, examples) is ExitCode.DONE
        assert remove(address, ()) is ExitCode.DONE
        assert f"{len(examples)} faults removed" in capsys.readouterr().err


def test_without_a_port_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """But what was expected."""
    assert show(ControlAddress(None), ResultFormat.TABLE) is ExitCode.USAGE
    told = capsys.readouterr()
    assert (told.out, "--control" in told.err) == ("", True)
