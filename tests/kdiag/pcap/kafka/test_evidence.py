import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.kafka.evidence import ENOUGH_BYTES, Evidence, request_evidence
from kdiag.pcap.kafka.trial_decoding import is_whole_response
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kdiag.wire.catalog import API_BY_KEY
from made_values import fuzz_target
from recordings.exchange_maker import make_batch, request_bytes
from recordings.segment_tape import request
from tiers.cases import for_each

PRODUCE = 0


def evidence(frame: bytes, *, here: int | None = None, is_all: bool = True) -> Evidence:
    """Return how sure it is that a frame is a request, of which so many bytes are here."""
    return request_evidence(frame[:here], len(frame), is_all=is_all)


def produce(records: bytes, acks: int = 1) -> bytes:
    """Return a Produce request."""
    partition = PartitionProduceData(index=0, records=records)
    topic = TopicProduceData(name="orders", partition_data=[partition])
    return request_bytes(ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[topic]), 7)


@for_each(
    ("frame", "expected"),
    [
        (request(1)[4:], Evidence.DECODES),
        (request(1, client_id=None)[4:], Evidence.NAMELESS),
        (request(1, b"wrong")[4:], Evidence.NONE),
        (request(1, b"\0\0\0\1\0\2\0\1")[4:], Evidence.LOOKS),
        (request(1, b"\0\0\0\1\0\2\xff\xfe")[4:], Evidence.LOOKS),
        (request(1, client_id=None)[4:] + b"more", Evidence.NONE),
        (request(1)[4:] + b"more", Evidence.LOOKS),
        (request(1, bytes(4), api_key=18, version=0)[4:], Evidence.DECODES),
        (request(1, bytes(5), api_key=18, version=0)[4:], Evidence.LOOKS),
        (request(1, b"\0?", api_key=18, version=9)[4:], Evidence.DECODES),
        (request(1, b"\0?", version=14)[4:], Evidence.LOOKS),
        (request(1, b"\0?", api_key=500)[4:], Evidence.LOOKS),
        (request(1, b"\0?", version=14, client_id=None)[4:], Evidence.NONE),
        (produce(make_batch(b"a")), Evidence.DECODES),
        (produce(make_batch(b"a"), acks=5), Evidence.LOOKS),
        (bytes(20), Evidence.NONE),
        (b"", Evidence.NONE),
    ],
)
def test_a_whole_frame_must_decode_to_what_a_client_would_send(
    frame: bytes, expected: Evidence
) -> None:
    """No control characters, no acks but three, no bytes behind: a broker reads such requests, too.

    Of new versions ApiVersions alone is believed.
    """
    assert evidence(frame) is expected


def test_records_that_were_corrupted_are_in_a_request_all_the_same() -> None:
    """The broker will say so."""
    batch = bytearray(make_batch(b"value"))
    batch[-2] ^= 1

    assert evidence(produce(bytes(batch))) is Evidence.DECODES


def test_of_a_frame_that_is_cut_the_bytes_that_are_here_decide() -> None:
    """They may break off anywhere, but not contradict their layout or the frame's size."""
    frame = produce(make_batch(b"v" * 200))

    for here in range(len(frame)):
        found = evidence(frame, here=here)
        assert found is (Evidence.LOOKS if here > len("app") + 10 else found), here
        assert found in {Evidence.NONE, Evidence.LOOKS}
        assert evidence(frame, here=here, is_all=False) is Evidence.OPEN
    longer = frame.replace(b"\0\6orders", b"\x70\6orders")
    assert evidence(longer, here=60) is Evidence.NONE


def test_of_a_long_frame_the_first_bytes_are_enough() -> None:
    """Nobody waits for megabytes."""
    frame = produce(make_batch(b"v" * 2 * ENOUGH_BYTES))

    assert evidence(frame, here=ENOUGH_BYTES - 1, is_all=False) is Evidence.OPEN
    assert evidence(frame, here=ENOUGH_BYTES, is_all=False) is Evidence.LOOKS


@pytest.mark.thorough
def test_every_request_of_kafka_is_recognised() -> None:
    """Whatever API and version; but for some acks, codes and texts that no client would send."""
    chance = random.Random(1)
    vectors = [each for each in fuzz_target.vectors() if each[2] and each[0] != PRODUCE]
    found = []
    for api_key, version, _, message in chance.sample(vectors, 1500):
        header_version = API_BY_KEY[api_key].request_header_version(version)
        if not header_version:
            continue
        tags = b"\0" * (header_version - 1)
        frame = request(1, tags + message, api_key=api_key, version=version)[4:]
        found.append(evidence(frame))

    assert found.count(Evidence.DECODES) > 0.85 * len(found)


@pytest.mark.thorough
def test_no_response_of_kafka_passes_for_a_request() -> None:
    """With the small correlation ids that look like Produce, and those that look like others.

    Made-up ones of hardly a value do, such as Metadata of nothing as ListOffsets of nothing.
    """
    chance, taken = random.Random(2), 0
    vectors = [each for each in fuzz_target.vectors() if not each[2]]
    for api_key, version, _, message in chance.sample(vectors, 1500):
        tags = b"\0" * API_BY_KEY[api_key].response_header_version(version)
        for number in (*range(13), *(65536 * key for key in range(1, 19))):
            frame = number.to_bytes(4) + tags + message
            is_taken = evidence(frame) is Evidence.DECODES
            taken += is_taken and is_whole_response(frame, (api_key, version))
    assert taken < 5


@given(st.binary(max_size=60), st.integers(0, 200), st.booleans())
def test_any_bytes_get_a_verdict(head: bytes, more: int, is_all: bool) -> None:  # noqa: FBT001
    """Nothing escapes."""
    assert request_evidence(head, len(head) + more, is_all=is_all) in set(Evidence)
