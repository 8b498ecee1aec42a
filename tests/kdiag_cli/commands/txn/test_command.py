import pytest

from programs.kdiag_program import kdiag


def test_a_list_is_what_is_meant_without_a_command() -> None:
    """The page of the group shows both commands."""
    page = kdiag("txn", "--help").out
    assert "list" in page
    assert "abort" in page
    assert "kdiag txn -b localhost:9092 --hanging" in kdiag("txn", "list", "--help").out
    for words in ((), ("list",)):
        assert "bootstrap.servers (not set)" in kdiag("txn", *words).err


@pytest.mark.parametrize("missing", ["-t", "-p", "--start-offset"])
def test_what_is_to_be_ended_is_named(missing: str) -> None:
    """By topic, partition and offset."""
    given = {"-t": "orders", "-p": "1", "--start-offset": "1"}
    del given[missing]
    words = [word for pair in given.items() for word in pair]
    assert kdiag("txn", "abort", "-b", "127.0.0.1:1", *words).code == 2
