from kdiag.diagnosis.tcp.request_cycles import RequestCycles
from kdiag.exchange.model import Exchange
from kdiag.wire import api_keys
from kdiag.wire.frame import Frame
from recordings.exchange_maker import START_NS, make_connection

MS = 1_000_000


def exchange(size: int, *, at_ms: float = 0, took_ms: float = 20, api_key: int = 0) -> Exchange:
    """Return an exchange whose request has a size, prefix included, and whose response has 50."""
    start_ns = START_NS + int(at_ms * MS)
    stop_ns = start_ns + int(took_ms * MS)
    return Exchange(
        number=1,
        connection=make_connection(),
        api_key=api_key,
        version=9,
        correlation_id=1,
        client_id="app",
        request=Frame(b"", size - 4, start_ns, start_ns),
        response=Frame(b"", 46, stop_ns, stop_ns),
    )


def turns_of(*exchanges: Exchange) -> RequestCycles:
    """Return exchanges summed up."""
    cycles = RequestCycles()
    for each in exchanges:
        cycles.add(each)
    return cycles


def test_nothing_takes_no_cycles() -> None:
    """Without exchanges there is neither a size nor a latency nor an API."""
    cycles = RequestCycles()
    assert (cycles.requests.typical_bytes, cycles.requests.latency_ns) == (0, None)
    assert (cycles.requests.api_key, cycles.in_flight(0), cycles.client_id) == (None, 0.0, None)


def test_large_frames_count_for_more() -> None:
    """A hundred small requests do not hide the large ones that carry the data."""
    small = [exchange(100, took_ms=1, api_key=3)] * 100
    cycles = turns_of(*small, exchange(1_000_000), exchange(1_000_000))
    assert 990_000 < cycles.requests.typical_bytes < 1_000_000
    assert cycles.requests.api_key == 0
    latency_ns = cycles.requests.latency_ns
    assert latency_ns is not None
    assert 19 * MS < latency_ns < 20 * MS
    assert (cycles.requests.count, cycles.responses.bytes) == (102, 5100)
    assert cycles.client_id == "app"


def test_requests_in_flight_follow_from_how_long_they_wait() -> None:
    """Ten requests of 20 ms within 40 ms are five at a time."""
    cycles = turns_of(*(exchange(1000, at_ms=20 * (n // 5)) for n in range(10)))
    assert cycles.in_flight(0) == 5.0


def test_requests_seen_near_the_broker_wait_for_longer_than_they_seem_to() -> None:
    """The round trip to the client is added."""
    cycles = turns_of(*(exchange(1000, at_ms=n * 10, took_ms=10) for n in range(10)))
    assert cycles.in_flight(0) == 1.0
    assert cycles.in_flight(10 * MS) == 2.0


def test_an_exchange_without_a_side_counts_the_other() -> None:
    """A request without its response has no latency, and a lone response no request."""
    lone = exchange(1000, api_key=api_keys.FETCH)
    lone.request = None
    unanswered = exchange(1000)
    unanswered.response = None
    cycles = turns_of(lone, unanswered)
    assert (cycles.requests.count, cycles.responses.count, cycles.pending_ns) == (1, 1, 0)
    assert cycles.requests.latency_ns is None
