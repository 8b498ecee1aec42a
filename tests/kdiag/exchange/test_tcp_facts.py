from kdiag.exchange.tcp_facts import TcpDirection, TcpFacts, Vantage, WindowScaling
from tiers.cases import for_each

MS = 1_000_000


def facts(client_ns: int | None, broker_ns: int | None) -> TcpFacts:
    """Return facts with round trips to both ends."""
    return TcpFacts(
        requests=TcpDirection(retransmits=1, zero_windows=2, stalled_ns=3),
        responses=TcpDirection(retransmits=4, zero_windows=5, stalled_ns=6),
        client_rtt_ns=client_ns,
        broker_rtt_ns=broker_ns,
    )


@for_each(
    ("client_ns", "broker_ns", "vantage"),
    [
        (MS, 19 * MS, Vantage.CLIENT),
        (19 * MS, MS, Vantage.BROKER),
        (8 * MS, 12 * MS, Vantage.BETWEEN),
        (20_000, 30_000, Vantage.LOCAL),
        (None, 30_000, Vantage.UNKNOWN),
    ],
)
def test_the_vantage_point_is_near_the_end_that_answers_at_once(
    client_ns: int | None, broker_ns: int | None, vantage: Vantage
) -> None:
    """Who takes less than a tenth of the round trip is near."""
    assert facts(client_ns, broker_ns).vantage is vantage


def test_the_round_trip_is_that_to_both_ends_together() -> None:
    """It is not known if one of them is not."""
    assert facts(MS, 19 * MS).rtt_ns == 20 * MS
    assert facts(MS, None).rtt_ns is None


def test_both_directions_add_up() -> None:
    """What went wrong in either went wrong on the connection."""
    both = facts(1, 1)
    assert (both.retransmits, both.zero_windows, both.stalled_ns) == (5, 7, 9)


@for_each(
    ("by_client", "by_broker", "scaling"),
    [
        (7, 7, WindowScaling.ON),
        (7, None, WindowScaling.CLIENT_ONLY),
        (None, 0, WindowScaling.BROKER_ONLY),
        (None, None, WindowScaling.OFF),
    ],
)
def test_windows_are_scaled_if_both_ends_offer_it(
    by_client: int | None, by_broker: int | None, scaling: WindowScaling
) -> None:
    """The scale of the client's window is that of responses, for the client receives them."""
    known = facts(1, 1)
    assert known.window_scaling is WindowScaling.UNKNOWN
    known.has_handshake = True
    known.responses.window_scale, known.requests.window_scale = by_client, by_broker
    assert known.window_scaling is scaling
