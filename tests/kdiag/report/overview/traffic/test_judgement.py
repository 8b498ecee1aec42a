"""Tables tell the same of clients and brokers as the captures that they were made of."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from folders import CAPTURES
from kdiag.diagnosis.traffic.traffic import Traffic
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Exchange, Status, UnansweredReason
from kdiag.findings import traffic
from kdiag.findings.finding import Finding
from kdiag.pcap.decoder import decode_capture
from kdiag.report.engine import open_tables
from kdiag.report.overview.traffic.judgement import UNTOLD, judge_tables
from kdiag.report.tables.catalog import TableChoice
from kdiag.wire.api.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kdiag.wire.api.fetch import FetchRequest, FetchResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kdiag.wire.api.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kdiag.wire.api.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kdiag.wire.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kdiag.wire.schema import Struct
from recordings.capture_tables import tables_of, tables_of_items
from recordings.exchange_maker import START_NS, make_batch, make_connection, make_exchange
from tiers.sampling import sample

pytestmark = pytest.mark.thorough

REFERENCE = Path(os.environ.get("KDIAG_REFERENCE", "/nowhere"), "captures")
RECORDED = (
    "acks_0_1_all_java",
    "big_message_2mb_java",
    "midstream_java_confluent",
    "oldjava_0_9_0_1_gzip",
    "quota_throttled_java",
    "sarama_as_0_10_2",
)
"""A recording for each finding that the recordings have."""


MS = 1_000_000
WHOLE_SECOND_NS = START_NS // 1_000_000_000 * 1_000_000_000


def told_by_items(items: Iterable[object]) -> list[Finding]:
    """Return what exchanges prove."""
    names = TopicNames()
    judge = Traffic(names)
    for item in items:
        if isinstance(item, Exchange):
            dissection = Dissection(item)
            names.learn(dissection)
            judge.add(dissection)
    return [each for each in judge.findings() if each.id not in UNTOLD]


def told_by_tables(tables: dict[str, pa.Table]) -> list[Finding]:
    """Return what the tables of a capture prove."""
    with open_tables(tables) as database:
        judged = judge_tables(database)
    assert judged.left_out == 0
    return judged.findings


def test_tables_of_what_ships_tell_what_the_captures_tell() -> None:
    """Word for word, with the same evidence and the same exchange as the example."""
    ids = set()
    for file in sorted(CAPTURES.glob("*.pcap")):
        expected = told_by_items(decode_capture([file]))
        assert told_by_tables(tables_of([file])) == expected, file.name
        ids |= {each.id for each in expected}

    assert ids == {"KD4104", "KD4501", "KD4503", "KD5101"}


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="KDIAG_REFERENCE is not set")
def test_tables_of_recordings_tell_what_the_recordings_tell() -> None:
    """Those with findings, and some of the quiet ones."""
    quiet = [each for each in REFERENCE.glob("*.pcap") if each.stem not in RECORDED]
    files = [REFERENCE / f"{name}.pcap" for name in RECORDED]
    ids = set()
    for file in (*files, *sample("judged tables", sorted(quiet), 2)):
        expected = told_by_items(decode_capture([file]))
        assert told_by_tables(tables_of([file])) == expected, file.name
        ids |= {each.id for each in expected}

    assert ids >= {"KD4101", "KD4104", "KD4105", "KD4302", "KD5101"}


class Story:
    """Exchanges of some clients, each with a connection of its own to a broker."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.connections: dict[tuple[str, str], Connection] = {}

    def ask(  # noqa: PLR0913 - a fact for each
        self,
        client: str,
        request: Struct | bytes,
        response: Struct | None = None,
        *,
        version: int,
        at_ms: int = 0,
        latency_ms: int = 1,
        broker: str = "10.1.0.1:9092",
        **facts: Any,
    ) -> None:
        """Add an exchange."""
        number = len(self.exchanges) + 1
        place = len(self.connections) + 1
        made = make_connection(
            place, connection_id=f"tcp-{place}", client=f"{client}:40000", broker=broker
        )
        connection = self.connections.setdefault((client, broker), made)
        exchange = make_exchange(
            request,
            response,
            **{"version": version, "number": number, "correlation_id": number} | facts,
            connection=connection,
        )
        assert exchange.request is not None
        exchange.request.first_byte_ns = WHOLE_SECOND_NS + at_ms * MS
        exchange.request.last_byte_ns = exchange.request.first_byte_ns
        if exchange.response is not None:
            exchange.response.first_byte_ns = exchange.request.last_byte_ns + latency_ms * MS
            exchange.response.last_byte_ns = exchange.response.first_byte_ns
        self.exchanges.append(exchange)

    def write(self, client: str, *values: bytes, partition: int = 0, **facts: Any) -> None:
        """Add a Produce request with a batch."""
        acks = facts.pop("acks", -1)
        data = PartitionProduceData(index=partition, records=make_batch(*values))
        topic = TopicProduceData(name=f"topic of {client}", partition_data=[data])
        response = ProduceResponse() if acks else None
        if not acks:
            facts["pairing"] = Status.NO_RESPONSE
        request = ProduceRequest(topic_data=[topic], acks=acks)
        self.ask(client, request, response, version=9, **facts)


