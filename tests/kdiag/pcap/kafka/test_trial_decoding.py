import gzip
import json
import random
import struct

import pytest

from folders import ORACLE
from kdiag.pcap.kafka.trial_decoding import RequestKind, can_try, is_sane, is_whole_response
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsResponse
from kdiag.wire.api.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kdiag.wire.api.heartbeat import HeartbeatResponse
from kdiag.wire.api.join_group import JoinGroupResponse
from kdiag.wire.api.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import encode
from kdiag.wire.records.record import Record
from kdiag.wire.records.writer import write_batch
from kdiag.wire.schema import Struct
from tiers.cases import for_each

FETCH, METADATA, HEARTBEAT, API_VERSIONS = 1, 3, 12, 18


def answer(message: Struct, version: int, *, tags: bytes = b"") -> bytes:
    """Return a frame with a response, its length left out."""
    return struct.pack(">i", 7) + tags + encode(message, version)


def metadata() -> MetadataResponse:
    """Return what a small cluster says of itself."""
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=1, host="kafka-1", port=9092)],
        topics=[MetadataResponseTopic(name="orders")],
    )


def test_a_response_is_one_to_its_last_byte() -> None:
    """Neither a byte more nor one less; and the header must be the right one."""
    frame = answer(metadata(), 12, tags=b"\0")

    assert is_whole_response(frame, (METADATA, 12))
    assert not is_whole_response(frame + b"\0", (METADATA, 12))
    assert not is_whole_response(frame[:-1], (METADATA, 12))
    assert not is_whole_response(frame[:4], (METADATA, 12))
    assert not is_whole_response(b"", (METADATA, 12))
    assert not is_whole_response(answer(metadata(), 12), (METADATA, 12))
    assert not is_whole_response(frame, (METADATA, 8))


def test_what_is_not_known_cannot_be_tried() -> None:
    """A newer version, a negative one, a key of nobody."""
    unknown: list[RequestKind] = [(METADATA, 99), (METADATA, -1), (999, 0)]

    assert [can_try(asked) for asked in unknown] == [False] * 3
    assert [is_whole_response(answer(metadata(), 8), asked) for asked in unknown] == [False] * 3
    assert can_try((METADATA, 12))


@for_each(
    "message",
    [
        HeartbeatResponse(error_code=999),
        HeartbeatResponse(error_code=-2),
        HeartbeatResponse(throttle_time_ms=-1),
        HeartbeatResponse(throttle_time_ms=86_400_000),
        JoinGroupResponse(member_id="a\0b"),
        MetadataResponse(topics=[MetadataResponseTopic(name="orders", error_code=30_000)]),
        FetchResponse(
            responses=[FetchableTopicResponse(partitions=[PartitionData(records=b"\0" * 30)])]
        ),
    ],
)
def test_values_that_no_broker_sends_are_not_sane(message: Struct) -> None:
    """Error codes, throttle times, texts and record batches give noise away."""
    assert not is_sane(message)


def test_values_that_brokers_send_are_sane() -> None:
    """Null, empty and many-lined ones among them, and a batch that a fetch has cut."""
    batch = write_batch([Record(0, value=b"x")])
    fetched = [PartitionData(records=None), PartitionData(records=batch + batch[:20])]
    messages: list[Struct] = [
        HeartbeatResponse(error_code=27, throttle_time_ms=3_000),
        JoinGroupResponse(protocol_name=None, member_id="m\N{LATIN SMALL LETTER U WITH DIAERESIS}"),
        FetchResponse(responses=[FetchableTopicResponse(partitions=fetched)]),
        metadata(),
    ]

    assert [is_sane(message) for message in messages] == [True] * len(messages)


def test_a_record_batch_with_another_checksum_is_not_sane() -> None:
    """One changed byte is enough."""
    batch = bytearray(write_batch([Record(0, value=b"value")]))
    batch[-3] ^= 1
    partition = PartitionData(records=bytes(batch))

    assert not is_sane(FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])]))


def test_the_refusal_of_an_api_versions_request_is_in_version_0() -> None:
    """Whatever version was asked; but no broker that refuses nothing knows no API."""
    refusal = ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(api_key=18, max_version=3)])

    assert is_whole_response(answer(refusal, 0), (API_VERSIONS, 5))
    assert is_whole_response(answer(refusal, 3), (API_VERSIONS, 3))
    assert not is_whole_response(answer(ApiVersionsResponse(), 0), (API_VERSIONS, 0))
    assert is_whole_response(answer(HeartbeatResponse(), 0), (HEARTBEAT, 0))


@pytest.mark.thorough
def test_every_response_that_kafka_wrote_is_one() -> None:
    """In every version of every API; but Kafka's own test values need not be sane."""
    count = sane = 0
    for path in sorted(ORACLE.glob("vectors-*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in map(json.loads, file):
                if line["kind"] != "response":
                    continue
                asked = line["api_key"], line["version"]
                header_version = API_BY_KEY[asked[0]].response_header_version(asked[1])
                tags = b"\0" * header_version
                frame = struct.pack(">i", 1) + tags + bytes.fromhex(line["hex"])
                count += 1
                sane += is_whole_response(frame, asked)
    assert count > 500
    assert sane > count // 3


@pytest.mark.thorough
def test_noise_is_no_response() -> None:
    """Small integers of four and eight bytes make none, those of two bytes only short ones."""
    dice = random.Random(1)
    kinds = [(FETCH, 4), (FETCH, 12), (METADATA, 5), (METADATA, 12), (0, 7), (0, 10), (11, 5)]
    hits = 0
    for _ in range(20_000):
        count = dice.randrange(20, 80)
        code, high = dice.choice([("h", 100), ("i", 3), ("i", 100), ("q", 3000)])
        noise = struct.pack(f">{count}{code}", *dice.choices(range(high), k=count))
        hits += any(is_whole_response(noise, kind) for kind in kinds)
    assert hits == 0
