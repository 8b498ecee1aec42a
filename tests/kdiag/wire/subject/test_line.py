import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exchange_maker import cut_frame, make_batch, make_exchange, request_bytes, whole_frame
from kdiag.wire.api.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kdiag.wire.api.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec import decode
from kdiag.wire.dissection import Dissection
from kdiag.wire.exchange import Exchange
from kdiag.wire.subject.line import SENTENCES, Subjects
from kdiag.wire.topic_names import TopicNames

ORACLE = Path(__file__).parent.parent.parent.parent / "oracle"


def about(exchange: Exchange) -> str:
    """Return what an exchange is about."""
    return Subjects(TopicNames()).of(Dissection(exchange))


def vectors(name: str) -> Iterator[dict[str, Any]]:
    """Yield the vectors of a file of Kafka's own."""
    with gzip.open(ORACLE / name, "rt", encoding="ascii") as lines:
        for line in lines:
            yield json.loads(line)


@pytest.mark.parametrize("kind", ["vectors", "vectors-edge"])
def test_something_is_said_of_every_message_of_kafka(kind: str) -> None:
    """Nulls, empty arrays and extreme values of all APIs and versions stop no sentence."""
    said = set()
    for kafka in ("3.9.1", "4.3.1", "4.4.0"):
        for vector in vectors(f"{kind}-{kafka}.jsonl.gz"):
            api = API_BY_KEY[vector["api_key"]]
            is_response = vector["kind"] == "response"
            cls = api.response_class() if is_response else api.request_class()
            message = decode(cls, vector["version"], bytes.fromhex(vector["hex"]))
            sides = (None, message) if is_response else (message, None)
            if about(make_exchange(*sides, version=vector["version"])):
                said.add((api.key, is_response))
    sentences = {(key, i == 1) for key, pair in SENTENCES.items() for i in (0, 1) if pair[i]}
    assert sentences - said == set()


def test_request_and_response_are_joined_by_an_arrow() -> None:
    """A side that says nothing leaves no arrow behind."""
    asked = UnregisterBrokerRequest(broker_id=9)
    failed = UnregisterBrokerResponse(error_code=102, error_message="no such broker")
    assert about(make_exchange(asked, failed, version=0)) == 'brokerId 9 → "no such broker"'
    fine = UnregisterBrokerResponse(error_message="NONE")
    assert about(make_exchange(asked, fine, version=0)) == "brokerId 9"
    assert about(make_exchange(None, fine, version=0)) == ""


def test_throttling_is_always_told() -> None:
    """It explains why a client is slow."""
    answered = HeartbeatResponse(throttle_time_ms=200)
    line = about(make_exchange(HeartbeatRequest(group_id="g"), answered, version=3))
    assert line == "group g gen 0 → throttled 200 ms"


def test_an_api_without_a_sentence_gets_its_topics_lists_and_values() -> None:
    """Defaults and timeouts are left out."""
    topics = [ListPartitionReassignmentsTopics("orders", [0, 1])]
    asked = ListPartitionReassignmentsRequest(timeout_ms=7, topics=topics)
    assert about(make_exchange(asked, version=0)) == "orders[0,1]"
    users = DescribeUserScramCredentialsRequest(users=[UserName("alice"), UserName("bob")])
    assert about(make_exchange(users, version=0)) == "alice bob"


def test_of_a_cut_message_only_what_was_read_is_told() -> None:
    """A default would look like a value."""
    data = request_bytes(HeartbeatRequest(group_id="billing", generation_id=5), 3)
    exchange = make_exchange(HeartbeatRequest(), version=3)
    exchange.request = cut_frame(data, len(data) - 8)
    assert about(exchange) == f"group billing, 8 of {len(data)} bytes missing"


def test_the_records_of_a_cut_message_are_counted_as_far_as_they_go() -> None:
    """Whole batches before the hole are known."""
    records = make_batch(b"one") * 2
    topic = TopicProduceData("orders", partition_data=[PartitionProduceData(records=records)])
    asked = ProduceRequest(topic_data=[topic])
    exchange = make_exchange(asked, version=3)
    data = request_bytes(asked, 3)
    exchange.request = cut_frame(data, len(data) - 5)
    one = len(make_batch(b"one"))
    assert about(exchange) == f"orders, 1 record {one} B, 5 of {len(data)} bytes missing"


def test_wrong_and_unknown_bytes_say_why() -> None:
    """The reason takes the place of what could not be read."""
    data = request_bytes(HeartbeatRequest(group_id="g"), 3)
    exchange = make_exchange(HeartbeatRequest(), version=3)
    exchange.request = whole_frame(data + b"\x00")
    assert about(exchange) == "group g gen 0, 1 bytes are left over"
    exchange.request = whole_frame(data[:-1])
    assert "groupInstanceId at byte" in about(exchange)
    exchange.api_key = 999
    assert "API key 999" in about(exchange)
