from contextlib import ExitStack
from pathlib import Path

import pytest

from kdiag.lab.fault.control.control_client import ControlClient
from kdiag.lab.fault.grammar import parse_fault
from kdiag_cli.commands.lab.faults.options import book_of, open_control

FAULT = parse_fault("Fetch delay=1s")


def test_there_is_a_book_where_faults_are_or_can_come() -> None:
    """Else requests cost nothing."""
    assert book_of((), None) is None
    book = book_of((FAULT,), None)
    assert book is not None
    assert [each.rule for each in book.listed()] == [FAULT]
    assert book_of((), 0) is not None


def test_a_control_port_is_there_if_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as the lab, and so is its token."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with ExitStack() as closing:
        book = book_of((FAULT,), 0)
        assert open_control(closing, book, None) is None
        control = open_control(closing, book, 0, folder=tmp_path)
        assert control is not None
        assert control.token_file == tmp_path / "control.token"
        token = control.token_file.read_text().strip()
        assert len(ControlClient(control.address, token).listed()) == 1
    assert [*tmp_path.rglob("*.token")] == []
