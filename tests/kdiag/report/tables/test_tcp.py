from kdiag.exchange.tcp_facts import Spread, TcpDirection, TcpFacts
from kdiag.report.tables.tcp import TCP, tcp_rows
from recordings.exchange_maker import make_connection


def rows_of(facts: TcpFacts | None) -> list[dict[str, object]]:
    """Return the rows of a connection with some facts."""
    names = [column.name for column in TCP.columns]
    return [dict(zip(names, row, strict=True)) for row in tcp_rows(make_connection(1, tcp=facts))]


def test_a_connection_has_a_row_for_each_direction() -> None:
    """Each with what its own sender and receiver did; what both ends agreed on is in both."""
    requests = TcpDirection(bytes=7, first_ns=3, mss=1460, in_flight=Spread(1, 2, 3, 4))
    facts = TcpFacts(
        requests=requests,
        responses=TcpDirection(ack_rtt_ns=Spread(5, 6, 7, 8)),
        client_rtt_ns=1,
        broker_rtt_ns=2,
        has_sack=True,
    )
    request, response = rows_of(facts)

    assert (request["direction"], response["direction"]) == ("request", "response")
    assert (request["bytes"], request["first_segment_ns"], request["mss_bytes"]) == (7, 3, 1460)
    assert (response["bytes"], response["first_segment_ns"], response["mss_bytes"]) == (
        0,
        None,
        None,
    )
    spread = [f"in_flight_{part}_bytes" for part in ("median", "p95", "most")]
    assert ([request[name] for name in spread], response[spread[0]]) == ([2, 3, 4], None)
    assert (request["ack_rtt_least_ns"], response["ack_rtt_p95_ns"]) == (None, 7)
    for row in (request, response):
        assert (row["rtt_ns"], row["vantage"], row["has_sack"]) == (3, "local", True)


def test_a_connection_that_nobody_followed_has_none() -> None:
    """A row of zeros would say that nothing was lost."""
    assert rows_of(None) == []
