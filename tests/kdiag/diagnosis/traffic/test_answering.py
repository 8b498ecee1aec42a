import pytest

from kdiag.diagnosis.traffic.answering import Answering
from kdiag.diagnosis.traffic.ledgers import Asker
from kdiag.exchange.model import Exchange, UnansweredReason
from kdiag.wire.api.fetch import FetchRequest, FetchResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from recordings.exchange_maker import START_NS, make_connection, make_exchange

MS = 1_000_000
NOBODY: frozenset[Asker] = frozenset()


def answers(broker: str, client: str, *latencies_ms: int, number: int = 1) -> list[Exchange]:
    """Return heartbeats that a broker answered so late."""
    connection = make_connection(number, broker=broker, client=f"{client}:40000")
    made = []
    for latency_ms in latencies_ms:
        exchange = make_exchange(
            HeartbeatRequest(), HeartbeatResponse(), version=4, connection=connection
        )
        assert exchange.response is not None
        exchange.response.first_byte_ns = START_NS + latency_ms * MS
        made.append(exchange)
    return made


def late_brokers(
    *exchanges: Exchange, throttled: frozenset[Asker] = NOBODY
) -> list[tuple[str, int]]:
    """Return the brokers that are found to be late, and what they exceed."""
    answering = Answering()
    for exchange in exchanges:
        answering.add(exchange)
    findings = list(answering.findings(throttled))
    assert {each.id for each in findings} <= {"KD4401", "KD4403"}
    late = [each.evidence for each in findings if each.id == "KD4401"]
    return [(each["broker"], each["late_ms"]) for each in late]


def slow_brokers(*exchanges: Exchange) -> list[str]:
    """Return what is said of brokers that are slow by rank."""
    answering = Answering()
    for exchange in exchanges:
        answering.add(exchange)
    return [each.title for each in answering.findings(NOBODY) if each.id == "KD4403"]


SLOW = (3, *[300] * 30)
QUICK = [2] * 30


def test_a_broker_that_is_late_for_all_is_found() -> None:
    """With what half of its answers exceed, in powers of two."""
    slow = [*answers("b:1", "10.0.0.1", *SLOW), *answers("b:1", "10.0.0.2", *SLOW, number=2)]

    assert late_brokers(*slow) == [("b:1", 268)]
    assert late_brokers(*slow, *answers("b:2", "10.0.0.1", *QUICK, number=3)) == [("b:1", 268)]


def test_others_that_are_as_slow_acquit_a_broker() -> None:
    """It is something that they share then."""
    slow = [
        each
        for number, (broker, client) in enumerate(
            [("b:1", "10.0.0.1"), ("b:1", "10.0.0.2"), ("b:2", "10.0.0.1"), ("b:2", "10.0.0.2")]
        )
        for each in answers(broker, client, *SLOW, number=number)
    ]

    assert late_brokers(*slow) == []


@pytest.mark.parametrize(
    "second",
    [QUICK, [300] * 5, []],
    ids=["another client is answered at once", "too few answers", "one client alone"],
)
def test_one_client_is_not_everybody(second: list[int]) -> None:
    """It may be its network, or what it asks."""
    exchanges = answers("b:1", "10.0.0.1", *SLOW) + answers("b:1", "10.0.0.2", *second, number=2)

    assert late_brokers(*exchanges) == []


def test_a_broker_that_is_far_away_is_not_slow() -> None:
    """No answer comes quicker than the way there and back."""
    far = [300] * 30
    exchanges = answers("b:1", "10.0.0.1", *far) + answers("b:1", "10.0.0.2", *far, number=2)

    assert late_brokers(*exchanges) == []


def test_what_waits_for_something_else_does_not_count() -> None:
    """Behind a fetch, or for a quota."""
    fetch = make_exchange(
        FetchRequest(),
        FetchResponse(),
        version=12,
        connection=make_connection(1, broker="b:1", client="10.0.0.1:40000"),
    )
    exchanges = answers("b:1", "10.0.0.1", *SLOW) + answers("b:1", "10.0.0.2", *SLOW, number=2)

    assert late_brokers(fetch, *exchanges) == []
    assert late_brokers(*exchanges, throttled=frozenset({Asker("10.0.0.1", "app")})) == []


def test_few_answers_are_enough_where_the_same_client_gets_quicker_ones() -> None:
    """The ranks decide; a broker is compared with those that the same clients ask."""
    few = answers("b:3", "10.0.0.1", *[2, 450, 440, 460, 470, 455, 448])
    others = answers("b:1", "10.0.0.1", *[1, 2] * 10, number=2)
    (title,) = slow_brokers(*few, *others)
    assert title == (
        "broker b:3 is slow: 7 answers, half of them after more than 450 ms, beside 20 of b:1"
        " after 1.5 ms"
    )


def test_what_may_be_chance_or_distance_is_not_slow() -> None:
    """Too few, all alike as over a long way, another client's answers, or others as slow."""
    others = answers("b:1", "10.0.0.1", *[1, 2] * 10, number=2)
    assert slow_brokers(*answers("b:3", "10.0.0.1", 450, 440), *others) == []
    assert slow_brokers(*answers("b:3", "10.0.0.1", *[450] * 9), *others) == []
    few = answers("b:3", "10.0.0.1", *[2, 450, 440, 460, 470, 455, 448])
    assert slow_brokers(*few, *answers("b:1", "10.0.0.9", *[1] * 20, number=2)) == []
    assert slow_brokers(*few, *answers("b:1", "10.0.0.1", *[300] * 20, number=2)) == []
    assert slow_brokers(*few) == []


def waits(broker: str, client: str, *waited_ms: int) -> list[Exchange]:
    """Return heartbeats without an answer, on connections that the client closed so late."""
    made = []
    for number, each in enumerate(waited_ms, start=10):
        connection = make_connection(
            number, broker=broker, client=f"{client}:40000", closed_ns=START_NS + each * MS
        )
        exchange = make_exchange(HeartbeatRequest(), version=4, connection=connection)
        exchange.api_key = 12
        exchange.unanswered_reason = UnansweredReason.CLIENT_CLOSED
        made.append(exchange)
    return made


def test_requests_without_an_answer_count_with_the_time_they_waited() -> None:
    """Unless the broker closed the connection, or they waited shortly."""
    others = answers("b:1", "10.0.0.1", *[1, 2] * 10)
    seldom = answers("b:3", "10.0.0.1", 2, number=2)
    lost = waits("b:3", "10.0.0.1", 5_000, 6_000, 7_000, 8_000, 9_000)
    assert len(slow_brokers(*seldom, *lost, *others)) == 1
    short = waits("b:3", "10.0.0.1", *[900] * 5)
    assert slow_brokers(*seldom, *short, *others) == []
    for each in lost:
        each.unanswered_reason = UnansweredReason.BROKER_CLOSED
    assert slow_brokers(*seldom, *lost, *others) == []
