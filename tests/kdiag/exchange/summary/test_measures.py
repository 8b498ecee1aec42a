import sys
from random import Random

from kdiag.exchange.summary.measures import LatencySummary, Measures
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from recordings.exchange_maker import LATENCY_NS, make_exchange


def measured(*latencies_ns: int) -> Measures:
    """Return the measures of exchanges with some latencies."""
    measures = Measures()
    exchange = make_exchange(HeartbeatRequest(), HeartbeatResponse(), version=3)
    assert exchange.request is not None
    assert exchange.response is not None
    for each in latencies_ns:
        exchange.response.first_byte_ns = exchange.request.last_byte_ns + each
        measures.add(exchange)
    return measures


def test_few_latencies_are_their_own_percentiles() -> None:
    """The longest bounds them all."""
    assert measured(LATENCY_NS).latency() == LatencySummary(1, *[LATENCY_NS] * 4)
    assert measured(0, 5, 10).latency() == LatencySummary(3, 5, 10, 10, 10)


def test_percentiles_of_many_are_right_to_a_thousandth() -> None:
    """Whatever their size."""
    random = Random(5)
    latencies = [int(10 ** random.uniform(2, 11)) for _ in range(2_000)]
    found = measured(*latencies).latency()
    assert found is not None
    latencies.sort()
    for percentile, rank in [(found.p50_ns, 1000), (found.p90_ns, 1800), (found.p99_ns, 1980)]:
        exact = latencies[rank - 1]
        assert exact <= percentile <= exact * 1.001
    assert (found.number, found.max_ns) == (2_000, latencies[-1])


def test_small_latencies_are_exact() -> None:
    """A nanosecond is one, up to 2,047; then a power of two begins with twice the step."""
    for latency_ns, expected in ((0, 0), (1, 1), (1023, 1023), (1024, 1024), (2047, 2047)):
        assert measured(latency_ns, 1 << 40).latency() == LatencySummary(
            2, expected, 1 << 40, 1 << 40, 1 << 40
        )
    assert measured(2048, 1 << 40).latency() == LatencySummary(2, 2049, *[1 << 40] * 3)


def test_many_latencies_take_no_more_memory_than_the_first() -> None:
    """However much they differ, as clocks of nanoseconds do."""
    chance, measures = Random(7), measured()
    exchange = make_exchange(HeartbeatRequest(), HeartbeatResponse(), version=3)
    assert exchange.request is not None
    assert exchange.response is not None
    sizes = []
    for _ in range(3):
        for _ in range(4096):
            took_ns = chance.randrange(1 << 16, 1 << 22)
            exchange.response.first_byte_ns = exchange.request.last_byte_ns + took_ns
            measures.add(exchange)
        sizes.append(sys.getallocatedblocks())
    assert sizes[2] - sizes[1] < 100


def test_what_has_no_latency_still_has_bytes() -> None:
    """A request alone, and a response alone."""
    measures = Measures()
    measures.add(make_exchange(b"12345678", version=None))
    measures.add(make_exchange(None, b"123", version=None))
    assert (measures.request_bytes, measures.response_bytes) == (8, 3)
    assert measures.latency() is None
