import pytest

from kdiag_program import kdiag


def test_help_tells_what_to_capture() -> None:
    """Connections from their beginning, packets whole."""
    done = kdiag("tune-buffers", "--help")
    assert done.code == 0
    assert "only SYNs tell how windows are scaled" in " ".join(done.out.split())


def test_captures_are_needed() -> None:
    """Without any there is nothing to say."""
    assert kdiag("tune-buffers").code == 2


@pytest.mark.parametrize("rate", ["fast", "1G", "-1Gbit", "1Gbyte"])
def test_a_rate_that_is_none_is_refused(rate: str) -> None:
    """Bits or bytes is not to be guessed."""
    done = kdiag("tune-buffers", f"--rate={rate}", "x.pcap")
    assert done.code == 2
    assert "is not a rate" in done.err
