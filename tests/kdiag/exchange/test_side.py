import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.exchange.model import Exchange, LoginPhase, Status
from kdiag.exchange.side import Side, Why, read_request, read_response
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.metadata import MetadataRequest, MetadataRequestTopic
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.schema import Struct
from made_values import fuzz_target
from recordings.exchange_maker import (
    cut_frame,
    make_batch,
    make_exchange,
    request_bytes,
    response_bytes,
    whole_frame,
)
from tiers.cases import for_each

SEEDS = range(1500)
ASK = FindCoordinatorRequest(coordinator_keys=["orders", "billing"])
TELL = FindCoordinatorResponse()


def produce(*partitions: bytes | None) -> ProduceRequest:
    """Return a Produce request with these `records` fields in one topic."""
    data = [
        PartitionProduceData(index=index, records=records)
        for index, records in enumerate(partitions)
    ]
    return ProduceRequest(topic_data=[TopicProduceData(name="orders", partition_data=data)])


def request_side(exchange: Exchange) -> Side:
    """Return the request of an exchange that has one."""
    side = read_request(exchange)
    assert side is not None
    return side


def response_side(exchange: Exchange) -> Side:
    """Return the response of an exchange that has one."""
    side = read_response(exchange)
    assert side is not None
    return side


def why_of(side: Side) -> Why:
    """Return why a side is not ok."""
    assert side.why is not None
    return side.why


def cut(request: Struct, version: int, kept: int) -> Exchange:
    """Return an exchange whose request misses the bytes from `kept` on."""
    exchange = make_exchange(request, version=version)
    exchange.request = cut_frame(request_bytes(request, version), kept)
    return exchange


def test_both_sides_are_read_behind_their_headers() -> None:
    """Whole frames of a known version are ok and give the messages that were sent."""
    exchange = make_exchange(ASK, TELL, version=4)
    request, response = request_side(exchange), response_side(exchange)

    assert (request.status, request.why, request.version) == (Status.OK, None, 4)
    assert request.message == ASK
    assert exchange.request is not None
    assert exchange.request.data[request.body_offset :] == encode(ASK, 4)
    assert (response.status, response.message, response.body_offset) == (Status.OK, TELL, 5)


def test_a_side_that_was_not_seen_is_none() -> None:
    """No frame, no side."""
    assert read_request(make_exchange(None, TELL, version=4)) is None
    assert read_response(make_exchange(ASK, version=4)) is None


@for_each("client_id", [None, "", "app", "a" * 200])
def test_the_body_starts_behind_any_client_id(client_id: str | None) -> None:
    """Null, empty and long client ids are stepped over, in old and in flexible headers."""
    for version in (2, 4):
        asked = FindCoordinatorRequest(key="g") if version < 4 else ASK
        data = request_bytes(asked, version, client_id=client_id)
        side = request_side(make_exchange(data, version=version, api_key=10))
        assert (side.status, side.message) == (Status.OK, asked)


def test_header_tags_are_stepped_over() -> None:
    """Unknown tags in the headers do not move the bodies."""
    tags = b"\x01\x63\x02ab"
    request = bytes.fromhex("000a0004 00000007 0003") + b"app" + tags + encode(ASK, 4)
    response = bytes.fromhex("00000007") + tags + encode(TELL, 4)
    exchange = make_exchange(request, response, version=4, api_key=10)

    assert request_side(exchange).message == ASK
    assert response_side(exchange).message == TELL


def test_bytes_behind_the_last_field_of_a_request_are_a_note() -> None:
    """A broker ignores them; clients do not expect them, and where a login may be they hide all."""
    data = request_bytes(ASK, 4)
    exchange = make_exchange(data + b"xyz", version=4, api_key=10)
    side = request_side(exchange)
    assert (side.status, side.why, side.message) == (Status.OK, None, ASK)
    assert side.note == "3 bytes more than v4 has, Kafka ignores them"

    exchange.login = LoginPhase.UNKNOWN
    side = request_side(exchange)
    assert side.why == Why(len(data), "", "3 bytes are left over")
    assert (side.status, side.message, side.note) == (Status.MALFORMED, None, None)

    zeros = make_exchange(data + bytes(4), version=4, api_key=10, login=LoginPhase.UNKNOWN)
    assert request_side(zeros).message == ASK


