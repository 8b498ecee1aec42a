import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from folders import ORACLE
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.line_writer import PHRASES, LineWriter
from kdiag.exchange.model import Exchange, Status
from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kdiag.wire.catalog import API_BY_KEY, APIS, api_named
from kdiag.wire.codec.messages import decode
from kdiag.wire.primitives import uuid_text
from made_values.exchange_line import written_line
from real_kafka.releases import VERSIONS
from recordings.exchange_maker import (
    cut_frame,
    make_batch,
    make_exchange,
    request_bytes,
    whole_frame,
)
from tiers.cases import for_each

ORDERS_ID = bytes(range(16))
NAMES = {uuid_text(ORDERS_ID): "orders"}


def of(exchange: Exchange) -> str:
    """Return what an exchange is about, without any names."""
    return LineWriter(TopicNames()).line_of(Dissection(exchange))


def test_request_and_response_stand_with_an_arrow_between_them() -> None:
    """A side that says nothing leaves no arrow."""
    asked = {"group_id": "g", "generation_id": 1, "member_id": "m"}

    assert written_line("Heartbeat", 3, asked, {}) == "group g gen 1, member m"
    found = {"node_id": 1, "host": "b1", "port": 9092}
    assert written_line("FindCoordinator", 1, {"key": "g"}, found) == "group g → node 1 b1:9092"


def test_a_throttled_client_is_told_for_how_long() -> None:
    """The time is in milliseconds, as on the wire."""
    answered = {"throttle_time_ms": 250}

    assert written_line("Heartbeat", 3, {"group_id": "g"}, answered) == (
        "group g gen 0 → throttled 250 ms"
    )


def test_an_error_message_is_not_told_without_an_error() -> None:
    """Some brokers fill the message of a success as well."""
    answered = {"node_id": 1, "host": "b1", "port": 9092, "error_message": "NONE"}

    assert written_line("FindCoordinator", 1, None, answered) == "node 1 b1:9092"


def test_an_api_without_a_sentence_tells_topics_lists_and_values() -> None:
    """Dull fields and those at their default are left out, values of the response too."""
    topics = [{"name": "orders", "partitions": [{"partition_index": 0, "replicas": [1, 2]}]}]
    quotas = {"components": [{}, {}], "strict": True}

    assert written_line("AlterPartitionReassignments", 0, {"timeout_ms": 5, "topics": topics}) == (
        "orders[0]"
    )
    assert written_line("DescribeClientQuotas", 1, quotas) == "2 components, strict true"
    assert written_line("UnregisterBroker", 0, {"broker_id": 9}, {}) == "brokerId 9"


def test_an_answer_that_repeats_its_request_is_left_out() -> None:
    """Where neither has a phrase of its own."""
    topics = [{"topic_id": b"\x01" * 16, "partitions": [{"partition": 0}]}]
    asked = {"group_id": "g", "topics": topics}

    answered = {"results": [{"topic_id": b"\x01" * 16, "partitions": [{"partition": 0}]}]}
    (written,) = {written_line("ReadShareGroupState", 0, asked, each) for each in (answered, None)}
    assert written.startswith("groupId g, ")
    assert "→" not in written


def test_an_api_without_a_sentence_lists_strings_and_sizes_bytes() -> None:
    """Bytes may be secret and are never told."""
    token = {"hmac": b"secret-word", "renew_period_ms": 7}

    assert written_line("RenewDelegationToken", 2, token) == "hmac 11 B, renewPeriodMs 7"


@pytest.mark.parametrize(("number", "text"), [(1, "1 entry"), (2, "2 entries")])
def test_an_api_without_a_sentence_counts_what_it_lists(number: int, text: str) -> None:
    """In the words of Kafka's schema."""
    quota: dict[str, Any] = {"entity": [], "ops": []}
    assert text in written_line("AlterClientQuotas", 1, {"entries": [quota] * number})


@pytest.mark.thorough
@for_each("api_name", [api.name for api in APIS])
def test_every_version_of_every_api_can_be_told_in_a_line(api_name: str) -> None:
    """No message, however empty, is too odd for its sentence."""
    api = api_named(api_name)
    assert api is not None
    for version in api.versions:
        assert "\n" not in written_line(api_name, version, {}, {})


