from kdiag.diagnosis.traffic.consuming import Consuming
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.exchange.summary.counts import AgainOn, Summary
from kdiag.findings.finding import Finding
from kdiag.wire import api_keys
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kdiag.wire.api.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from recordings.exchange_maker import START_NS, make_exchange

MS = 1_000_000


def judged(exchanges: list[Exchange]) -> list[Finding]:
    """Return what is found, whether each is read or those like others are only counted."""
    found = []
    for is_each_read in (True, False):
        consuming = Consuming()
        summary = Summary(TopicNames())

        def watch(dissection: Dissection, consuming: Consuming = consuming) -> AgainOn | None:
            is_fetch = dissection.exchange.api_key == api_keys.FETCH
            return (consuming.add_fetch if is_fetch else consuming.add_commit)(dissection)

        summary.watch = watch
        for exchange in exchanges:
            if is_each_read or not summary.add_like(exchange):
                summary.add(Dissection(exchange))
        summary.count_fresh()
        found.append(list(consuming.findings()))
    assert found[0] == found[1]
    return found[0]


def fetch(number: int, epoch: int, *, version: int = 12, replica_id: int = -1) -> Exchange:
    """Return a fetch that names a partition, of some epoch."""
    topic = FetchTopic(topic="orders", partitions=[FetchPartition(partition=0)])
    request = FetchRequest(
        topics=[topic], session_epoch=epoch, session_id=5 if epoch else 0, replica_id=replica_id
    )
    return make_exchange(request, FetchResponse(), version=version, number=number)


def test_fetches_that_always_want_a_new_session_are_found() -> None:
    """All of 60, in each form of the request."""
    for version in (12, 14):
        made = [fetch(number, 0, version=version) for number in range(1, 61)]
        (finding,) = judged(made)
        assert (finding.id, finding.evidence["full"], finding.evidence["fetches"]) == (
            "KD4201",
            60,
            60,
        )


def test_sessions_that_last_and_fetches_without_are_fine() -> None:
    """As Java's and librdkafka's are; a follower's are its own affair."""
    assert judged([fetch(number + 1, number) for number in range(60)]) == []
    assert judged([fetch(number + 1, -1) for number in range(60)]) == []
    assert judged([fetch(number + 1, 0, replica_id=2) for number in range(60)]) == []
    assert judged([fetch(number + 1, 0, version=6) for number in range(60)]) == []


def commit(number: int, every_ms: int) -> Exchange:
    """Return a commit."""
    request = OffsetCommitRequest(group_id="billing")
    exchange = make_exchange(request, OffsetCommitResponse(), version=8, number=number)
    assert exchange.request is not None
    exchange.request.first_byte_ns = START_NS + number * every_ms * MS
    return exchange


def test_commits_of_each_record_are_found() -> None:
    """By how many there are a second on one connection, for some seconds."""
    (finding,) = judged([commit(number, 50) for number in range(1, 101)])

    assert (finding.id, finding.evidence["per_s"], finding.evidence["group"]) == (
        "KD4202",
        20,
        "billing",
    )
    assert judged([commit(number, 1_000) for number in range(1, 101)]) == []
    assert judged([commit(number, 10) for number in range(1, 101)]) == [], "one second is a burst"
