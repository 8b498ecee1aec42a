"""Tables tell the same faults as the connections and exchanges that they were made of."""

from typing import Any

import pytest

from kdiag.diagnosis.recorded_faults import RecordedFaults
from kdiag.exchange.model import Connection, Exchange, Status, TlsFault, UnansweredReason
from kdiag.pcap.tls.problem import BROKER_SPEAKS_TLS
from kdiag.report.engine import open_tables
from kdiag.report.overview.faults.judgement import recorded_faults
from kdiag.wire.api.heartbeat import HeartbeatRequest
from recordings.capture_tables import tables_of_items
from recordings.exchange_maker import make_connection, make_exchange

MS = 1_000_000
PLAINTEXT = "the broker answers without TLS: the port is one for plaintext"
FACTS: tuple[dict[str, Any], ...] = (
    {},
    {"close_reason": "refused"},
    {"close_reason": "refused", "client": "[::1]:5000"},
    {"close_reason": "no answer"},
    {"tls_problem": "the key log has no secret", "close_reason": "rst"},
    {"tls_problem": "the handshake failed: the client said unknown_ca"},
    {"tls_problem": "the client said internal_error"},
    {"tls_problem": PLAINTEXT},
    {"tls_problem": BROKER_SPEAKS_TLS},
)
FAULTS = {
    FACTS[5]["tls_problem"]: TlsFault.HANDSHAKE,
    FACTS[6]["tls_problem"]: TlsFault.BROKEN,
    PLAINTEXT: TlsFault.PLAINTEXT_PORT,
    BROKER_SPEAKS_TLS: TlsFault.TLS_PORT,
}


def everything_failed() -> tuple[list[Connection], list[Exchange]]:
    """Return a connection for each fault, one without, and what each left unanswered."""
    connections: list[Connection] = []
    exchanges: list[Exchange] = []
    for number, facts in enumerate(FACTS, 1):
        connection = make_connection(number, connection_id=f"tcp-{number}", **facts)
        connection.first_ns += number * MS
        connection.tls_fault = FAULTS.get(connection.tls_problem or "")
        connections.append(connection)
        for reason in UnansweredReason:
            exchange = make_exchange(
                HeartbeatRequest(),
                version=3,
                number=len(exchanges) + 1,
                correlation_id=len(exchanges),
                pairing=Status.UNANSWERED,
                connection=connection,
                unanswered_reason=reason,
            )
            exchanges.append(exchange)
    unasked = make_exchange(
        None, b"\0\0\0\7\0", version=None, pairing=Status.UNMATCHED, connection=connections[0]
    )
    unasked.is_violation = True
    late = make_exchange(
        HeartbeatRequest(),
        version=3,
        number=len(exchanges) + 2,
        correlation_id=len(exchanges) + 2,
        connection=connections[0],
    )
    late.is_violation = True
    large = make_exchange(
        HeartbeatRequest(),
        version=3,
        number=len(exchanges) + 3,
        correlation_id=len(exchanges) + 3,
        pairing=Status.UNANSWERED,
        connection=connections[0],
        unanswered_reason=UnansweredReason.BROKER_CLOSED,
    )
    assert large.request is not None
    large.request.size = 150_000_000
    proxied = make_connection(99, connection_id="tcp-99", preamble="PROXY v1 from 10.0.0.1:5")
    behind = make_exchange(
        HeartbeatRequest(),
        version=3,
        number=len(exchanges) + 4,
        correlation_id=len(exchanges) + 4,
        pairing=Status.UNANSWERED,
        connection=proxied,
        unanswered_reason=UnansweredReason.BROKER_CLOSED,
    )
    return [*connections, proxied], [*exchanges, unasked, late, large, behind]


@pytest.mark.thorough
def test_tables_tell_each_fault_as_a_capture_does() -> None:
    """With its count, its times, its clients; TLS that failed explains what was not answered."""
    connections, exchanges = everything_failed()
    expected = RecordedFaults()
    for connection in connections:
        expected.add_connection(connection)
    for exchange in exchanges:
        expected.add_exchange(exchange)

    with open_tables(tables_of_items(*exchanges, *connections)) as database:
        told = recorded_faults(database).findings()
    with open_tables(tables_of_items(*exchanges)) as database:
        lone = recorded_faults(database).findings()

    by_title = sorted(expected.findings(), key=lambda each: each.title)
    assert sorted(told, key=lambda each: each.title) == by_title
    assert {each.id for each in told} == {
        *("KD1101", "KD1102", "KD1201", "KD1207", "KD1401", "KD1404", "KD1405", "KD1407"),
        *("KD1409", "KD1410"),
    }
    assert {each.id for each in lone} == {"KD1404"}, "TLS may explain the others"
    assert all("nobody asked for" in each.title or "order" in each.title for each in lone)
