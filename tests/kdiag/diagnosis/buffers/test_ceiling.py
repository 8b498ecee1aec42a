import pytest

from kdiag.diagnosis.buffers.ceiling import (
    Bound,
    ClientDefaults,
    ceiling,
    ceilings,
)
from kdiag.diagnosis.buffers.facts import KernelLimits, LoadDirection
from made_values.buffer_cases import GBIT, KERNEL, KIB, LIMITS, MIB, make_path
from tiers.cases import for_each

PRODUCE, FETCH = LoadDirection.PRODUCE, LoadDirection.FETCH


def client(
    direction: LoadDirection, buffer_bytes: int = KERNEL, cycle_bytes: int | None = None
) -> ClientDefaults:
    """Return a client with this buffer, that has this much on its way at most.

    When it produces, in five requests.
    """
    requests = 5 if direction is PRODUCE else 1
    return ClientDefaults("mine", direction, "buffer", buffer_bytes, "cycle", cycle_bytes, requests)


# Measured on Linux 6.18 with a real Kafka 4.3.1 behind a TUN device: round trip, client's buffer,
# broker's buffer, MB/s.
MEASURED = [
    (PRODUCE, 20.5, 64 * KIB, 102400, 5.09),
    (PRODUCE, 20.5, 128 * KIB, 102400, 5.67),
    (PRODUCE, 20.5, KERNEL, 102400, 5.70),
    (PRODUCE, 20.5, 64 * KIB, KERNEL, 4.84),
    (PRODUCE, 20.5, 100 * KIB, KERNEL, 7.59),
    (FETCH, 20.5, 64 * KIB, 102400, 3.61),
    (FETCH, 20.5, 100 * KIB, 102400, 5.61),
    (FETCH, 20.5, MIB, 102400, 7.61),
    (FETCH, 20.5, KERNEL, 102400, 7.33),
    (FETCH, 20.5, 100 * KIB, KERNEL, 5.35),
    (FETCH, 20.5, 128 * KIB, KERNEL, 7.16),
]


@for_each(("direction", "rtt_ms", "own", "brokers", "measured"), MEASURED)
def test_predictions_are_within_a_quarter_of_what_was_measured(
    direction: LoadDirection, rtt_ms: float, own: int, brokers: int, measured: float
) -> None:
    """Whichever end holds the path."""
    path = make_path(rtt_ms, send=brokers, receive=brokers)
    found = ceiling(client(direction, own), path, LIMITS, GBIT)

    assert found.mb_per_s == pytest.approx(measured, rel=0.25)


def test_the_tightest_place_is_named() -> None:
    """The buffer of either end, what goes in a turn, or the rate."""
    narrow, wide = make_path(), make_path(send=KERNEL, receive=KERNEL)
    found = [
        ceiling(*each, LIMITS, GBIT).bound_by
        for each in (
            (client(PRODUCE, 64 * KIB), narrow),
            (client(PRODUCE, MIB), narrow),
            (client(FETCH, 64 * KIB), narrow),
            (client(FETCH, MIB), narrow),
            (client(PRODUCE, KERNEL, 80 * KIB), wide),
            (client(FETCH, KERNEL, MIB), wide),
            (client(FETCH), wide),
        )
    ]
    assert found == [
        Bound.CLIENT_BUFFER,
        Bound.BROKER_BUFFER,
        Bound.CLIENT_BUFFER,
        Bound.BROKER_BUFFER,
        Bound.BATCHES_IN_FLIGHT,
        Bound.FETCH_SIZE,
        Bound.RATE,
    ]


def test_the_example_is_right() -> None:
    """5.6 MB/s by the broker's buffer, and 3.6 MB/s by batches."""
    path = make_path(20.5)._replace(request_rtt_ns=22_000_000)
    buffers = ceiling(client(PRODUCE, 128 * KIB), path, LIMITS, GBIT)
    batches = ceiling(client(PRODUCE, 128 * KIB, 80 * KIB), path, LIMITS, GBIT)

    assert (round(buffers.mb_per_s, 1), buffers.bound_by) == (5.6, Bound.BROKER_BUFFER)
    assert (round(batches.mb_per_s, 1), batches.bound_by) == (3.6, Bound.BATCHES_IN_FLIGHT)


