"""What reports say of slow exchanges, waits, hot partitions, retries, metadata and commits."""

import os
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kdiag.exchange.model import Exchange, Status, UnansweredReason
from kdiag.exchange.tcp_facts import TcpDirection, TcpFacts
from kdiag.report.tables.catalog import TableChoice
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kdiag.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kdiag.wire.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from recordings.capture_tables import report_rows, tables_of, tables_of_items
from recordings.exchange_maker import START_NS, make_batch, make_connection, make_exchange

MS = 1_000_000
WITH_RECORDS = TableChoice(bodies=False, records=True)
FOLDER = Path(os.environ.get("KDIAG_REFERENCE", "")) / "captures"
has_reference = pytest.mark.skipif(
    "KDIAG_REFERENCE" not in os.environ, reason="KDIAG_REFERENCE is not set"
)


def during(exchange: Exchange, asked_ms: int, answered_ms: int) -> Exchange:
    """Return an exchange with its times, since the start."""
    assert exchange.request is not None
    exchange.request.first_byte_ns = exchange.request.last_byte_ns = START_NS + asked_ms * MS
    if exchange.response is not None:
        exchange.response.first_byte_ns = START_NS + answered_ms * MS
        exchange.response.last_byte_ns = START_NS + answered_ms * MS
    return exchange


def heartbeat(asked_ms: int, answered_ms: int, *, throttle_ms: int = 0, **facts: Any) -> Exchange:
    """Return a heartbeat."""
    response = HeartbeatResponse(throttle_time_ms=throttle_ms)
    made = make_exchange(HeartbeatRequest(), response, version=4, correlation_id=asked_ms, **facts)
    return during(made, asked_ms, answered_ms)


def produce(partition: int, *values: bytes, at_ms: int = 0, **facts: Any) -> Exchange:
    """Return a Produce request with a batch, and its response."""
    batch = make_batch(*values, **facts)
    data = PartitionProduceData(index=partition, records=batch)
    request = ProduceRequest(
        topic_data=[TopicProduceData(name="orders", partition_data=[data])], acks=-1
    )
    made = make_exchange(request, ProduceResponse(), version=9, correlation_id=at_ms)
    return during(made, at_ms, at_ms + 1)


@pytest.mark.thorough
def test_a_request_behind_another_waits_in_the_queue() -> None:
    """The broker serves one at a time on a connection; what is left is the broker's."""
    rows = report_rows(tables_of_items(heartbeat(0, 100), heartbeat(10, 130)), "slow")

    assert [(row["slow_us"], row["why"]) for row in rows] == [
        (120_000, "queue"),
        (100_000, "broker"),
    ]
    assert (rows[0]["queue_us"], rows[0]["broker_us"]) == (90_000, 30_000)


@pytest.mark.thorough
def test_another_connection_does_not_hold_a_request_up() -> None:
    """Each has a queue of its own."""
    other = make_connection(2, connection_id="other")
    rows = report_rows(
        tables_of_items(heartbeat(0, 100), heartbeat(10, 130, connection=other)), "slow"
    )

    assert {row["why"] for row in rows} == {"broker"}


@pytest.mark.thorough
def test_a_throttled_connection_is_left_alone() -> None:
    """From the answer that says so on, for as long as it says."""
    rows = report_rows(tables_of_items(heartbeat(0, 1, throttle_ms=500), heartbeat(2, 502)), "slow")

    assert (rows[0]["why"], rows[0]["throttled_us"]) == ("throttled", 499_000)


@pytest.mark.thorough
def test_frames_that_take_long_are_no_fault_of_the_broker() -> None:
    """A request on its way is an upload, a response a download."""
    up, down = heartbeat(0, 50), heartbeat(60, 61)
    assert up.request is not None
    assert down.response is not None
    up.request.last_byte_ns = START_NS + 45 * MS
    down.response.last_byte_ns = START_NS + 90 * MS
    rows = report_rows(tables_of_items(up, down), "slow")

    assert [row["why"] for row in rows] == ["upload", "download"]