def everything_wrong() -> Story:
    """Return a story in which each rule about clients and brokers is broken."""
    story, chance = Story(), Random(1)
    for number in range(200):
        story.write("10.0.0.1", b"x", at_ms=number * 10)
        story.write("10.0.0.2", b"x", b"y", at_ms=number * 10)
        story.write("10.0.0.3", chance.randbytes(9_000), partition=number % 20 % 4, at_ms=number)
    for number in range(400):
        story.write("10.0.0.3", chance.randbytes(9_000), at_ms=number * 20)
    for at_ms, count, code in ((0, 5, 0), (20, 12, 0), (40, 0, 3)):
        listed = MetadataResponse(
            topics=[
                MetadataResponseTopic(name="another", partitions=[MetadataResponsePartition()]),
                MetadataResponseTopic(
                    name="topic of 10.0.0.3",
                    partitions=[MetadataResponsePartition()] * count,
                    error_code=code,
                ),
            ]
        )
        story.ask("10.0.0.3", MetadataRequest(topics=[]), listed, version=9, at_ms=at_ms)
    for number in range(3):
        story.write("10.0.0.4", b"z" * 10, acks=0, at_ms=number)
        story.write("10.0.0.5", chance.randbytes(1_100_000 + number), at_ms=number)
    for number in range(60):
        fetch = FetchRequest(session_epoch=int(number >= 40))
        story.ask("10.0.0.6", fetch, FetchResponse(), version=12, at_ms=number)
        metadata = (MetadataRequest(topics=[]), MetadataResponse())
        story.ask("10.0.0.8", *metadata, version=9, at_ms=number * 50)
    for number in range(100):
        commit = (OffsetCommitRequest(group_id="billing"), OffsetCommitResponse())
        story.ask("10.0.0.7", *commit, version=8, at_ms=number * 50)
    for throttle_ms in (0, 300, 700):
        told = HeartbeatResponse(throttle_time_ms=throttle_ms)
        story.ask("10.0.0.9", HeartbeatRequest(), told, version=4)
    story.ask(
        "10.0.1.1",
        HeartbeatRequest(),
        version=4,
        pairing=Status.UNANSWERED,
        unanswered_reason=UnansweredReason.CLIENT_CLOSED,
    )
    closed = story.connections["10.0.1.1", "10.1.0.1:9092"]
    closed.closed_by, closed.closed_ns = "client", WHOLE_SECOND_NS + 30_000 * MS
    for number in range(30):
        for client in ("10.0.1.2", "10.0.1.3"):
            beat = (HeartbeatRequest(), HeartbeatResponse())
            late: dict[str, Any] = {"broker": "10.1.0.2:9092", "latency_ms": 300 if number else 3}
            story.ask(client, *beat, version=4, **late)
    story.ask("10.0.1.4", bytes(10), version=2, api_key=0)
    add_slow_and_silent_brokers(story)
    add_refusals(story)
    add_waiting_writes(story)
    return story


