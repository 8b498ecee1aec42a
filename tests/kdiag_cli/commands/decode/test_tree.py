import io
from typing import Any

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import BodyForm
from kdiag.exchange.documents.document import Documents
from kdiag.exchange.model import Exchange
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kdiag.wire.api.push_telemetry import PushTelemetryRequest
from kdiag.wire.frame import Frame
from kdiag_cli.commands.decode.tree import (
    ExchangeView,
    bytes_text,
    explanation_document,
    transport_text,
)
from kdiag_cli.output.terminal import Output
from recordings.exchange_maker import cut_frame, make_batch, make_exchange, request_bytes

NAMES = {"AAAAAAAAAAAAAAAAAAAACQ": "orders"}


def view(exchange: Exchange, *, explain: bool = False, width: int | None = None) -> list[str]:
    """Return the lines of one exchange in full."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    output = Output(stream)
    output.width = width
    names = TopicNames(NAMES)
    printed = ExchangeView(output, names, Documents(names, BodyForm(values=True)))
    dissection = Dissection(exchange)
    if explain:
        printed.explain(dissection, show_secrets=False)
    else:
        printed.show(dissection)
    output.flush()
    data: Any = stream.buffer
    text: str = data.getvalue().decode()
    return text.splitlines()


def test_an_exchange_is_shown_with_all_that_is_known_of_it() -> None:
    """Head, transport_text and fields of both sides; errors by name."""
    asked = HeartbeatRequest(group_id="billing", generation_id=4, member_id="m\x07")
    lines = view(make_exchange(asked, HeartbeatResponse(error_code=27), version=3))
    assert lines == [
        "exchange 1  2026-01-02T03:04:05.000000006Z",
        "connection 1  10.0.0.1:40000 → 10.0.0.2:9092  client id app",
        "Heartbeat v3  correlation id 7  latency 2.50 ms  ok",
        "REBALANCE_IN_PROGRESS",
        r"group billing gen 4, member m\x07",
        "",
        "request  32 bytes in 1 segment, packet 1",
        '├─ groupId  "billing"',
        "├─ generationId  4",
        r'├─ memberId  "m\u0007"',
        "└─ groupInstanceId  null",
        "",
        "response  10 bytes in 1 segment, packet 2",
        "├─ throttleTimeMs  0",
        "└─ errorCode  27 REBALANCE_IN_PROGRESS",
    ]


def test_the_user_of_a_connection_stands_in_the_head() -> None:
    """Its control bytes are escaped; where the mechanism is not known, nothing stands for it."""
    exchange = make_exchange(HeartbeatRequest(), HeartbeatResponse(), version=3)
    exchange.connection.sasl_user = "ali\x1bce"
    assert view(exchange)[1].endswith(r"client id app  user ali\x1bce")
    exchange.connection.sasl_mechanism = "PLAIN"
    assert view(exchange)[1].endswith(r"user ali\x1bce (PLAIN)")


def test_branches_show_plain_values_first_and_wrap_them() -> None:
    """Objects of plain values are one line if they fit; topic ids have their names beside."""
    topic = FetchTopic(topic_id=bytes(15) + b"\x09", partitions=[FetchPartition(3)])
    lines = view(make_exchange(FetchRequest(topics=[topic]), version=13))
    start = lines.index("├─ topics")
    assert lines[start + 1 : start + 5] == [
        '│  └─ [0]  topicId "AAAAAAAAAAAAAAAAAAAACQ" (orders)',
        "│     └─ partitions",
        "│        └─ [0]  partition 3, currentLeaderEpoch -1, fetchOffset 0, lastFetchedEpoch -1",
        "│                logStartOffset -1, partitionMaxBytes 0",
    ]
    assert lines[-1] == "response  none"


def test_api_keys_and_bytes_are_shown_as_people_read_them() -> None:
    """A key with its name, bytes in hexadecimal."""
    answered = ApiVersionsResponse(api_keys=[ApiVersion(1, 4, 18)])
    lines = view(make_exchange(ApiVersionsRequest(), answered, version=0))
    assert "└─ apiKeys" in lines
    assert "   └─ [0]  apiKey 1 (Fetch), minVersion 4, maxVersion 18" in lines
    lines = view(make_exchange(PushTelemetryRequest(metrics=b"\x01\xff"), version=0))
    assert "└─ metrics  01ff (2 bytes)" in lines
    assert bytes_text(bytes(100)) == f"{'00' * 64}… (100 bytes)"


def test_a_side_that_is_not_whole_says_why() -> None:
    """The status stands beside the transport_text, the reason below."""
    data = request_bytes(HeartbeatRequest(group_id="billing"), 3)
    exchange = make_exchange(HeartbeatRequest(), version=3)
    exchange.request = cut_frame(data, 20)
    lines = view(exchange)
    missing = f"{len(data) - 20} bytes missing"
    head = f"request  {len(data)} bytes in 1 segment, packet 1, {missing}  partial"
    reason = f"{len(data) - 20} of {len(data)} bytes are missing, from byte 20 on"
    assert head in lines
    assert f"byte 15, groupId: {reason}" in lines


def test_the_journey_of_a_frame_tells_packets_and_company() -> None:
    """How TCP split it, and what it shared a segment with."""
    frame = Frame(bytes(9), 9, 0, 0, 5, 8, segments=3, starts_in_segment_with=2)
    said = "9 bytes in 3 segments, packets 5 to 8, its first segment holds 2 other frames"
    assert transport_text(frame) == said


def test_every_byte_is_explained_with_its_bytes_in_every_width() -> None:
    """Lengths and counts are told from values; texts need no hexadecimal."""
    batch = make_batch(b"value")
    topic = TopicProduceData("orders", partition_data=[PartitionProduceData(3, batch)])
    exchange = make_exchange(ProduceRequest(acks=-1, topic_data=[topic]), version=3)
    lines = view(exchange, explain=True)
    rows = [tuple(line.split()) for line in lines]
    assert ("OFFSET", "LENGTH", "BYTES", "PATH", "VALUE") in rows
    assert ("-4", "4", "00000076", "size", "118") in rows
    assert ("13", "2", "ffff", "transactionalId", "null") in rows
    assert ("21", "4", "00000001", "topicData", "count", "1") in rows
    assert ("25", "2", "0006", "topicData[0].name", "length", "6") in rows
    assert ("27", "6", "topicData[0].name", '"orders"') in rows
    inside = f"{len(batch) - 61} bytes, none".split()
    assert rows[-1][-3:] == tuple(inside)
    narrow = view(exchange, explain=True, width=60)
    assert "BYTES" in " ".join(narrow)
    assert any("00000076" in line for line in narrow)
    table = [line for line in narrow if line[:6].strip().lstrip("-").isdigit()]
    assert len(table) > 20
    assert max(map(len, table)) <= 60


def test_the_explanation_is_a_document_for_programs() -> None:
    """Spans of both sides; a side that is not there is null."""
    exchange = make_exchange(HeartbeatRequest(), version=3)
    document = explanation_document(Dissection(exchange), show_secrets=False)
    assert (document["schema"], document["kind"], document["number"]) == (1, "explanation", 1)
    assert document["request"][0].path == "size"
    assert document["response"] is None
