from pathlib import Path

import pytest

from kdiag.errors import KdiagError
from kdiag.lab.log.refusal import LogFileError, LogRefusedError, disk_faults


def test_a_refusal_begins_with_the_name_of_its_error_code() -> None:
    """A broker looks the number up by that name."""
    error = LogRefusedError("INVALID_RECORD", "no key")
    assert str(error) == "INVALID_RECORD: no key"
    assert error.record_errors == ()


def test_a_fault_of_a_file_says_where() -> None:
    """The place is left out if the file as a whole is at fault."""
    assert str(LogFileError(Path("a.log"), "torn", 12)) == "a.log, byte 12: torn"
    assert str(LogFileError(Path("a.log"), "torn")) == "a.log: torn"


def test_errors_of_the_system_become_those_of_the_file(tmp_path: Path) -> None:
    """Nothing but a `KdiagError` comes out of a log."""
    with pytest.raises(LogFileError, match="No such file"), disk_faults(tmp_path):
        (tmp_path / "absent").read_bytes()
    with pytest.raises(KdiagError, match="null"), disk_faults(tmp_path):
        (tmp_path / "a\0b").read_bytes()