def test_bytes_behind_the_last_field_of_a_response_are_malformed() -> None:
    """What is left over is told with its offset; the message in front of it is kept."""
    data = response_bytes(TELL, 4)
    side = response_side(make_exchange(request_bytes(ASK, 4), data + b"xyz", version=4, api_key=10))

    assert side.status is Status.MALFORMED
    assert side.why == Why(len(data), "", "3 bytes are left over")
    assert side.message == TELL


def test_a_body_that_contradicts_its_format_names_the_field() -> None:
    """A whole frame that ends inside a field is malformed there, and keeps what precedes."""
    data = request_bytes(ASK, 4)[:-4]
    side = request_side(make_exchange(data, version=4, api_key=10))

    assert side.status is Status.MALFORMED
    assert why_of(side).path == "coordinatorKeys[1]"
    assert why_of(side).offset == data.index(b"bill")
    assert why_of(side).reason == "7 bytes expected, 4 remain"
    assert side.message.coordinator_keys == ["orders"]
    assert side.body == {"keyType": 0, "coordinatorKeys": ["orders"]}


def test_a_cut_frame_is_partial_and_keeps_what_precedes_the_hole() -> None:
    """Lost bytes are no contradiction: the reason says how many, and where they begin."""
    whole = request_bytes(ASK, 4)
    kept = whole.index(b"billing") + 2
    side = request_side(cut(ASK, 4, kept))

    assert side.status is Status.PARTIAL
    assert why_of(side).path == "coordinatorKeys[1]"
    missing = len(whole) - kept
    assert (
        why_of(side).reason == f"{missing} of {len(whole)} bytes are missing, from byte {kept} on"
    )
    assert side.message.coordinator_keys == ["orders"]


