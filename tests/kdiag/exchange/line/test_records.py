from typing import Any

from kdiag.exchange.line.records import records_text
from kdiag.wire.primitives import uuid_text
from kdiag.wire.records.batches import read_batches
from made_values.exchange_line import Values, written_line
from recordings.exchange_maker import make_batch
from tiers.cases import for_each

ORDERS_ID = bytes(range(16))
NAMES = {uuid_text(ORDERS_ID): "orders"}


def produced(records: bytes, topic: str = "orders", **fields: Any) -> Values:
    """Return a Produce request of one partition."""
    partition = {"index": 0, "records": records}
    return {"acks": 1, "topic_data": [{"name": topic, "partition_data": [partition]}]} | fields


def fetched(*partitions: Values) -> Values:
    """Return a Fetch response about one topic."""
    return {"responses": [{"topic": "orders", "partitions": list(partitions)}]}


@for_each(("acks", "text"), [(0, "0, no response"), (1, "1"), (-1, "all"), (7, "7")])
def test_a_produce_tells_partitions_records_bytes_and_acks(acks: int, text: str) -> None:
    """What a producer sends and how safe it wants it to be is on the line."""
    batch = make_batch(b"one", b"two")

    said = written_line("Produce", 9, produced(batch, acks=acks))

    assert said == f"orders[0] 2 records {len(batch)} B, acks {text}"


def test_a_produce_tells_codec_and_transaction() -> None:
    """Compression and transactional id stand beside the records."""
    batch = make_batch(b"x" * 2000, compression="gzip", is_transactional=True, producer_id=5)

    said = written_line("Produce", 9, produced(batch, transactional_id="pay-1"))

    assert said == (
        f"orders[0] 1 record {len(batch)} B gzip transactional, acks 1, transaction pay-1"
    )


def test_an_answer_to_a_produce_tells_where_the_records_are() -> None:
    """Offsets are told for those partitions that took their records."""
    partitions = [{"index": 0, "base_offset": 120}, {"index": 1, "base_offset": 9, "error_code": 3}]
    answered = {"responses": [{"name": "orders", "partition_responses": partitions}]}

    assert written_line("Produce", 9, None, answered) == "at 120"
    refused = {"responses": [{"name": "orders", "partition_responses": partitions[1:]}]}
    assert written_line("Produce", 9, None, refused) == ""


def test_a_topic_id_is_told_as_its_name() -> None:
    """Since version 13 a Produce carries ids, which people cannot read."""
    topic = {"topic_id": ORDERS_ID, "partition_data": [{"index": 2}]}

    said = written_line("Produce", 13, {"acks": -1, "topic_data": [topic]}, names=NAMES)

    assert said == "orders[2], acks all"


def test_a_fetch_tells_offsets_and_how_long_it_may_wait() -> None:
    """Each partition stands with the offset it is read from."""
    partitions = [{"partition": 0, "fetch_offset": 10}, {"partition": 3, "fetch_offset": 7}]
    asked = {"max_wait_ms": 500, "topics": [{"topic": "orders", "partitions": partitions}]}

    assert written_line("Fetch", 11, asked) == "orders[0@10,3@7], wait 500 ms"


def test_a_fetch_of_a_follower_tells_its_replica() -> None:
    """Old versions carry the replica's id in one place, new ones in another."""
    topics = [{"topic": "orders", "partitions": [{"partition": 0}]}]

    assert written_line("Fetch", 11, {"replica_id": 2, "topics": topics}) == (
        "replica 2: orders[0@0], wait 0 ms"
    )
    by_id = [{"topic_id": ORDERS_ID, "partitions": [{"partition": 0}]}]
    asked = {"replica_state": {"replica_id": 3}, "topics": by_id}
    assert written_line("Fetch", 17, asked, names=NAMES) == "replica 3: orders[0@0], wait 0 ms"