def vectors(name: str) -> Iterator[dict[str, Any]]:
    """Yield the vectors of a file of Kafka's own."""
    with gzip.open(ORACLE / name, "rt", encoding="ascii") as lines:
        for line in lines:
            yield json.loads(line)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["vectors", "vectors-edge"])
def test_something_is_said_of_every_message_of_kafka(kind: str) -> None:
    """Nulls, empty arrays and extreme values of all APIs and versions stop no sentence."""
    said = set()
    for kafka in VERSIONS:
        for vector in vectors(f"{kind}-{kafka}.jsonl.gz"):
            api = API_BY_KEY[vector["api_key"]]
            is_response = vector["kind"] == "response"
            cls = api.response_class() if is_response else api.request_class()
            message = decode(cls, vector["version"], bytes.fromhex(vector["hex"]))
            sides = (None, message) if is_response else (message, None)
            if of(make_exchange(*sides, version=vector["version"])):
                said.add((api.key, is_response))
    sentences = {(key, i == 1) for key, pair in PHRASES.items() for i in (0, 1) if pair[i]}

    assert sentences - said == set()


def test_sentences_are_only_about_apis_that_exist() -> None:
    """Each key is one of Kafka's."""
    assert set(PHRASES) <= set(API_BY_KEY)


def produce(records: bytes) -> bytes:
    """Return the frame of a Produce request."""
    partitions = [PartitionProduceData(index=1, records=records)]
    topic = TopicProduceData(name="orders", partition_data=partitions)
    return request_bytes(ProduceRequest(acks=1, topic_data=[topic]), 8)


def test_a_cut_request_tells_what_was_read_and_what_is_missing() -> None:
    """Fields that were not reached are not told, nor are records that are cut."""
    data = produce(make_batch(b"x" * 500))
    exchange = make_exchange(data, version=8, api_key=0)
    exchange.request = cut_frame(data, 60)

    assert of(exchange) == f"orders, {len(data) - 60} of {len(data)} bytes missing"


def test_a_cut_heartbeat_tells_its_group() -> None:
    """The group stands before the hole."""
    data = request_bytes(HeartbeatRequest(group_id="billing", member_id="m"), 0)
    exchange = make_exchange(data, version=0, api_key=12)
    exchange.request = cut_frame(data, len(data) - 1)

    assert of(exchange) == f"group billing, 1 of {len(data)} bytes missing"


def test_a_malformed_message_tells_where_and_why() -> None:
    """The field and the byte are named, so that --explain can be asked for them."""
    data = request_bytes(HeartbeatRequest(group_id="billing"), 0)
    longer = make_exchange(data + b"\0\0", version=0, api_key=12)
    lying = make_exchange(data[:-1] + b"\x63", version=0, api_key=12)

    assert of(longer) == "group billing gen 0, 2 bytes more than v0 has, Kafka ignores them"
    assert of(lying) == (
        f"group billing, memberId at byte {len(data)}: 99 bytes expected, 0 remain"
    )


def test_a_message_of_an_unknown_api_tells_why_it_is_not_read() -> None:
    """A key that Kafka does not have yet is no error of the capture."""
    exchange = make_exchange(b"\x03\xe7\0\1\0\0\0\7\xff\xff\0", version=1, api_key=999)

    assert of(exchange).startswith("API key 999 (not known up to Kafka ")


def test_a_sasl_token_without_a_header_tells_its_size() -> None:
    """SASL before Kafka's own framing carries bare tokens."""
    exchange = make_exchange(None, version=None, pairing=Status.OPAQUE, correlation_id=None)
    exchange.request = whole_frame(b"\0alice\0secret-word")

    assert of(exchange) == "a SASL token of 18 bytes"


def test_a_response_whose_request_was_not_seen_says_so() -> None:
    """A capture that starts in the middle has such responses."""
    exchange = make_exchange(None, b"\0\0\0\7", version=None, pairing=Status.UNMATCHED)

    assert of(exchange) == "the request that it answers was not seen"