@pytest.mark.thorough
def test_hot_partitions_stand_out_of_their_topic() -> None:
    """Three of four bytes of a topic in one of its two partitions is 1.5 times the mean."""
    size = len(make_batch(b"x" * 1000))
    exchanges = [produce(number % 4 // 3, b"x" * 1000, at_ms=number) for number in range(8)]
    rows = report_rows(tables_of_items(*exchanges), "hot")

    assert [(row["partition"], row["bytes"], row["times_mean"]) for row in rows] == [
        (0, 6 * size, 1.5),
        (1, 2 * size, 0.5),
    ]
    assert (rows[0]["share_pct"], rows[0]["client_id"], rows[0]["client_share_pct"]) == (
        75,
        "app",
        100,
    )


@pytest.mark.thorough
def test_hot_keys_are_told_by_what_they_carry() -> None:
    """By bytes, with their client; a key of no text is in base64, and a long one is cut."""
    long = b"k" * 200
    keys = (b"a", b"a", long, b"\xff\xfe", None)
    records = [Record(place, 1_000, key, b"v" * 10) for place, key in enumerate(keys)]
    data = [
        PartitionProduceData(index=0, records=write_batch(records, BatchHeader())),
        PartitionProduceData(index=1, records=write_batch(records[:1], BatchHeader())),
    ]
    request = ProduceRequest(topic_data=[TopicProduceData(name="orders", partition_data=data)])
    item = make_exchange(request, ProduceResponse(), version=9)
    rows = report_rows(tables_of_items(item, choice=WITH_RECORDS), "hot_keys", letters="150")

    assert [(row["key"], row["key_b64"], row["bytes"], row["partitions"]) for row in rows] == [
        ("k" * 150, None, 210, 1),
        ("a", None, 3 * 11, 2),
        (None, "//4=", 12, 1),
        (None, None, 10, 1),
    ]
    assert {row["flow"] for row in rows} == {"produce"}
    assert {(row["client_id"], row["client_share_pct"]) for row in rows} == {("app", 100)}
    assert sum(row["share_pct"] for row in rows) in range(97, 101)


@pytest.mark.thorough
def test_a_batch_that_is_sent_twice_is_a_retry() -> None:
    """By its sequence; the next one has another."""
    once = {"producer_id": 7, "producer_epoch": 0}
    exchanges = [
        produce(0, b"one", at_ms=0, base_sequence=0, **once),
        produce(0, b"one", at_ms=40, base_sequence=0, **once),
        produce(0, b"two", at_ms=50, base_sequence=1, **once),
    ]
    (row,) = report_rows(tables_of_items(*exchanges), "retries")

    assert (row["what"], row["api"], row["retries"], row["soon_ms"]) == (
        "batch sent again",
        "Produce",
        1,
        40,
    )


@pytest.mark.thorough
def test_what_failed_and_is_asked_again_is_a_retry() -> None:
    """After an error, or after no answer; not after the first step of joining."""
    loading = HeartbeatResponse(error_code=CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"])
    first = during(make_exchange(HeartbeatRequest(), loading, version=4), 0, 1)
    lost = make_exchange(
        HeartbeatRequest(),
        version=4,
        pairing=Status.UNANSWERED,
        unanswered_reason=UnansweredReason.BROKER_CLOSED,
    )
    rows = report_rows(tables_of_items(first, during(lost, 5, 0), heartbeat(9, 10)), "retries")

    assert [(row["after"], row["retries"], row["soon_ms"]) for row in rows] == [
        ("COORDINATOR_LOAD_IN_PROGRESS", 1, 5),
        ("broker_closed", 1, 4),
    ]


@pytest.mark.thorough
def test_who_asks_for_all_topics_is_told() -> None:
    """No list asks for all; an empty one does so in version 0 alone."""
    one = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
    asked = [
        make_exchange(MetadataRequest(topics=None), MetadataResponse(), version=9),
        make_exchange(MetadataRequest(topics=[]), MetadataResponse(), version=9),
        make_exchange(MetadataRequest(topics=[]), MetadataResponse(), version=0),
        make_exchange(one, MetadataResponse(), version=9),
    ]
    rows = [during(each, number * 500, number * 500 + 1) for number, each in enumerate(asked)]
    (row,) = report_rows(tables_of_items(*rows), "metadata")

    assert (row["requests"], row["all_topics"]) == (4, 2)
    assert (row["busiest_second"], row["per_minute"]) == (2, 120.0)


def commit(at_ms: int) -> Exchange:
    """Return a commit."""
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=at_ms)
    topic = OffsetCommitRequestTopic(name="orders", partitions=[partition])
    request = OffsetCommitRequest(group_id="billing", topics=[topic])
    return during(make_exchange(request, OffsetCommitResponse(), version=8), at_ms, at_ms + 2)


@pytest.mark.thorough
def test_commits_are_counted_by_group_and_second() -> None:
    """Nine intervals of 250 ms are four a second."""
    (row,) = report_rows(
        tables_of_items(*(commit(250 * number) for number in range(10))), "commits"
    )

    assert (row["group_id"], row["commits"], row["per_s"]) == ("billing", 10, 4.0)
    assert (row["busiest_second"], row["errors"], row["longest_us"]) == (4, 0, 2_000)


@pytest.mark.thorough
def test_a_connection_that_nobody_can_read_is_in_the_topology() -> None:
    """With its protocol, and the bytes of TCP; below those who say more, here."""
    connection = make_connection(2, connection_id="dark", request_bytes=9, response_bytes=1)
    rows = report_rows(tables_of_items(heartbeat(0, 1), make_connection(), connection), "topology")

    assert [(row["client_id"], row["does"], row["requests"]) for row in rows] == [
        ("app", "groups", 1),
        (None, None, 0),
    ]
    assert (rows[1]["sent_bytes"], rows[1]["received_bytes"]) == (9, 1)


@pytest.mark.thorough
def test_connections_with_trouble_come_first() -> None:
    """Two of three were never made; another host has none."""
    facts = {"requests": 1, "last_ns": START_NS + MS, "duplicates": 2, "gap_bytes": 5}
    connections = [
        make_connection(1, connection_id="a", close_reason="refused"),
        make_connection(2, connection_id="b", close_reason="no answer"),
        make_connection(3, connection_id="c", close_reason="rst", closed_by="broker", **facts),
        make_connection(4, connection_id="d", client="10.0.0.9:1", close_reason="fin"),
    ]
    first, second = report_rows(tables_of_items(*connections), "tcp")

    assert [first[name] for name in ("connections", "refused", "no_answer", "reset")] == [
        3,
        1,
        1,
        1,
    ]
    assert [first[name] for name in ("again", "missing_bytes", "short")] == [2, 5, 1]
    assert (second["client_host"], second["refused"]) == ("10.0.0.9", 0)
    assert first["retransmits"] is None  # nobody followed it


@pytest.mark.thorough
def test_what_tcp_did_is_added_up_over_connections_and_directions() -> None:
    """Losses and closed windows come first among connections that were made."""
    quiet = TcpFacts(requests=TcpDirection(), responses=TcpDirection())
    lossy = TcpFacts(
        requests=TcpDirection(segments=9, retransmits=2, timeouts=1, window_full_ns=3 * MS),
        responses=TcpDirection(zero_windows=1, stalled_ns=5 * MS, window_closed_ns=2 * MS),
        client_rtt_ns=1000,
        broker_rtt_ns=MS,
    )
    connections = [
        make_connection(1, connection_id="a", tcp=quiet),
        make_connection(2, connection_id="b", client="10.0.0.9:1", tcp=lossy),
        make_connection(3, connection_id="c", client="10.0.0.9:2", tcp=lossy),
    ]
    first, second = report_rows(tables_of_items(*connections), "tcp")

    assert (first["client_host"], first["connections"]) == ("10.0.0.9", 2)
    summed = ("segments", "retransmits", "timeouts", "zero_windows", "stalled_ms", "window_ms")
    assert [first[name] for name in summed] == [18, 4, 2, 2, 10, 10]
    assert (first["rtt_us"], second["rtt_us"], second["retransmits"]) == (1001, None, 0)


@cache
def reference(name: str) -> dict[str, pa.Table]:
    """Return the tables of a recorded capture."""
    return tables_of([FOLDER / f"{name}.pcap"])


@pytest.mark.thorough
@has_reference
def test_the_quota_of_a_recording_throttles_its_client() -> None:
    """20 kB/s for slow-app: its requests wait for nothing else."""
    (row,) = report_rows(reference("quota_throttled_java"), "waits")

    assert (row["client_id"], row["api"], row["throttled"]) == ("slow-app", "Produce", 5)
    slow = report_rows(reference("quota_throttled_java"), "slow", rows="4")
    assert {each["why"] for each in slow} == {"throttled", "queue"}
    assert {each["client_id"] for each in slow} == {"slow-app"}


@pytest.mark.thorough
@has_reference
def test_a_fetch_that_waits_for_more_bytes_is_at_its_limit() -> None:
    """fetch.min.bytes=100000 and fetch.max.wait.ms=1500, as its consumer was told."""
    rows = report_rows(reference("delayed_fetch_java"), "waits")
    waiting = [row for row in rows if row["min_bytes"] == 100_000]

    assert waiting
    assert all(row["allowed_wait_ms"] == 1_500 for row in waiting)
    assert sum(row["at_limit"] for row in waiting) > 0


@pytest.mark.thorough
@has_reference
def test_the_keys_of_a_recording_carry_what_was_written() -> None:
    """40 records three times, with values of 567 bytes each time, as their writer said."""
    tables = tables_of([FOLDER / "compaction_java.pcap"], WITH_RECORDS)
    rows = [row for row in report_rows(tables, "hot_keys") if row["flow"] == "produce"]

    assert sum(row["records"] for row in rows) == 3 * 40
    assert sum(row["bytes"] for row in rows) == 3 * 567 + sum(
        len(row["key"]) * row["records"] for row in rows
    )
    assert {(row["topic"], row["partitions"], row["unread"]) for row in rows} == {
        ("compacted2", 1, 0)
    }


@pytest.mark.thorough
@has_reference
def test_a_recording_has_all_bytes_in_its_only_partition() -> None:
    """400 records in one partition, as the broker counted them."""
    rows = report_rows(reference("pipelined_tiny_java"), "hot")
    written = [row for row in rows if row["flow"] == "produce"]

    assert [(row["partition"], row["records"], row["times_mean"]) for row in written] == [
        (0, 400, 1.0)
    ]
