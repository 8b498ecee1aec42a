from kdiag.exchange.documents.tcp import tcp_document
from made_values.limited_connection import MS, direction, facts_of


def test_facts_are_told_in_microseconds_and_bytes() -> None:
    """Keys name the units, and a spread has four values."""
    document = tcp_document(facts_of(direction(held_ns=7 * MS, stalled_ns=3 * MS)))
    assert (document["rtt_us"], document["client_rtt_us"], document["vantage"]) == (
        20_000,
        10_000,
        "between",
    )
    requests = document["requests"]
    assert requests["in_flight_bytes"] == {
        "least": 1460,
        "median": 60_000,
        "p95": 65_000,
        "most": 66_000,
    }
    assert requests["ack_rtt_us"]["median"] == 10_000
    assert (requests["waits_us"]["held"], requests["stalled_us"]) == (7000, 3000)


def test_what_is_not_known_is_null() -> None:
    """Without a handshake there is no window, and nobody knows of SACK."""
    facts = facts_of(direction(window=None))
    facts.client_rtt_ns = None
    document = tcp_document(facts)
    assert document["requests"]["window_bytes"] is None
    assert (document["rtt_us"], document["has_sack"]) == (None, None)