def add_waiting_writes(story: Story) -> None:
    """Add writes that wait for followers while their broker answers the rest, and one that ends."""
    for client, broker, is_over in (
        ("10.0.3.1", "10.1.0.5:9092", False),
        ("10.0.3.2", "10.1.0.6:9092", True),
    ):
        facts: dict[str, Any] = {"broker": broker, "client_id": client}
        story.write(client, b"x", at_ms=0, **facts)
        for at_ms in (2_000, 2_500):
            part = PartitionProduceData(index=0, records=make_batch(b"x"))
            topic = TopicProduceData(name=f"topic of {client}", partition_data=[part])
            story.ask(
                client,
                ProduceRequest(topic_data=[topic], acks=-1),
                version=9,
                at_ms=at_ms,
                pairing=Status.UNANSWERED,
                unanswered_reason=UnansweredReason.SKIPPED,
                **facts,
            )
        for at_ms in range(0, 10_000, 500):
            beat = (HeartbeatRequest(), HeartbeatResponse())
            story.ask(client, *beat, version=4, at_ms=at_ms, **facts)
        if is_over:
            story.write(client, b"x", at_ms=9_000, **facts)


def add_slow_and_silent_brokers(story: Story) -> None:
    """Add a broker that is slow by few answers, and one that hangs for 10 s."""
    beat = (HeartbeatRequest(), HeartbeatResponse())
    for number in range(12):
        story.ask("10.0.1.5", *beat, version=4, at_ms=number, latency_ms=1 + number % 2)
        if number < 6:
            slow: dict[str, Any] = {"broker": "10.1.0.3:9092", "latency_ms": 3 + 100 * number}
            story.ask("10.0.1.5", *beat, version=4, at_ms=1_000 * number, **slow)
    for client in ("10.0.1.6", "10.0.1.7"):
        hung: dict[str, Any] = {"broker": "10.1.0.4:9092", "version": 4, "client_id": client}
        story.ask(client, *beat, at_ms=0, **hung)
        story.ask(
            client,
            HeartbeatRequest(),
            at_ms=2_000,
            pairing=Status.UNANSWERED,
            unanswered_reason=UnansweredReason.SKIPPED,
            **hung,
        )
        story.ask(client, *beat, at_ms=10_000, **hung)


def add_refusals(story: Story) -> None:
    """Add what brokers refuse: once and for all, for a while, to an administrator, to a member."""
    config = AlterableConfig(name="min.insync.replicas", value="2")
    resource = AlterConfigsResource(resource_type=2, resource_name="orders", configs=[config])
    altered = IncrementalAlterConfigsRequest(resources=[resource])
    story.ask("10.0.2.1", altered, IncrementalAlterConfigsResponse(), version=1, at_ms=900)
    for number in range(20):
        codes = (19 if number > 3 else 0, 0)
        refuse(story, "10.0.2.2", "orders", codes, 500 * number)
        refuse(story, "10.0.2.3", "moved", (6 if 3 < number < 18 else 0,), 500 * number)
        refuse(story, "10.0.2.4", "elected", (6 if number == 3 else 0,), 500 * number)
        refuse(story, "10.0.2.5", "broken", (56 if number % 2 else 0, 56), 500 * number)
    refuse(story, "kdiag-1", "secret", (29,), 0, client_id="kdiag-0.1.0")
    listed = MetadataResponse(topics=[MetadataResponseTopic(name="order")])
    story.ask("10.0.2.2", MetadataRequest(topics=[]), listed, version=9, at_ms=5)
    refuse(story, "10.0.2.6", "orderz", (3,), 0)
    refuse(story, "10.0.2.6", "orderz", (3,), 9_000)
    refuse(story, "10.0.2.6", "orderz", (1234,), 9_000)
    created = CreateTopicsResponse(topics=[CreatableTopicResult(name="new", error_code=42)])
    story.ask("10.0.2.7", CreateTopicsRequest(), created, version=5)
    for client, code in (("10.0.2.8", 0), ("10.0.2.9", 0), ("10.0.2.8", 82)):
        member = HeartbeatRequest(group_id="fleet", group_instance_id="host-1")
        told = HeartbeatResponse(error_code=code)
        story.ask(client, member, told, version=4, at_ms=code, client_id=client)
    brokers = [MetadataResponseBroker(node_id=each, host="one", port=9092) for each in (2, 1)]
    found = MetadataResponse(brokers=[*brokers, MetadataResponseBroker(host="two", port=9092)])
    story.ask("10.0.2.9", MetadataRequest(topics=[]), found, version=9)


