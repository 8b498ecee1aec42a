import gc
from collections import Counter
from collections.abc import Sequence
from weakref import ref

import pytest

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, Protocol, Status
from kdiag.exchange.summary import counts
from kdiag.exchange.summary.counts import Again, AgainOn, Summary, Totals, add_trouble, kind_text
from kdiag.wire.api.fetch import FetchRequest, FetchResponse, FetchTopic
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataRequestTopic
from recordings.exchange_maker import make_connection, make_exchange

ID = bytes(15) + b"\x09"


def counted(names: TopicNames) -> Summary:
    """Return the summary of five exchanges on two connections."""
    summary = Summary(names)
    failed = HeartbeatResponse(error_code=27)
    named = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
    for exchange in (
        make_exchange(HeartbeatRequest(group_id="g"), failed, version=3),
        make_exchange(HeartbeatRequest(group_id="g"), failed, version=3),
        make_exchange(FetchRequest(topics=[FetchTopic(topic_id=ID)]), FetchResponse(), version=13),
        make_exchange(named, version=9, pairing=Status.UNANSWERED, client_id=None),
        make_exchange(None, b"\0\0\0\1", version=None, pairing=Status.UNMATCHED),
    ):
        summary.add(Dissection(exchange))
    summary.add_connection(make_connection(client_software=("apache-kafka-java", "4.3.1")))
    summary.add_connection(make_connection(protocol=Protocol.TLS))
    return summary


def test_the_document_of_a_summary_has_its_keys() -> None:
    """What is alike is counted together, and taken apart again here."""
    totals = Totals(
        packets=20,
        bytes=3_000,
        first_ns=1_000_000_000,
        last_ns=3_500_000_000,
        connections=2,
        duplicates=1,
        gaps=1,
        gap_bytes=66,
        not_understood=2,
        not_understood_bytes=31,
        warnings=["cut"],
        capture={"passed_over": 3},
    )
    document = counted(TopicNames()).document(totals)
    by_kind = {name: document.pop(name) for name in ("request_bytes", "response_bytes", "latency")}
    assert {frozenset(each) for each in by_kind.values()} == {
        frozenset({"unknown", "Fetch v13", "Metadata v9", "Heartbeat v3"}),
        frozenset({"Fetch v13", "Heartbeat v3"}),
    }
    slowest = document.pop("slowest")
    assert {(each["api"], each["took_us"]) for each in slowest} == {
        ("Fetch", 2500),
        ("Heartbeat", 2500),
    }
    times = {"p50_us": 2500, "p90_us": 2500, "p99_us": 2500, "max_us": 2500}
    assert by_kind["latency"]["Heartbeat v3"] == {"count": 2, **times}
    assert document == {
        "schema": 1,
        "packets": 20,
        "bytes": 3_000,
        "connections": 2,
        "sightings": 0,
        "exchanges": 5,
        "requests": {"Fetch v13": 1, "Metadata v9": 1, "Heartbeat v3": 2},
        "responses": {"unknown": 1, "Fetch v13": 1, "Heartbeat v3": 2},
        "status": {"unmatched": 1, "unanswered": 1, "ok": 3},
        "errors": {"REBALANCE_IN_PROGRESS": 2},
        "gaps": {"count": 1, "bytes": 66},
        "not_understood": {"count": 2, "bytes": 31},
        "duplicates": 1,
        "clients": {"app": 4, "": 1},
        "client_software": {"apache-kafka-java 4.3.1": 1},
        "topics": {"AAAAAAAAAAAAAAAAAAAACQ": 1, "orders": 1},
        "brokers": {"10.0.0.2:9092": 1},
        "protocols": {"kafka": 1, "tls": 1},
        "connection_troubles": [],
        "first_time": "1970-01-01T00:00:01.000000000Z",
        "last_time": "1970-01-01T00:00:03.500000000Z",
        "duration_s": 2.5,
        "warnings": ["cut"],
        "capture": {"passed_over": 3},
    }


