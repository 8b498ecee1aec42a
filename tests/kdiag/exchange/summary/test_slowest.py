import pytest

from kdiag.exchange.model import Exchange
from kdiag.exchange.summary.slowest import MOST, SlowestExchanges
from kdiag.wire.api.fetch import FetchRequest, FetchResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.schema import Struct
from recordings.exchange_maker import START_NS, make_exchange

MS = 1_000_000


def taking(
    took_ms: int, number: int, request: Struct | None = None, response: Struct | None = None
) -> Exchange:
    """Return an exchange that took so long, a heartbeat unless another is given."""
    exchange = make_exchange(
        request or HeartbeatRequest(), response or HeartbeatResponse(), version=4, number=number
    )
    assert exchange.response is not None
    exchange.response.first_byte_ns = exchange.response.last_byte_ns = START_NS + took_ms * MS
    return exchange


def test_the_slowest_are_kept_in_order() -> None:
    """Of equal ones the first; the floor is the last of them."""
    slowest = SlowestExchanges()
    for number, took_ms in enumerate((5, 80, 20, 80, 1, 90, 30, 2), 1):
        slowest.offer(taking(took_ms, number))

    kept = slowest.exchanges()
    assert len(kept) == MOST
    assert [(each.number, each.net_ns // MS) for each in kept] == [
        (6, 90),
        (2, 80),
        (4, 80),
        (7, 30),
        (3, 20),
    ]
    assert slowest.floor_ns == 20 * MS


@pytest.mark.parametrize(("took_ms", "net_ms"), [(510, [10]), (400, [])])
def test_the_wait_that_a_fetch_allows_is_not_slow(took_ms: int, net_ms: list[int]) -> None:
    """Half a second on purpose; what comes on top counts."""
    slowest = SlowestExchanges()
    slowest.offer(taking(took_ms, 1, FetchRequest(max_wait_ms=500), FetchResponse()))

    assert [each.net_ns // MS for each in slowest.exchanges()] == net_ms


def test_a_request_without_an_answer_is_none_of_them() -> None:
    """Nobody knows how long it would have taken."""
    slowest = SlowestExchanges()
    slowest.offer(make_exchange(HeartbeatRequest(), version=4))

    assert slowest.exchanges() == []


def test_a_slow_exchange_has_a_document() -> None:
    """With its number, for `--show`."""
    slowest = SlowestExchanges()
    slowest.offer(taking(7, 3))
    (document,) = (each.document() for each in slowest.exchanges())

    assert document == {
        "number": 3,
        "time": "2026-01-02T03:04:05.000000006Z",
        "api": "Heartbeat",
        "version": 4,
        "client_id": "app",
        "client": "10.0.0.1:40000",
        "broker": "10.0.0.2:9092",
        "took_us": 7000,
        "latency_us": 7000,
    }
