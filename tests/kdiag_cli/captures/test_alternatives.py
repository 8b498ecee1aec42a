from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, Status
from kdiag.exchange.selection import Selection
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataRequestTopic
from kdiag_cli.captures.alternatives import Alternatives
from recordings.exchange_maker import START_NS, make_exchange
from tiers.cases import for_each


def exchanges() -> list[Exchange]:
    """Return a heartbeat that failed, and two unanswered questions for a topic."""
    topics = [MetadataRequestTopic(name="orders")]
    lost = [
        make_exchange(MetadataRequest(topics=topics), version=4, pairing=Status.UNANSWERED)
        for _ in range(2)
    ]
    asked = HeartbeatRequest(group_id="billing")
    return [make_exchange(asked, HeartbeatResponse(error_code=27), version=3), *lost]


@for_each(
    ("selection", "told"),
    [
        (Selection(api_keys=frozenset({1})), "for --api there are Metadata (2), Heartbeat (1)"),
        (Selection(clients=("x",)), "for --client there are app (3)"),
        (Selection(brokers=("x",)), "for --broker there are 10.0.0.2:9092 (3)"),
        (Selection(connections=frozenset({"9"})), "for --connection there are 1 (3)"),
        (Selection(topics=("x",)), "for --topic there are orders (2)"),
        (Selection(groups=("x",)), "for --group there are billing (1)"),
        (Selection(error_codes=frozenset({3})), "there are REBALANCE_IN_PROGRESS (1)"),
        (Selection(statuses=frozenset({Status.PARTIAL})), "unanswered (2), ok (1)"),
        (Selection(min_latency_ns=10**9), "the longest took 2.50 ms"),
        (Selection(min_latency_ns=10**6), "its request allowed (--with-waits)"),
        (
            Selection(since_ns=START_NS + 1),
            "from 2026-01-02T03:04:05.000000006Z to 2026-01-02T03:04:05.000000006Z",
        ),
        (Selection(where=lambda _, __: False), "no exchange of 3 matches"),
    ],
)
def test_what_there_is_is_told_by_the_option_that_looks_at_it(
    selection: Selection, told: str
) -> None:
    """The most frequent first, and how often."""
    alternatives = Alternatives(selection, TopicNames())
    for each in exchanges():
        alternatives.note(each)
        alternatives.note_body(Dissection(each))
    assert alternatives.text().startswith("no exchange of 3 matches")
    assert alternatives.text().endswith(told)


def test_without_errors_that_is_what_is_told() -> None:
    """It is good news."""
    alternatives = Alternatives(Selection(errors=True), TopicNames())
    alternatives.note(exchanges()[1])
    assert alternatives.text() == "none of 1 exchange is an error"


def test_without_options_nothing_is_noted() -> None:
    """Nor are more values than people read."""
    assert Alternatives(Selection(), TopicNames()).is_over
    many = Alternatives(Selection(clients=("x",)), TopicNames())
    for number in range(12):
        many.note(make_exchange(HeartbeatRequest(), version=3, client_id=f"client-{number}"))
    assert many.text().endswith("client-9 (1) and 2 others")