def refuse(
    story: Story, client: str, topic: str, codes: Sequence[int], at_ms: int, **facts: Any
) -> None:
    """Add a Produce request with a part for each error code."""
    parts = [PartitionProduceData(index=index) for index in range(len(codes))]
    answers = [
        PartitionProduceResponse(index=index, error_code=code) for index, code in enumerate(codes)
    ]
    request = ProduceRequest(topic_data=[TopicProduceData(name=topic, partition_data=parts)])
    answer = TopicProduceResponse(name=topic, partition_responses=answers)
    response = ProduceResponse(responses=[answer])
    story.ask(client, request, response, version=9, at_ms=at_ms, **facts)


def test_tables_tell_each_rule_as_exchanges_do() -> None:
    """Whatever clients and brokers do wrong, but for what takes the bytes of records."""
    story = everything_wrong()
    expected = told_by_items(story.exchanges)
    items: list[Exchange | Connection] = [*story.exchanges, *story.connections.values()]
    told = told_by_tables(tables_of_items(*items, choice=TableChoice(tcp=True)))

    assert told == expected
    assert {each.id for each in told} == {*traffic.RULES, "KD1503"} - UNTOLD
    refused = {each.title for each in told if each.id in {"KD4501", "KD4502"}}
    assert not any("elected" in each or "kdiag" in each for each in refused)
    with open_tables(tables_of_items(*items)) as database:
        bare = judge_tables(database)
    counts = [
        each.evidence["partitions"] for each in (*told, *bare.findings) if each.id == "KD4106"
    ]
    assert (counts, bare.is_bare) == ([12, 4], True), "without bodies, those that were written to"


def test_a_silence_ends_with_the_capture_and_tables_of_older_releases_say_what_they_lack() -> None:
    """Between two captures no answer is missing; without a column what takes it is not judged."""
    story = Story()
    add_slow_and_silent_brokers(story)
    tables = tables_of_items(*story.exchanges, *story.connections.values())
    captures = tables["captures"].schema
    spans = [(0, 2_500), (9_500, 11_000)]
    rows = [
        dict.fromkeys(captures.names)
        | {"file": str(start), "first_ns": WHOLE_SECOND_NS + start * MS}
        | {"last_ns": WHOLE_SECOND_NS + end * MS}
        for start, end in spans
    ]
    two = tables | {"captures": pa.Table.from_pylist(rows, captures)}
    older = tables | {"exchanges": tables["exchanges"].drop_columns(["outcomes", "brokers"])}
    with open_tables(tables) as whole, open_tables(two) as cut, open_tables(older) as bare:
        found, between, lacking = judge_tables(whole), judge_tables(cut), judge_tables(bare)

    assert {each.id for each in found.findings} == {"KD4402", "KD4403"}
    assert {each.id for each in between.findings} == {"KD4403"}
    assert {each.id for each in lacking.findings} == {"KD4402", "KD4403"}
    refused, nodes = lacking.unjudged
    assert refused.startswith("errors that brokers answer (KD4501 to KD4503): there is no column")
    assert nodes.startswith("brokers with the same address (KD1503): there is no column brokers")
