import pytest

from kdiag.diagnosis.traffic import ledgers
from kdiag.diagnosis.traffic.ledgers import (
    Asker,
    Case,
    Ledgers,
    client_of,
    findings_of,
)
from recordings.exchange_maker import make_connection, make_exchange


def test_a_ledger_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no more of them than there is room for, which is counted."""
    monkeypatch.setattr(ledgers, "MAX_LEDGERS", 1)
    kept: Ledgers[str, list[int]] = Ledgers(list)
    first = kept.of("a")

    assert first is not None
    assert kept.of("a") is first
    assert kept.of("b") is None
    assert (kept.left_out, list(kept.items())) == (1, [("a", first)])


def test_a_client_is_its_host_and_its_id() -> None:
    """The port changes with each connection."""
    exchange = make_exchange(b"", version=None, connection=make_connection(client="[::1]:9"))

    assert client_of(exchange) == Asker("::1", "app")
    assert str(client_of(exchange)) == "app (::1)"
    assert str(Asker("10.0.0.1", None)) == "a client (10.0.0.1)"


def test_cases_of_a_problem_are_one_finding() -> None:
    """The worst of them, with how many there are, and who else."""
    cases = [
        Case(bad, f"app-{bad}", {"client": f"app-{bad}", "requests": bad}) for bad in range(330)
    ]
    (finding,) = findings_of("KD4104", cases)

    assert finding.title == "app-329 writes with acks=0 (Produce requests: 329) (the worst of 330)"
    assert finding.evidence["subjects"] == 330
    assert finding.evidence["others"] == [f"app-{bad}" for bad in range(328, 323, -1)]
    assert list(findings_of("KD4104", [])) == []
