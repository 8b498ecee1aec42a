from typing import Any

import pytest

from kdiag.diagnosis import recorded_faults
from kdiag.diagnosis.recorded_faults import RecordedFaults
from kdiag.exchange.model import Connection, Exchange, Status, TlsFault, UnansweredReason
from kdiag.wire.api.heartbeat import HeartbeatRequest
from recordings.exchange_maker import START_NS, make_connection, make_exchange
from tiers.cases import for_each


def unanswered(reason: UnansweredReason, **changes: Any) -> Exchange:
    """Return a heartbeat that was not answered."""
    exchange = make_exchange(
        HeartbeatRequest(), version=3, pairing=Status.UNANSWERED, connection=make_connection()
    )
    exchange.unanswered_reason = reason
    for name, value in changes.items():
        setattr(exchange.connection, name, value)
    return exchange


def told(*items: Connection | Exchange) -> list[str]:
    """Return ids and titles of what is found."""
    faults = RecordedFaults()
    for each in items:
        if isinstance(each, Connection):
            faults.add_connection(each)
        else:
            faults.add_exchange(each)
    return [f"{each.id} {each.title}" for each in faults.findings()]


def test_what_may_have_other_causes_is_no_finding() -> None:
    """Loss, the end of the capture, the client, and TLS without keys."""
    quiet: list[Connection | Exchange] = [
        make_connection(),
        make_connection(tls_problem="the key log has no secret", close_reason="rst"),
        unanswered(UnansweredReason.IN_FLIGHT),
        unanswered(UnansweredReason.CLIENT_CLOSED),
        unanswered(UnansweredReason.ANSWER_NOT_CAPTURED),
        unanswered(UnansweredReason.BROKER_CLOSED, tls_fault=TlsFault.TLS_PORT),
        make_exchange(HeartbeatRequest(), version=3),
    ]
    assert told(*quiet) == []


@for_each(
    ("changes", "title"),
    [
        ({"close_reason": "refused"}, "KD1101 nothing listens on 10.0.0.2:9092"),
        ({"close_reason": "no answer"}, "KD1102 10.0.0.2:9092 does not answer"),
        (
            {"tls_fault": TlsFault.HANDSHAKE, "tls_problem": "the client said unknown_ca"},
            "KD1207 the TLS handshake with 10.0.0.2:9092 fails: the client said unknown_ca",
        ),
        (
            {"tls_fault": TlsFault.BROKEN, "tls_problem": "the client said internal_error"},
            "KD1405 the connection to 10.0.0.2:9092 broke: the client said internal_error",
        ),
        ({"tls_fault": TlsFault.PLAINTEXT_PORT}, "KD1201 10.0.0.2:9092 speaks no TLS"),
        ({"tls_fault": TlsFault.TLS_PORT}, "KD1401 10.0.0.2:9092 wants TLS"),
    ],
)
def test_a_connection_that_failed_is_a_finding(changes: dict[str, Any], title: str) -> None:
    """With the time at which it began."""
    assert told(make_connection(**changes)) == [f"{title} (once, at 03:04:05 UTC)"]


def test_a_broker_that_hangs_up_or_breaks_the_protocol_is_a_finding() -> None:
    """With the requests that it did not answer; errors come before warnings."""
    unasked = make_exchange(None, b"\0\0\0\7\0", version=None, pairing=Status.UNMATCHED)
    unasked.is_violation = True
    reasons = [UnansweredReason.BROKER_CLOSED, UnansweredReason.BROKER_RESET]
    found = told(*map(unanswered, [*reasons, UnansweredReason.SKIPPED]), unasked)
    broken, closed = "KD1404 10.0.0.2:9092 breaks Kafka's protocol:", "KD1407 10.0.0.2:9092"
    assert [each.partition(" (")[0] for each in found] == [
        f"{broken} it left requests without an answer and answered later ones",
        f"{broken} it sent answers that nobody asked for",
        f"{closed} closed connections instead of answering Heartbeat v3",
        f"{closed} reset connections instead of answering Heartbeat v3",
    ]


def test_many_of_one_kind_are_one_finding_with_its_evidence() -> None:
    """How often, when, and to which clients, the first of them."""
    faults = RecordedFaults()
    for number in range(9):
        begun_ns = START_NS + number * 10**9
        client = f"10.0.1.{number}:5000"
        made = make_connection(client=client, close_reason="refused", first_ns=begun_ns)
        faults.add_connection(made)
    (finding,) = faults.findings()
    assert finding.title.endswith("(9 times, 03:04:05 to 03:04:13 UTC)")
    assert finding.evidence["count"] == 9
    assert finding.evidence["clients"] == [f"10.0.1.{number}" for number in range(5)]
    assert finding.evidence["first_time"].startswith("2026-01-02T03:04:05")


def test_a_port_scan_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is more is counted."""
    monkeypatch.setattr(recorded_faults, "MAX_KINDS", 3)
    faults = RecordedFaults()
    for port in range(5):
        faults.add_connection(make_connection(broker=f"10.0.0.2:{port}", close_reason="refused"))
    assert (len(faults.findings()), faults.left_out) == (3, 2)
