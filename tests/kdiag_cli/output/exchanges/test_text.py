from kdiag.exchange.model import Exchange, Protocol, Sighting, Status
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag_cli.output.exchanges.text import (
    api_text,
    connection_text,
    hop_text,
    latency_text,
    sighting_text,
    timing_text,
)
from recordings.exchange_maker import make_connection, make_exchange
from tiers.cases import for_each


def heartbeat() -> Exchange:
    """Return a heartbeat that is told to rebalance."""
    asked = HeartbeatRequest(group_id="billing", generation_id=4, member_id="m")
    return make_exchange(asked, HeartbeatResponse(error_code=27), version=3)


@for_each(
    ("latency_ns", "text"),
    [
        (None, "-"),
        (0, "0 µs"),
        (999_499, "999 µs"),
        (999_500, "1.00 ms"),
        (9_994_000, "9.99 ms"),
        (9_996_000, "10.0 ms"),
        (99_960_000, "100 ms"),
        (999_600_000, "1.00 s"),
        (75_000_000_000, "75.0 s"),
    ],
)
def test_latencies_have_three_digits(latency_ns: int | None, text: str) -> None:
    """They never need more than seven columns up to a thousand seconds."""
    assert latency_text(latency_ns) == text


def test_a_transfer_is_shown_where_it_matters() -> None:
    """From a millisecond and a tenth of the latency on."""
    exchange = heartbeat()
    assert exchange.response is not None
    first_ns = exchange.response.first_byte_ns
    for transfer_ns, text in [
        (999_999, "2.50 ms"),
        (4_070_000_000, "2.50 ms +4.07 s"),
        (1_000_000, "2.50 ms +1.00 ms"),
    ]:
        exchange.response.last_byte_ns = first_ns + transfer_ns
        assert timing_text(exchange) == text
    exchange.response.first_byte_ns += 1_000_000_000
    exchange.response.last_byte_ns = exchange.response.first_byte_ns + 2_000_000
    assert timing_text(exchange) == "1.00 s"


def test_exchanges_without_an_api_say_what_they_are() -> None:
    """A token, what may be one, something unknown, a number without a name."""
    token = make_exchange(b"token", version=None, pairing=Status.OPAQUE, correlation_id=None)
    assert api_text(token) == "SASL token"
    damaged = make_exchange(b"damaged", version=None, pairing=Status.OPAQUE)
    assert api_text(damaged) == "SASL login?"
    alone = make_exchange(None, b"data", version=None, pairing=Status.UNMATCHED)
    assert api_text(alone) == "?"
    newer = heartbeat()
    newer.api_key = 999
    assert api_text(newer) == "API 999 v3"


def test_connections_that_are_not_kafkas_are_described() -> None:
    """TLS by its version and server name, others by their protocol."""
    secure = make_connection(
        protocol=Protocol.TLS, tls_version="TLS 1.3", sni="b\x07", request_bytes=1_500
    )
    assert connection_text(secure) == r"TLS 1.3, server name b\x07, 1.5 kB: encrypted, not read"
    assert connection_text(make_connection(protocol=Protocol.TLS)).startswith("TLS, 0 B")
    assert connection_text(make_connection(protocol=Protocol.HTTP)) == "HTTP, 0 B"
    assert connection_text(make_connection(protocol=Protocol.UNKNOWN)) == "unknown protocol, 0 B"


def test_the_time_between_two_places_may_be_negative() -> None:
    """Clocks differ; where nothing is known nothing is said."""
    sighting = Sighting(client="10.0.0.99:5", broker="10.244.1.7:9092", request_hop_ns=31_000)
    sighting.response_hop_ns = -2_000_000
    assert sighting_text(sighting).endswith("31 µs for requests, -2.00 ms for responses")
    sighting.request_hop_ns = sighting.response_hop_ns = None
    assert sighting_text(sighting) == "as 10.0.0.99:5 → 10.244.1.7:9092"
    assert hop_text(0) == "0 µs"
