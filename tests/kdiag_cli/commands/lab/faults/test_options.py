from contextlib import ExitStack

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


def test_a_control_port_is_there_if_asked_for() -> None:
    """As long as the lab."""
    with ExitStack() as closing:
        book = book_of((FAULT,), 0)
        assert open_control(closing, book, None) is None
        address = open_control(closing, book, 0)
        assert address is not None
        assert len(ControlClient(address).listed()) == 1
