import pytest

from programs.kdiag_program import kdiag
from tiers.cases import for_each


def test_help_tells_what_to_capture() -> None:
    """Connections from their beginning, packets whole."""
    done = kdiag("tune-buffers", "--help")
    assert done.code == 0
    assert "only SYNs tell how windows are scaled" in " ".join(done.out.split())


def test_captures_or_brokers_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any there is nothing to say."""
    monkeypatch.delenv("KDIAG_BOOTSTRAP_SERVERS", raising=False)
    done = kdiag("tune-buffers")
    assert done.code == 2
    assert "give -b HOST:PORT" in done.err


@pytest.mark.parametrize("option", ["-b", "--topic", "--html"])
def test_captures_and_brokers_do_not_go_together(option: str) -> None:
    """What is for brokers is refused beside a capture."""
    done = kdiag("tune-buffers", "x.pcap", option, "somewhere")
    assert done.code == 2
    assert "captures go with neither" in " ".join(done.err.split())


@for_each(
    ("option", "value"),
    [("--sizes", "big"), ("--rtt", "far"), ("--max-bytes", "all"), ("--rounds", "0")],
)
def test_options_for_brokers_are_checked_before_anything_is_done(option: str, value: str) -> None:
    """Nobody waits for a connection to hear of a typing error."""
    done = kdiag("tune-buffers", "-b", "nowhere.invalid:9092", option, value)
    assert done.code == 2
    assert option in done.err


@for_each("rate", ["fast", "1G", "-1Gbit", "1Gbyte"])
def test_a_rate_that_is_none_is_refused(rate: str) -> None:
    """Bits or bytes is not to be guessed."""
    done = kdiag("tune-buffers", f"--rate={rate}", "x.pcap")
    assert done.code == 2
    assert "is not a rate" in done.err