def test_a_topic_whose_id_gets_its_name_is_one_topic() -> None:
    """The name may be learnt after the exchange was counted."""
    summary = counted(TopicNames({"AAAAAAAAAAAAAAAAAAAACQ": "orders"}))
    assert summary.topics == {"orders": 2}


def test_exchanges_like_others_are_counted_without_being_read() -> None:
    """At first each is read, to know what others are like."""
    summary = Summary(TopicNames())
    exchange = make_exchange(HeartbeatRequest(), HeartbeatResponse(error_code=27), version=3)
    alike = 0
    for _ in range(100):
        if summary.add_like(exchange):
            alike += 1
        else:
            summary.add(Dissection(exchange))
    assert alike > 50
    summary.count_fresh()
    assert (summary.exchanges, summary.errors) == (100, {"REBALANCE_IN_PROGRESS": 100})


@pytest.mark.thorough
def test_a_connection_that_ended_is_not_known_any_more() -> None:
    """Whoever watched it is let go; the others are counted on."""
    summary, kept = Summary(TopicNames()), []

    def watch(_: Dissection) -> AgainOn:
        def again_on(exchange: Exchange) -> Again:
            counting = Counting(exchange.connection.number)
            kept.append(ref(counting))
            return counting.add

        return again_on

    summary.watch = watch
    for number in range(60):
        connection = make_connection(number % 2)
        exchange = make_exchange(
            HeartbeatRequest(), HeartbeatResponse(), version=3, connection=connection
        )
        if not summary.add_like(exchange):
            summary.add(Dissection(exchange))
    summary.add_connection(make_connection(0))
    summary.count_fresh()
    gc.collect()

    left = [each() for each in kept]
    assert [each.number for each in left if each is not None] == [1]
    assert summary.exchanges == 60


class Counting:
    """Counts the exchanges of a connection that are like others."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.count = 0

    def add(self, exchanges: Sequence[Exchange]) -> None:
        """Count some."""
        self.count += len(exchanges)


def test_series_beyond_the_most_are_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each exchange counts once, also for who watches, however many connections there are."""
    monkeypatch.setattr(counts, "_MAX_CONNECTIONS", 2)
    summary = Summary(TopicNames())
    watched = []

    def watch(dissection: Dissection) -> AgainOn:
        watched.append(dissection.exchange.number)
        return lambda _: lambda again: watched.extend(each.number for each in again)

    summary.watch = watch
    for number in range(100):
        connection = make_connection(number % 3)
        exchange = make_exchange(
            HeartbeatRequest(), HeartbeatResponse(), version=3, number=number, connection=connection
        )
        if not summary.add_like(exchange):
            summary.add(Dissection(exchange))
    summary.count_fresh()
    assert summary.exchanges == 100
    assert watched != sorted(watched) == list(range(100))


def test_apis_are_named_with_their_version() -> None:
    """A key that is not known is a number."""
    assert kind_text(1, 13) == "Fetch v13"
    assert kind_text(999, 1) == "API 999 v1"
    assert kind_text(None, None) == "unknown"


def test_ports_of_connections_that_nothing_identified_are_counted() -> None:
    """Those are the ports that may be worth being read as Kafka."""
    summary = Summary(TopicNames())
    for protocol in (Protocol.UNKNOWN, Protocol.UNKNOWN, Protocol.EMPTY, Protocol.TLS):
        summary.add_connection(make_connection(protocol=protocol, broker="[::1]:9095"))

    assert summary.unidentified_ports == {9095: 2}


def test_troubles_of_connections_are_counted_by_broker_and_kind() -> None:
    """A client random makes no kind of its own, and hostile names do not fill the memory."""
    troubles: Counter[tuple[str, str]] = Counter()
    for number in range(2000):
        add_trouble(troubles, "10.0.0.2:9092", f"no secret for client random {number}")
        add_trouble(troubles, f"10.0.0.3:{number}", "refused")

    assert troubles["10.0.0.2:9092", "no secret"] == 2000
    assert len(troubles) == 1000