def test_the_start_of_a_long_body_that_is_wrong_is_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three bytes can be an element, and in a form for readers a thousand."""
    for module in ("exchange.side", "wire.codec.messages"):
        monkeypatch.setattr(f"kdiag.{module}.MOST_ELEMENTS", 3)
    keys = [f"group-{number}" for number in range(9)]
    exchange = make_exchange(FindCoordinatorRequest(coordinator_keys=keys), version=4)
    assert exchange.request is not None
    whole = exchange.request
    assert request_side(exchange).status is Status.OK

    exchange.request = cut_frame(whole.data, whole.size - 2)
    side = request_side(exchange)
    assert (side.status, why_of(side).path) == (Status.PARTIAL, "coordinatorKeys[3]")
    assert why_of(side).reason.endswith("; only the first 3 elements were read")
    assert side.message.coordinator_keys == keys[:3]

    exchange.request = whole_frame(whole.data[:-1] + b"\x07")
    side = request_side(exchange)
    assert (side.status, why_of(side).path) == (Status.MALFORMED, "coordinatorKeys[3]")
    assert why_of(side).reason == "only the first 3 elements were read"
    assert side.message.coordinator_keys == keys[:3]


def test_a_cut_behind_the_last_field_is_partial_too() -> None:
    """A body that ends where the hole begins still misses bytes."""
    data = request_bytes(HeartbeatRequest(group_id="g"), 0)
    exchange = make_exchange(data, version=0, api_key=12)
    exchange.request = cut_frame(data + b"more", len(data))
    side = request_side(exchange)

    assert (side.status, why_of(side).offset) == (Status.PARTIAL, len(data))
    assert side.message.group_id == "g"


@given(st.data())
def test_any_cut_keeps_a_prefix(data: st.DataObject) -> None:
    """Wherever a frame is cut, its side is partial, and what was read is what was sent."""
    whole = request_bytes(ASK, 4)
    kept = data.draw(st.integers(0, len(whole) - 1))
    side = request_side(cut(ASK, 4, kept))

    assert side.status is Status.PARTIAL
    assert why_of(side).offset <= kept
    keys = side.message.coordinator_keys if side.message is not None else []
    assert keys == ASK.coordinator_keys[: len(keys)]


@given(st.binary(max_size=80), st.integers(-1, 95), st.integers(-1, 20), st.booleans())
def test_reading_never_raises(data: bytes, api_key: int, version: int, is_whole: bool) -> None:  # noqa: FBT001 - a generated value
    """Whatever the bytes are, both sides have a status, and a reason unless they are ok."""
    frame = whole_frame(data) if is_whole else cut_frame(data + b"lost", len(data))
    exchange = make_exchange(data, data, version=version, api_key=api_key)
    exchange.request = exchange.response = frame
    for side in (request_side(exchange), response_side(exchange)):
        assert (side.status is Status.OK) == (side.why is None)


@pytest.mark.parametrize(("size", "path"), [(3, "header"), (9, "header.clientId")])
def test_a_header_that_ends_early_says_where(size: int, path: str) -> None:
    """A whole frame without a whole header is malformed, one that was cut is partial."""
    whole = request_bytes(ASK, 4)
    short = make_exchange(whole[:size], version=4, api_key=10)
    cut_off = cut(ASK, 4, size)

    assert request_side(short).status is Status.MALFORMED
    assert why_of(request_side(short)).path == path
    assert request_side(cut_off).status is Status.PARTIAL
    assert "bytes are missing" in why_of(request_side(cut_off)).reason


def test_a_response_without_a_whole_header_says_so() -> None:
    """A response needs its correlation id."""
    side = response_side(make_exchange(ASK, b"\x00\x00", version=4))

    assert side.status is Status.MALFORMED
    assert why_of(side).path == "header.correlationId"


def test_a_newer_version_stays_closed() -> None:
    """No value is read from a layout that kdiag does not know."""
    exchange = make_exchange(request_bytes(ASK, 4), b"\0\0\0\x07\0abc", version=99, api_key=10)
    request, response = request_side(exchange), response_side(exchange)

    for side in (request, response):
        assert side.status is Status.UNDECODED
        assert (side.message, side.body, side.mentions) == (None, None, None)
    assert why_of(response).reason == "FindCoordinator v99 (newest known 6), 3 body bytes"


def test_an_unknown_key_stays_closed() -> None:
    """An API that kdiag has not heard of keeps its body, and its key is told."""
    data = bytes.fromhex("03e70001 00000007 0003") + b"app" + b"\0xyz"
    side = request_side(make_exchange(data, version=1, api_key=999))

    assert side.status is Status.UNDECODED
    assert why_of(side).reason.startswith("API key 999 (not known up to Kafka ")
    assert side.message is None


def test_a_closed_side_that_was_cut_is_partial() -> None:
    """Lost bytes outweigh an unknown version, and both are told."""
    exchange = make_exchange(ASK, TELL, version=4)
    exchange.response = cut_frame(response_bytes(TELL, 4), 9)
    exchange.version = 99

    side = response_side(exchange)
    assert side.status is Status.PARTIAL
    assert "newest known 6" in why_of(side).reason
    assert why_of(side).reason.endswith("from byte 9 on")


def test_an_older_broker_answers_api_versions_in_version_0() -> None:
    """Error 35 in the form of version 0 is read as such, whatever was asked (KIP-511)."""
    refusal = ApiVersionsResponse(
        error_code=35, api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)]
    )
    for version in (0, 3, 5, 77):
        answer = b"\0\0\0\x07" + encode(refusal, 0)
        side = response_side(make_exchange(b"", answer, version=version, api_key=18))
        assert (side.status, side.version) == (Status.OK, 0)
        assert side.message == refusal


@pytest.mark.parametrize("version", [3, 4])
def test_an_answer_with_error_35_in_the_version_asked_is_read_in_it(version: int) -> None:
    """What does not fit version 0 to the last byte is not taken for it."""
    answer = ApiVersionsResponse(error_code=35, throttle_time_ms=9)
    exchange = make_exchange(ApiVersionsRequest(), answer, version=version)

    assert response_side(exchange).version == version
    assert response_side(exchange).message == answer


def test_a_cut_refusal_is_partial() -> None:
    """A refusal in version 0 that misses bytes is not taken for a whole one."""
    answer = b"\0\0\0\x07" + encode(ApiVersionsResponse(error_code=35), 0)
    exchange = make_exchange(b"", answer, version=5, api_key=18)
    exchange.response = cut_frame(answer, 7)

    assert response_side(exchange).status is Status.PARTIAL


def test_sasl_tokens_stay_closed() -> None:
    """A frame without header inside a SASL exchange is opaque; only its size is told."""
    facts = {"pairing": Status.OPAQUE, "correlation_id": None}
    exchange = make_exchange(b"\0u\0secret", b"ok", version=None, **facts)

    for side, size in ((request_side(exchange), 9), (response_side(exchange), 2)):
        assert side.status is Status.OPAQUE
        assert why_of(side).reason == f"a SASL token of {size} bytes"
        assert side.message is None


def test_a_response_without_its_request_is_unmatched() -> None:
    """A response does not say what it answers."""
    exchange = make_exchange(None, b"\0\0\0\x07abc", version=None, pairing=Status.UNMATCHED)
    side = response_side(exchange)

    assert side.status is Status.UNMATCHED
    assert why_of(side) == Why(0, "", "the request that it answers was not seen")


def test_an_exchange_whose_header_was_lost_says_so() -> None:
    """A request cut inside its header leaves its answer undecoded."""
    exchange = make_exchange(b"", b"\0\0\0\x07abc", version=None)
    exchange.request = cut_frame(request_bytes(ASK, 4), 3)

    assert request_side(exchange).status is Status.PARTIAL
    assert response_side(exchange).status is Status.UNDECODED
    assert why_of(response_side(exchange)).reason == "the request that it answers cannot be read"


def test_a_request_with_a_header_but_without_api_is_undecoded() -> None:
    """Where the pairing did not settle what is asked, nothing is read."""
    side = request_side(make_exchange(request_bytes(ASK, 4), version=None))

    assert side.status is Status.UNDECODED
    assert why_of(side).reason == "what it asks is not known"


def test_record_batches_are_found_in_field_order() -> None:
    """Each `records` field has its batches; a null field has none."""
    records = make_batch(b"a", b"b") + make_batch(b"c")
    side = request_side(make_exchange(produce(records, None, make_batch(b"d")), version=9))

    assert side.status is Status.OK
    first, second, third = side.batches
    assert [each.record_count for each in first or ()] == [2, 1]
    assert second is None
    assert [each.record_count for each in third or ()] == [1]


def test_large_records_are_not_copied() -> None:
    """Their batches lie in the frame itself; small ones are bytes like everything else."""
    large, small = make_batch(bytes(100_000)), make_batch(b"a")
    exchange = make_exchange(produce(large, small), version=9)
    side = request_side(exchange)
    (first,), (second,) = (batches or [] for batches in side.batches)
    data = exchange.request.data if exchange.request else b""

    assert isinstance(first.data, memoryview)
    assert first.data.obj is data
    assert first.records()[0].value == bytes(100_000)
    assert second.data == small
    assert side.message == decode(ProduceRequest, 9, data, side.body_offset)


def test_a_fetch_may_end_inside_a_batch() -> None:
    """The broker cuts at a number of bytes: what is whole is kept, and nothing is wrong."""
    assert response_side(fetched(make_batch(b"a") + make_batch(b"b")[:30])).status is Status.OK


def fetched(records: bytes) -> Exchange:
    """Return a Fetch exchange that answers with these records."""
    partitions = [PartitionData(partition_index=0, records=records)]
    topics = [FetchableTopicResponse(topic="orders", partitions=partitions)]
    return make_exchange(FetchRequest(), FetchResponse(responses=topics), version=11)


def test_a_produce_must_not_end_inside_a_batch() -> None:
    """A producer sends whole batches; a cut one in a whole frame is malformed."""
    batch = make_batch(b"a")
    exchange = make_exchange(produce(batch, batch + make_batch(b"b")[:30]), version=9)
    side = request_side(exchange)
    assert side.status is Status.MALFORMED
    assert why_of(side).path == "topicData[0].partitionData[1].records"
    assert why_of(side).reason == "30 bytes of a cut batch"
    assert side.frame.data[why_of(side).offset :].startswith(make_batch(b"b")[:30])
    assert [len(batches or ()) for batches in side.batches] == [1, 1]


def test_a_wrong_batch_header_is_named_and_the_batches_before_it_are_kept() -> None:
    """The path leads into the `records` field, the offset to the byte in the frame."""
    bad = bytearray(make_batch(b"b"))
    bad[16] = 7
    side = response_side(fetched(make_batch(b"a") + bytes(bad)))
    assert side.status is Status.MALFORMED
    assert why_of(side).path == "responses[0].partitions[0].records.batches[1].magic"
    assert side.frame.data[why_of(side).offset] == 7
    assert [len(batches or ()) for batches in side.batches] == [1]


def test_a_malformed_frame_is_blamed_once() -> None:
    """The first fault of a frame is told, not a later one in its records."""
    bad = bytearray(make_batch(b"a"))
    bad[16] = 7
    exchange = fetched(bytes(bad))
    assert exchange.response is not None
    exchange.response = whole_frame(exchange.response.data + b"x")
    assert why_of(response_side(exchange)).reason == "1 bytes are left over"


@pytest.mark.parametrize("version", [3, 8, 9])
def test_batches_in_front_of_a_hole_are_read(version: int) -> None:
    """Of a Produce that is cut inside its records, the whole batches before the cut are there."""
    request = produce(make_batch(b"first") + make_batch(b"second" * 20))
    whole = request_bytes(request, version)
    side = request_side(cut(request, version, whole.index(b"second") + 3))
    assert side.status is Status.PARTIAL
    assert why_of(side).path == "topicData[0].partitionData[0].records"
    (batches,) = side.batches
    assert batches is not None
    assert [record.value for each in batches for record in each.records()] == [b"first"]


def test_a_hole_inside_the_second_partition_leaves_the_first() -> None:
    """The records of partitions before the cut are whole."""
    request = produce(make_batch(b"first"), make_batch(b"second" * 20))
    whole = request_bytes(request, 9)
    side = request_side(cut(request, 9, whole.index(b"second") + 3))
    assert [len(batches or ()) for batches in side.batches] == [1, 0]


def test_a_cut_records_field_with_a_wrong_header_is_malformed() -> None:
    """What is there contradicts the format, so the loss is not to blame."""
    bad = bytearray(make_batch(b"b" * 50))
    bad[16] = 9
    request = produce(bytes(bad))
    whole = request_bytes(request, 9)
    side = request_side(cut(request, 9, len(whole) - 20))
    assert side.status is Status.MALFORMED
    assert why_of(side).path == "topicData[0].partitionData[0].records.batches[0].magic"
    assert side.frame.data[why_of(side).offset] == 9


def test_an_unknown_tag_of_32_bits_is_kept_of_a_malformed_body() -> None:
    """Kafka writes none above 2**31 - 1, strangers do; the body breaks off behind it."""
    ask = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    header = request_bytes(ask, 9)[: -len(encode(ask, 9))]
    body = bytes.fromhex("02 02 74 01 ffffffff0f 01 41")
    side = request_side(make_exchange(header + body, version=9, api_key=3))

    assert (side.status, why_of(side).path) == (Status.MALFORMED, "allowAutoTopicCreation")
    assert side.message.topics[0].unknown_tagged_fields == {(1 << 32) - 1: b"A"}


@pytest.mark.thorough
def test_no_distorted_message_raises_in_whatever_is_done_with_its_exchange() -> None:
    """Kafka's own messages with bytes replaced, added and cut: read, shown, counted, masked."""
    vectors = [each for each in fuzz_target.vectors() if len(each[3]) < 20_000]
    for seed in SEEDS:
        chance = random.Random(seed)
        api_key, version, is_request, message = chance.choice(vectors)
        data = fuzz_target.distorted(message, chance)
        kept = chance.choice((len(data) + 64, chance.randrange(len(data) + 64)))
        fuzz_target.read_exchange(data, api_key, version, is_request=is_request, kept=kept)


def test_what_a_broker_tells_all_clients_is_decoded_once() -> None:
    """The correlation ids differ; other answers, and what is large, are by themselves."""
    keys = [ApiVersion(each, 0, each) for each in range(60)]
    one, same, other = (
        response_side(
            make_exchange(
                ApiVersionsRequest(),
                response_bytes(
                    ApiVersionsResponse(api_keys=keys[:count]), 3, correlation_id=number
                ),
                version=3,
            )
        )
        for number, count in ((7, 60), (8, 60), (9, 59))
    )
    large = ApiVersionsResponse(api_keys=[ApiVersion(each, 0, 1) for each in range(1000)])

    assert one.message is same.message
    assert (one.is_shared, one.frame.data == same.frame.data) == (True, False)
    assert other.message == ApiVersionsResponse(api_keys=keys[:59])
    assert not response_side(make_exchange(ApiVersionsRequest(), large, version=3)).is_shared