def test_an_incremental_fetch_tells_what_its_session_reads() -> None:
    """Without the session's beginning only its number can be told."""
    asked = {"session_id": 77, "session_epoch": 5, "max_wait_ms": 100}
    session = [("orders", 0), ("orders", 1)]

    assert written_line("Fetch", 11, asked, session_topics=session) == "orders[0,1], wait 100 ms"
    assert written_line("Fetch", 11, asked) == "session 77, wait 100 ms"
    last = asked | {"session_epoch": -1}
    assert written_line("Fetch", 11, last) == "closes session 77, wait 100 ms"


def test_a_fetch_tells_what_its_session_forgets() -> None:
    """A partition that is paused or lost leaves the session by name."""
    forgotten = [{"topic": "orders", "partitions": [1]}]
    asked = {"session_id": 77, "session_epoch": 5, "forgotten_topics_data": forgotten}

    assert written_line("Fetch", 11, asked) == "session 77, without orders[1], wait 0 ms"


def test_an_answer_to_a_fetch_tells_records_and_high_watermark() -> None:
    """The high watermark is told where it is that of one partition."""
    batch = make_batch(b"one")
    one = {"partition_index": 0, "high_watermark": 42, "records": batch}
    other = {"partition_index": 1, "high_watermark": 9, "records": batch + batch}

    assert written_line("Fetch", 11, None, fetched(one)) == f"1 record {len(batch)} B, HW 42"
    both = written_line("Fetch", 11, None, fetched(one, other))
    assert both == f"3 records {3 * len(batch)} B"


def test_an_empty_answer_to_a_fetch_is_nothing_new_unless_it_is_an_error() -> None:
    """An error speaks for itself."""
    assert written_line("Fetch", 11, None, fetched({"high_watermark": 4})) == "nothing new"
    assert written_line("Fetch", 11, None, fetched({"error_code": 1, "high_watermark": -1})) == ""


def test_several_codecs_and_control_batches_are_told_once_each() -> None:
    """What makes a batch special is said of the whole message."""
    data = make_batch(b"a", compression="lz4") + make_batch(b"b", compression="zstd")
    control = make_batch(b"c", is_control=True, is_transactional=True, producer_id=1)

    said = records_text([read_batches(data)[0], None, read_batches(control)[0]])

    assert said.startswith("3 records ")
    assert said.endswith(" lz4 zstd transactional control")


def test_no_batches_say_nothing() -> None:
    """A message without records adds no words."""
    assert records_text([None, []]) == ""


@for_each(
    ("timestamp", "text"),
    [
        (-1, "latest"),
        (-2, "earliest"),
        (-3, "max timestamp"),
        (-4, "earliest local"),
        (-5, "latest tiered"),
        (1_700_000_000_000, "1700000000000"),
    ],
)
def test_a_list_offsets_tells_the_special_times_by_name(timestamp: int, text: str) -> None:
    """Negative timestamps have meanings, others are timestamps."""
    partitions = [{"partition_index": 0, "timestamp": timestamp}]

    said = written_line(
        "ListOffsets", 7, {"topics": [{"name": "orders", "partitions": partitions}]}
    )

    assert said == f"orders[0 {text}]"


def test_an_answer_to_list_offsets_tells_the_offsets() -> None:
    """An offset below zero is none, an error is told elsewhere, version 0 has lists."""
    partitions = [{"offset": 17}, {"offset": -1}, {"offset": 3, "error_code": 6}]
    answered = {"topics": [{"name": "orders", "partitions": partitions}]}
    old = {"topics": [{"name": "orders", "partitions": [{"old_style_offsets": [9, 0]}]}]}

    assert written_line("ListOffsets", 7, None, answered) == "17, none"
    assert written_line("ListOffsets", 0, None, old) == "9 0"


@for_each(
    ("version", "asked", "text"),
    [
        (0, {"topics": []}, "all topics"),
        (1, {"topics": None}, "all topics"),
        (1, {"topics": []}, "brokers only"),
        (1, {"topics": [{"name": "orders"}, {"name": "audit"}]}, "orders audit"),
    ],
)
def test_a_metadata_request_tells_whether_it_wants_all_topics(
    version: int, asked: Values, text: str
) -> None:
    """An empty list means all topics in version 0 and none since."""
    assert written_line("Metadata", version, asked) == text


