import pytest

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.byte_view import sized_paths, view_side
from kdiag.exchange.model import Exchange, Status
from kdiag.wire.api.envelope import EnvelopeRequest
from kdiag.wire.api.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.metadata import MetadataRequest
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.codec.explain import Span
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from recordings.exchange_maker import (
    cut_frame,
    make_batch,
    make_exchange,
    request_bytes,
    response_bytes,
    whole_frame,
)


def spans_of(exchange: Exchange, *, is_response: bool = False, **options: bool) -> list[Span]:
    """Return the view of one side, which must cover every byte of its frame once."""
    dissection = Dissection(exchange)
    side = dissection.response if is_response else dissection.request
    assert side is not None
    spans = view_side(dissection, side, is_response=is_response, **options)
    position = -4
    for span in spans:
        assert span.offset == position
        position += span.length
    assert position == side.frame.size
    return spans


def produce(records: bytes) -> ProduceRequest:
    """Return a Produce request to one partition."""
    topic = TopicProduceData("t", partition_data=[PartitionProduceData(records=records)])
    return ProduceRequest(topic_data=[topic])


def test_every_byte_of_a_request_has_its_field() -> None:
    """Length, header and body follow each other without a hole."""
    spans = spans_of(make_exchange(HeartbeatRequest(group_id="billing"), version=4))
    paths = [span.path for span in spans]
    assert paths[:7] == [
        "size",
        "header.requestApiKey",
        "header.requestApiVersion",
        "header.correlationId",
        "header.clientId",
        "header.clientId",
        "header._tags",
    ]
    assert ("groupId", "billing") in [(span.path, span.value) for span in spans]


def test_a_length_of_minus_one_is_null() -> None:
    """A field that may be null says so; a number may be -1 all the same."""
    spans = spans_of(make_exchange(MetadataRequest(topics=None), version=12))
    assert [span.value for span in spans if span.path == "topics"] == [None]
    spans = spans_of(make_exchange(HeartbeatRequest(generation_id=-1), version=3))
    values = {span.path: span.value for span in spans}
    assert (values["generationId"], values["groupInstanceId"]) == (-1, None)
    assert "generationId" not in sized_paths(HeartbeatRequest, 3)


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_record_batches_are_opened_down_to_their_headers(magic: int) -> None:
    """What is in a batch stays one span, and so does what remains of a cut one."""
    batch = write_batch([Record(0, 1_000, b"k", b"v")], BatchHeader(magic=magic))
    exchange = make_exchange(produce(batch + batch[:20]), version=3)
    spans = spans_of(exchange)
    places = {span.path.partition("records")[2]: span.value for span in spans}
    assert places["[0].magic"] == magic
    assert places["[1]"] == "(cut batch)"
    inside = "[0].(records)" if magic == 2 else "[0].(key and value)"
    assert places[inside].endswith("bytes, none")


def test_wrong_batches_end_where_they_are_wrong() -> None:
    """The rest of the field is one span."""
    batch = bytearray(make_batch(b"v"))
    batch[16] = 9
    spans = spans_of(make_exchange(produce(make_batch(b"v") + bytes(batch)), version=3))
    assert spans[-1].path.endswith("records[1]")
    assert spans[-1].length == len(batch)


def test_bytes_that_nothing_explains_are_named_in_parentheses() -> None:
    """Left over after a body, not read after a fault or of an unknown API, or missing."""
    data = request_bytes(HeartbeatRequest(group_id="billing"), 0)
    exchange = make_exchange(HeartbeatRequest(), version=0)
    exchange.request = whole_frame(data + b"\x01\x02")
    assert spans_of(exchange)[-1] == Span("(left over)", len(data), 2, b"\x01\x02")
    exchange.request = cut_frame(data, len(data) - 3)
    assert spans_of(exchange)[-1].path == "(missing)"
    exchange.request = whole_frame(data)
    exchange.api_key = 999
    assert spans_of(exchange)[-1].path == "(not read)"


def test_secrets_do_not_show_in_the_view() -> None:
    """Neither as a value nor as bytes that were not read; on request they do."""
    asked = SaslAuthenticateRequest(auth_bytes=b"\0u\0pass")
    answered = SaslAuthenticateResponse(auth_bytes=b"pass")
    exchange = make_exchange(asked, answered, version=2)
    for is_response in (False, True):
        assert b"pass" not in _bytes(spans_of(exchange, is_response=is_response))
    assert b"pass" in _bytes(spans_of(exchange, show_secrets=True))
    assert exchange.request is not None
    exchange.request = whole_frame(exchange.request.data + b"pass")
    assert b"pass" not in _bytes(spans_of(exchange))
    token = make_exchange(b"\0u\0pass", version=None, pairing=Status.OPAQUE)
    assert b"pass" not in _bytes(spans_of(token))
    inner = request_bytes(asked, 2)
    envelope = make_exchange(EnvelopeRequest(request_data=inner), version=0)
    assert b"pass" not in _bytes(spans_of(envelope))


@pytest.mark.parametrize("version", [12, 13])
def test_records_of_the_metadata_log_do_not_show_where_they_cannot_be_read(version: int) -> None:
    """Cut, too short, with bytes left over or newer than known: SCRAM credentials may be there."""
    partition = PartitionData(records=make_batch(b"pass" * 9))
    topic = FetchableTopicResponse("__cluster_metadata", bytes(15) + b"\1", [partition])
    answered = FetchResponse(responses=[topic])
    data = response_bytes(answered, version)
    exchange = make_exchange(FetchRequest(), answered, version=version)
    for frame in (cut_frame(data, len(data) - 5), whole_frame(data[:-5]), whole_frame(data * 2)):
        exchange.response = frame
        assert b"pass" not in _bytes(spans_of(exchange, is_response=True))
        assert b"pass" in _bytes(spans_of(exchange, is_response=True, show_secrets=True))
    exchange.version = 99
    assert b"pass" not in _bytes(spans_of(exchange, is_response=True))


def test_records_of_other_topics_show_where_they_cannot_be_read() -> None:
    """Nothing is kept back without need."""
    topic = FetchableTopicResponse("t", partitions=[PartitionData(records=make_batch(b"value"))])
    data = response_bytes(FetchResponse(responses=[topic]), 12)
    exchange = make_exchange(FetchRequest(), FetchResponse(), version=12)
    exchange.response = cut_frame(data, len(data) - 4)
    assert b"value" in _bytes(spans_of(exchange, is_response=True))


def _bytes(spans: list[Span]) -> bytes:
    """Return all bytes that the values of spans show."""
    return b"".join(span.value for span in spans if isinstance(span.value, bytes))