def test_the_rate_is_the_most_there_is() -> None:
    """125 MB/s for a gigabit; how much goes in a round trip then is nobody's bound."""
    found = ceiling(client(FETCH), make_path(2, send=KERNEL), LIMITS, GBIT)
    assert (found.mb_per_s, found.bound_bytes) == (125, None)


def test_a_cycle_takes_the_round_trip_of_a_request_and_its_own_time() -> None:
    """1 MiB takes 8.4 ms at a gigabit, after 22 ms."""
    found = ceiling(client(FETCH, KERNEL, MIB), make_path(send=KERNEL), LIMITS, GBIT)
    assert found.mb_per_s == pytest.approx(1.048576 / (0.022 + 0.00839), rel=0.01)


def test_a_round_trip_that_is_given_counts_for_requests_as_well() -> None:
    """They take no less than that, whatever was measured over another path."""
    near = make_path(20, send=KERNEL)._replace(request_rtt_ns=100_000)
    found = ceiling(client(FETCH, KERNEL, MIB), near, LIMITS, GBIT)
    assert found.mb_per_s == pytest.approx(1.048576 / (0.020 + 0.00839), rel=0.01)


@pytest.mark.parametrize(
    ("rtt_ms", "congestion_control", "measured"),
    [(20.5, "bbr", 33.0), (81, "bbr", 8.37), (81, "reno", 11.04)],
)
def test_bbr_takes_its_time_to_send_a_fetch(
    rtt_ms: float, congestion_control: str, measured: float
) -> None:
    """About half of a round trip, in which others send it all at once."""
    path = make_path(rtt_ms, send=KERNEL)._replace(request_rtt_ns=round(rtt_ms * 1.05e6))
    assert path.facts is not None
    facts = path.facts._replace(congestion_control=congestion_control)
    found = ceiling(client(FETCH, KERNEL, MIB), path._replace(facts=facts), LIMITS, GBIT)

    assert found.mb_per_s == pytest.approx(measured, rel=0.1)


# Measured with clients as they are, against Kafka 4.3.1 over 20.8 ms with BBR: its client, MB/s.
CLIENTS = [
    ("java", PRODUCE, 3.44),
    ("java", FETCH, 3.33),
    ("librdkafka", FETCH, 32.2),
    ("kafka-python", PRODUCE, 0.53),
]


@for_each(("client_name", "direction", "measured"), CLIENTS)
def test_clients_go_as_fast_as_is_predicted(
    client_name: str, direction: LoadDirection, measured: float
) -> None:
    """With their defaults; kafka-python, being idempotent, waits for the answer to each batch."""
    path = make_path(20.8, send=KERNEL, receive=KERNEL)._replace(request_rtt_ns=22_000_000)
    assert path.facts is not None
    path = path._replace(facts=path.facts._replace(congestion_control="bbr"))
    found = {(each.client, each.direction): each for each in ceilings(path, LIMITS, GBIT)}

    assert found[client_name, direction].mb_per_s == pytest.approx(measured, rel=0.1)


def test_what_a_broker_does_not_tell_is_left_out() -> None:
    """And so is what the kernel does not."""
    unknown = make_path(send=None, receive=None)
    found = ceiling(client(PRODUCE), unknown, KernelLimits(), GBIT)
    assert found.bound_by is Bound.RATE


def test_all_clients_have_their_defaults() -> None:
    """Java's producer is held by its batches, its consumer by its buffer."""
    found = {(each.client, each.direction): each for each in ceilings(make_path(), LIMITS, GBIT)}

    assert {each for each, _ in found} == {"java", "librdkafka", "kafka-python"}
    assert found["java", PRODUCE].bound_by is Bound.BATCHES_IN_FLIGHT
    assert found["java", FETCH].bound_by is Bound.CLIENT_BUFFER
    assert found["librdkafka", PRODUCE].bound_by is Bound.BROKER_BUFFER
    assert found["kafka-python", PRODUCE].bound_bytes == 16 * KIB
    assert "receive.buffer.bytes=65536" in found["java", FETCH].setting


def test_nothing_is_predicted_of_an_unknown_path() -> None:
    """Without a round trip there is no rate."""
    assert ceilings(make_path()._replace(rtt_ns=None), LIMITS, GBIT) == []
