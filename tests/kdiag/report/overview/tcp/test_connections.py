"""Tables tell the same of TCP as the connections that they were made of."""

import pytest

from kdiag.clock import ALWAYS, TimeRange
from kdiag.diagnosis.tcp.request_cycles import RequestCycles
from kdiag.diagnosis.tcp.worst_connections import WorstConnections
from kdiag.exchange.model import Connection, Exchange, Status
from kdiag.report.engine import open_tables
from kdiag.report.overview.tcp.connections import count_unfollowed, followed_connections
from kdiag.wire.api.fetch import FetchRequest, FetchResponse
from kdiag.wire.api.produce import ProduceRequest, ProduceResponse
from made_values.limited_connection import MS, QUIET, SPAN_MS, direction, facts_of
from recordings.capture_tables import tables_of_items
from recordings.exchange_maker import START_NS, make_connection, make_exchange

END_NS = START_NS + SPAN_MS * MS


def limited() -> list[Connection]:
    """Return a connection for each of some limits, and one on which TCP was not followed."""
    full = {"window_full_ns": SPAN_MS * MS}
    all_facts = (
        facts_of(direction(window_closed_ns=SPAN_MS * MS, retransmits=40, recovery_ns=500 * MS)),
        facts_of(direction(**full)),
        facts_of(direction(window=None, held_ns=SPAN_MS * MS)),
        facts_of(direction(**QUIET), direction(idle_ns=SPAN_MS * MS, in_flight=None)),
        None,
    )
    connections = []
    for number, facts in enumerate(all_facts, 1):
        made = make_connection(number, connection_id=f"tcp-{number}", tcp=facts, last_ns=END_NS)
        connections.append(made)
    return connections


def asked(connections: list[Connection]) -> list[Exchange]:
    """Return exchanges of all kinds on each connection: answered, not answered, not asked."""
    kinds = (
        (FetchRequest(), FetchResponse(), 12, Status.OK),
        (ProduceRequest(), ProduceResponse(), 9, Status.OK),
        (ProduceRequest(), None, 9, Status.UNANSWERED),
        (None, b"\0\0\0\7\0", None, Status.UNMATCHED),
    )
    exchanges: list[Exchange] = []
    for connection in connections:
        for request, response, version, pairing in kinds:
            number = len(exchanges) + 1
            made = make_exchange(request, response, version=version, pairing=pairing)
            made.number = made.correlation_id = number
            made.connection = connection
            for frame in (made.request, made.response):
                if frame is not None:
                    frame.first_byte_ns += number * MS
                    frame.last_byte_ns += number * MS
                    frame.size += 4_000_000_000  # its square takes more than 63 bits
            made.client_id = None if request is None else f"app-{number}"
            exchanges.append(made)
    return exchanges


@pytest.mark.thorough
def test_tables_tell_what_limits_a_connection_as_a_capture_does() -> None:
    """The same request cycles, and the same findings word for word."""
    connections = limited()
    exchanges = asked(connections)
    cycles = {each.number: RequestCycles() for each in connections}
    expected, told = WorstConnections(), WorstConnections()
    for exchange in exchanges:
        cycles[exchange.connection.number].add(exchange)
    for connection in connections:
        expected.judge(connection, cycles[connection.number])

    with open_tables(tables_of_items(*exchanges, *connections)) as database:
        for connection, found in followed_connections(database, ALWAYS):
            told.judge(connection, found)
            assert found == cycles.pop(connection.number)
        ended = list(followed_connections(database, TimeRange(to_ns=END_NS)))
        unfollowed = count_unfollowed(database)

    assert list(told.findings()) == list(expected.findings())
    assert {"KD6002", "KD6003", "KD6005"} <= {each.id for each in told.findings()}
    assert ended == [], "exchanges of those that go on behind are missing"
    assert (*unfollowed, [*cycles]) == (5, 1, [5])
