import pytest

from kdiag.exchange.model import Gap, Protocol, Status, measured_latencies_ns
from recordings.exchange_maker import (
    LATENCY_NS,
    START_NS,
    make_connection,
    make_exchange,
    whole_frame,
)


def test_a_new_connection_has_carried_nothing() -> None:
    """What is counted starts at zero, what is found out is unknown."""
    connection = make_connection(protocol=Protocol.UNKNOWN)

    assert connection.requests == connection.responses == 0
    assert connection.request_bytes == connection.response_bytes == 0
    assert connection.duplicates == connection.gaps == connection.gap_bytes == 0
    assert connection.tls_version is connection.sni is connection.close_reason is None
    assert connection.client_software is None


def test_protocols_are_written_as_in_the_output() -> None:
    """Scripts compare with these texts."""
    assert [each.value for each in Protocol] == [
        "unknown",
        "kafka",
        "tls",
        "http",
        "redis",
        "empty",
    ]


def test_an_exchange_ends_with_its_last_byte() -> None:
    """Of the response; of the request, where the broker refuses before it is complete."""
    exchange = make_exchange(b"ask", b"answer", version=None)
    assert exchange.request is not None
    assert exchange.response is not None
    exchange.response.last_byte_ns += 9
    assert (exchange.transfer_ns, exchange.end_ns) == (9, START_NS + LATENCY_NS + 9)
    exchange.request.last_byte_ns = START_NS + 2 * LATENCY_NS
    assert exchange.end_ns == START_NS + 2 * LATENCY_NS
    exchange.response = None
    assert exchange.transfer_ns is None
    alone = make_exchange(None, b"answer", version=None)
    assert (alone.end_ns, alone.transfer_ns) == (START_NS + LATENCY_NS, 0)


def test_a_gap_belongs_to_its_connection() -> None:
    """What is learnt of the connection later holds for the gap as well."""
    connection = make_connection()
    gap = Gap(
        connection=connection, direction="response", time_ns=5, offset=0, size=9, reason="lost"
    )

    connection.number = 7

    assert gap.connection.number == 7


def test_statuses_stand_in_the_order_of_severity() -> None:
    """The worst comes first; an exchange has the worst status of its sides."""
    assert [each.value for each in Status] == [
        "malformed",
        "partial",
        "undecoded",
        "unmatched",
        "unanswered",
        "no_response",
        "opaque",
        "ok",
    ]


def test_an_exchange_happens_at_its_first_byte() -> None:
    """That is the request's, or the response's where no request was seen."""
    both = make_exchange(b"asked", b"answered", version=None)
    response_only = make_exchange(None, b"answered", version=None)

    assert both.time_ns == START_NS
    assert response_only.time_ns == START_NS + LATENCY_NS


def test_the_latency_counts_from_the_last_byte_asked_to_the_first_answered() -> None:
    """How long the frames themselves took is not in it."""
    exchange = make_exchange(b"asked", b"answered", version=None)
    assert exchange.request is not None
    assert exchange.response is not None
    exchange.request.last_byte_ns += 500
    exchange.response.last_byte_ns += 999_999

    assert exchange.latency_ns == LATENCY_NS - 500


def test_a_response_before_the_end_of_its_request_has_no_latency() -> None:
    """The clocks that recorded them differ: a latency of 0 would be made up."""
    exchange = make_exchange(b"asked", b"answered", version=None)
    exchange.request = whole_frame(b"asked", START_NS + 2 * LATENCY_NS)

    assert exchange.latency_ns is None


@pytest.mark.parametrize(("request_data", "response_data"), [(b"asked", None), (None, b"answered")])
def test_half_an_exchange_has_no_latency(
    request_data: bytes | None, response_data: bytes | None
) -> None:
    """None is not zero: nobody knows how long it took."""
    assert make_exchange(request_data, response_data, version=None).latency_ns is None


def test_the_latencies_of_many_are_those_of_each_that_has_one() -> None:
    """They are made in another way, as there are millions."""
    whole = make_exchange(b"asked", b"answered", version=None)
    early = make_exchange(b"asked", b"answered", version=None)
    early.request = whole_frame(b"asked", START_NS + 2 * LATENCY_NS)
    at_once = make_exchange(b"asked", b"answered", version=None)
    at_once.request = whole_frame(b"asked", START_NS + LATENCY_NS)
    halves = [
        make_exchange(b"asked", None, version=None),
        make_exchange(None, b"answered", version=None),
    ]
    exchanges = [whole, early, at_once, *halves]

    singly = [each.latency_ns for each in exchanges]
    assert measured_latencies_ns(exchanges) == [each for each in singly if each is not None]
    assert singly == [LATENCY_NS, None, 0, None, None]
