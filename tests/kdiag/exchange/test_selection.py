from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import FAULTY_REASONS, Exchange, Gap, Status, UnansweredReason
from kdiag.exchange.selection import Selection, address_names, is_in_order
from kdiag.wire.api.fetch import FetchRequest, FetchResponse, FetchTopic
from kdiag.wire.api.find_coordinator import FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from recordings.exchange_maker import START_NS, make_connection, make_exchange
from tiers.cases import for_each

ID = "AAAAAAAAAAAAAAAAAAAACQ"


def heartbeat(error_code: int = 0) -> Exchange:
    """Return an exchange of the group `billing`, 2.5 ms late."""
    asked = HeartbeatRequest(group_id="billing")
    return make_exchange(asked, HeartbeatResponse(error_code=error_code), version=3)


def takes(exchange: Exchange, selection: Selection, names: TopicNames | None = None) -> bool:
    """Return whether a selection takes an exchange in both steps."""
    return selection.may_match(exchange) and selection.matches(
        Dissection(exchange), names or TopicNames()
    )


@for_each(
    ("selection", "is_taken"),
    [
        (Selection(), True),
        (Selection(api_keys=frozenset({12, 1})), True),
        (Selection(api_keys=frozenset({1})), False),
        (Selection(clients=("app",)), True),
        (Selection(clients=("a*",)), True),
        (Selection(clients=("10.0.0.1",)), True),
        (Selection(clients=("10.0.0.1:40000",)), True),
        (Selection(clients=("10.0.0.2",)), False),
        (Selection(clients=("b", "app")), True),
        (Selection(groups=("bill*",)), True),
        (Selection(groups=("other",)), False),
        (Selection(topics=("orders",)), False),
        (Selection(connections=frozenset({"1"})), True),
        (Selection(connections=frozenset({"2"})), False),
        (Selection(min_latency_ns=2_500_000), True),
        (Selection(min_latency_ns=2_500_001), False),
        (Selection(errors=True), False),
        (Selection(brokers=("10.0.0.2",)), True),
        (Selection(brokers=("10.0.0.2:9092",)), True),
        (Selection(brokers=("10.0.0.*",)), True),
        (Selection(brokers=("10.0.0.1",)), False),
        (Selection(statuses=frozenset({Status.OK, Status.PARTIAL})), True),
        (Selection(statuses=frozenset({Status.UNANSWERED})), False),
        (Selection(error_codes=frozenset({27})), False),
        (Selection(since_ns=START_NS, until_ns=START_NS + 1), True),
        (Selection(since_ns=START_NS + 1), False),
        (Selection(until_ns=START_NS), False),
        (Selection(where=lambda _, __: True), True),
        (Selection(where=lambda _, __: False), False),
        (Selection(api_keys=frozenset({12}), groups=("other",)), False),
    ],
)
def test_an_exchange_is_wanted_if_every_kind_of_condition_holds(
    selection: Selection,
    is_taken: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    """Of several patterns of one kind one is enough."""
    assert takes(heartbeat(), selection) is is_taken


def test_errors_are_kafkas_and_those_of_the_wire() -> None:
    """Neither a broker's error nor a missing answer is in order."""
    errors = Selection(errors=True)
    assert takes(heartbeat(error_code=27), errors)
    unanswered = make_exchange(HeartbeatRequest(), version=3, pairing=Status.UNANSWERED)
    assert takes(unanswered, errors)
    for reason in UnansweredReason:
        unanswered.unanswered_reason = reason
        assert takes(unanswered, errors) is (reason in FAULTY_REASONS)
    unmatched = make_exchange(None, b"\0\0\0\7\0", version=None)
    unmatched.pairing = Status.UNMATCHED
    assert not takes(unmatched, errors)
    unmatched.is_violation = True
    assert takes(unmatched, errors)
    assert takes(make_exchange(HeartbeatRequest(), b"\0\0\0\7\0", version=3), errors)


def test_an_error_is_found_wherever_it_stands_in_the_response() -> None:
    """Not the first alone."""
    answered = HeartbeatResponse(error_code=27)
    assert takes(heartbeat(error_code=27), Selection(error_codes=frozenset({27, 3})))
    partitions = [PartitionProduceResponse(0, 3), PartitionProduceResponse(1, 6)]
    topic = TopicProduceResponse("orders", partition_responses=partitions)
    written = make_exchange(ProduceRequest(), ProduceResponse(responses=[topic]), version=3)
    assert Dissection(written).error_codes == {3, 6}
    assert takes(written, Selection(error_codes=frozenset({6})))
    assert not takes(written, Selection(error_codes=frozenset({answered.error_code})))


def test_a_transfer_counts_to_the_latency() -> None:
    """An answer that begins at once and takes seconds is late all the same."""
    slow = heartbeat()
    assert slow.response is not None
    slow.response.last_byte_ns += 4_000_000_000
    assert takes(slow, Selection(min_latency_ns=4_002_500_000))
    assert not takes(slow, Selection(min_latency_ns=4_002_500_001))


def test_the_wait_that_a_request_allowed_is_no_latency_unless_asked() -> None:
    """A fetch of 2.5 ms that may wait 2 ms is 0.5 ms late."""
    fetch = make_exchange(FetchRequest(max_wait_ms=2), FetchResponse(), version=12)
    assert takes(fetch, Selection(min_latency_ns=500_000))
    assert not takes(fetch, Selection(min_latency_ns=500_001))
    assert takes(fetch, Selection(min_latency_ns=2_500_000, with_waits=True))


def test_without_an_answer_there_is_no_latency() -> None:
    """What never came is not late."""
    assert not takes(make_exchange(HeartbeatRequest(), version=3), Selection(min_latency_ns=0))


def test_a_topic_is_found_by_its_name_and_by_its_id() -> None:
    """The session of a fetch counts, too."""
    names = TopicNames({ID: "orders"})
    asked = FetchRequest(topics=[FetchTopic(topic_id=bytes(15) + b"\x09")])
    exchange = make_exchange(asked, version=13)
    for pattern in ("orders", "ord*", ID):
        assert takes(exchange, Selection(topics=(pattern,)), names)
    empty = make_exchange(FetchRequest(), version=13)
    empty.session_topics = [(ID, 0)]
    assert takes(empty, Selection(topics=("orders",)), names)


def test_connections_are_told_unless_exchanges_are_chosen() -> None:
    """A choice of connections or addresses is one of connections, too."""
    connection = make_connection()
    assert Selection().matches_connection(connection)
    assert Selection(connections=frozenset({"1"})).matches_connection(connection)
    assert Selection(clients=("10.0.0.1",)).matches_connection(connection)
    for selection in (
        Selection(connections=frozenset({"2"})),
        Selection(clients=("app",)),
        Selection(errors=True),
        Selection(statuses=frozenset({Status.OK})),
        Selection(where=lambda _, __: True),
        Selection(brokers=("10.0.0.9",)),
        Selection(since_ns=START_NS + 1),
        Selection(until_ns=START_NS),
        Selection(api_keys=frozenset({1})),
    ):
        assert not selection.matches_connection(connection)


def test_connections_that_failed_are_errors() -> None:
    """Gaps are not: they are those of the recording."""
    refused = make_connection(close_reason="refused")
    gap = Gap(
        connection=refused, direction="request", time_ns=START_NS, offset=0, size=9, reason="lost"
    )
    assert Selection(errors=True).matches_connection(refused)
    assert not Selection(errors=True, api_keys=frozenset({1})).matches_connection(refused)
    assert Selection().matches_gap(gap)
    assert not Selection(errors=True).matches_gap(gap)


def test_an_address_of_ipv6_may_be_given_without_its_brackets() -> None:
    """Brackets are also part of patterns, so a name is compared as it is first."""
    connection = make_connection(client="[fe80::1]:40000")
    assert address_names(connection.client) == ["[fe80::1]:40000", "[fe80::1]", "fe80::1"]
    exchange = make_exchange(HeartbeatRequest(), FindCoordinatorResponse(), version=3)
    exchange.connection = connection
    for name in address_names(connection.client):
        assert Selection(clients=(name,)).may_match(exchange)


def test_only_bytes_that_are_missing_or_wrong_are_out_of_order() -> None:
    """An unanswered request is whole."""
    assert not is_in_order(Status.MALFORMED)
    assert not is_in_order(Status.PARTIAL)
    assert is_in_order(Status.UNANSWERED)
    assert is_in_order(Status.OK)