def test_an_answer_to_metadata_counts_what_the_cluster_has() -> None:
    """Brokers, controller, topics and partitions are there where they are told."""
    topics = [{"name": "orders", "partitions": [{}, {}]}, {"name": "audit", "partitions": [{}]}]
    whole = {"brokers": [{}, {}], "controller_id": 2, "topics": topics}

    assert (
        written_line("Metadata", 9, None, whole)
        == "2 brokers, controller 2, 2 topics, 3 partitions"
    )
    assert written_line("Metadata", 9, None, {"brokers": [{}]}) == "1 broker"


def test_an_offset_for_leader_epoch_tells_epochs_and_their_ends() -> None:
    """A follower that truncates its log asks where an epoch ended."""
    asked = {"topics": [{"topic": "orders", "partitions": [{"partition": 1, "leader_epoch": 4}]}]}
    answered = {"topics": [{"topic": "orders", "partitions": [{"end_offset": 99}]}]}

    assert (
        written_line("OffsetForLeaderEpoch", 4, asked, answered) == "orders[1 epoch 4] → ends at 99"
    )
    assert written_line("OffsetForLeaderEpoch", 4, None, {"topics": []}) == ""


def test_a_delete_records_tells_up_to_where() -> None:
    """An offset of -1 stands for everything."""
    partitions = [{"partition_index": 0, "offset": 50}, {"partition_index": 1, "offset": -1}]
    asked = {"topics": [{"name": "orders", "partitions": partitions}]}

    assert written_line("DeleteRecords", 2, asked) == "orders[0 before 50,1 all]"


def test_a_share_fetch_tells_group_partitions_and_acknowledgements() -> None:
    """One type may stand for a whole range of offsets, or each offset has its own."""
    batches = [
        {"first_offset": 0, "last_offset": 9, "acknowledge_types": [1]},
        {"first_offset": 10, "last_offset": 11, "acknowledge_types": [2, 3]},
    ]
    partition = {"partition_index": 0, "acknowledgement_batches": batches}
    topics = [{"topic_id": ORDERS_ID, "partitions": [partition]}]
    asked = {"group_id": "g", "max_wait_ms": 500, "topics": topics}

    text = written_line("ShareFetch", 1, asked, names=NAMES)

    assert text == "group g, orders[0], accept 10 release 1 reject 1, wait 500 ms"


def test_an_answer_to_a_share_fetch_tells_what_was_acquired() -> None:
    """Records that come and records that are acquired are not the same number."""
    batch = make_batch(b"a", b"b", b"c")
    partition = {"records": batch, "acquired_records": [{"first_offset": 1, "last_offset": 2}]}
    answered = {"responses": [{"topic_id": ORDERS_ID, "partitions": [partition]}]}

    assert written_line("ShareFetch", 1, None, answered) == f"3 records {len(batch)} B, 2 acquired"
    assert written_line("ShareFetch", 1, None, {}) == "nothing new"
    assert written_line("ShareFetch", 1, None, {"error_code": 15}) == ""


def test_a_share_acknowledge_tells_what_is_done() -> None:
    """A type of acknowledgement that is not known is told by its number."""
    batches = [{"first_offset": 5, "last_offset": 5, "acknowledge_types": [9]}]
    partition = {"partition_index": 2, "acknowledgement_batches": batches}
    topics = [{"topic_id": ORDERS_ID, "partitions": [partition]}]

    said = written_line("ShareAcknowledge", 1, {"group_id": "g", "topics": topics}, names=NAMES)

    assert said == "group g, orders[2], 9 1"


def test_producers_and_described_topics_are_counted() -> None:
    """The answers of two administrators' requests are told by their size."""
    producers: Values = {"active_producers": [{}, {}]}
    found = {"topics": [{"name": "orders", "partitions": [producers]}]}
    asked = {"topics": [{"name": "orders", "partition_indexes": [0, 1]}]}
    assert written_line("DescribeProducers", 0, asked, found) == "orders[0,1] → 2 producers"

    described = {"topics": [{"name": "orders", "partitions": [{}, {}]}]}
    said = written_line("DescribeTopicPartitions", 0, {"topics": [{"name": "orders"}]}, described)
    assert said == "orders → 1 topic, 2 partitions"
