from typing import Any

from kdiag.exchange.context.topic_names import CLUSTER_METADATA_ID, TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, Status
from kdiag.report.tables.batches import (
    BATCHES,
    RECORDS,
    batch_cells,
    exchange_cells,
    placed_batches,
    record_cells,
)
from kdiag.report.tables.exchanges import facts_of
from kdiag.wire.api.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kdiag.wire.api.share_fetch import (
    PartitionData as SharePartitionData,
)
from kdiag.wire.api.share_fetch import (
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from recordings.exchange_maker import make_batch, make_exchange

TOPIC_ID = bytes(range(16))
ID_TEXT = "AAECAwQFBgcICQoLDA0ODw"


def produce(*batches: bytes | None, **facts: Any) -> ProduceRequest:
    """Return a Produce request with a partition for each field of batches."""
    partitions = [
        PartitionProduceData(index=index, records=batch) for index, batch in enumerate(batches)
    ]
    topic = TopicProduceData(name="orders", topic_id=TOPIC_ID, partition_data=partitions)
    return ProduceRequest(topic_data=[topic], **facts)


def batch_rows(exchange: Exchange, names: TopicNames | None = None) -> list[dict[str, Any]]:
    """Return the rows of `batches` by the names of their columns."""
    facts = facts_of(Dissection(exchange), names or TopicNames())
    columns = [column.name for column in BATCHES.columns]
    head = exchange_cells(facts)
    return [
        dict(zip(columns, head + batch_cells(facts, each), strict=True))
        for each in placed_batches(facts)
    ]


def answer(*codes: int) -> ProduceResponse:
    """Return an answer to a Produce request, with an error code for each partition."""
    parts = [
        PartitionProduceResponse(index=index, error_code=code) for index, code in enumerate(codes)
    ]
    topic = TopicProduceResponse(name="orders", topic_id=TOPIC_ID, partition_responses=parts)
    return ProduceResponse(responses=[topic])


def test_what_a_broker_refused_is_no_part_of_what_was_written() -> None:
    """Each partition has its own error, and without an answer it is not known what became of it."""
    batches = (make_batch(b"one"), make_batch(b"two"))
    many = [make_batch(b"x")] * 300
    exchanges = [
        make_exchange(produce(*batches), answer(0, 19), version=9),
        make_exchange(produce(*batches), answer(1234, 0), version=13),
        make_exchange(produce(*batches), version=9, pairing=Status.UNANSWERED),
        make_exchange(produce(*batches, acks=0), version=9, pairing=Status.NO_RESPONSE),
        make_exchange(produce(*many), answer(*[0] * 299, 87), version=9),
    ]
    rows = [[(row["flow"], row["error"]) for row in batch_rows(each)] for each in exchanges]

    assert rows[0] == [("produce", None), ("refused", "NOT_ENOUGH_REPLICAS")]
    assert rows[1] == [("refused", "UNKNOWN(1234)"), ("produce", None)]
    assert rows[2] == [("unconfirmed", None)] * 2
    assert rows[3] == [("produce", None)] * 2
    assert rows[4] == [("produce", None)] * 299 + [("refused", "INVALID_RECORD")]


def record_rows(exchange: Exchange, *, show_secrets: bool = False) -> list[dict[str, Any]]:
    """Return the rows of `records` by the names of their columns."""
    facts = facts_of(Dissection(exchange), TopicNames())
    columns = [column.name for column in RECORDS.columns]
    head = exchange_cells(facts)
    return [
        dict(zip(columns, head + cells, strict=True))
        for placed in placed_batches(facts)
        for cells in record_cells(placed, show_secrets=show_secrets)
    ]


def test_the_batches_of_a_produce_request_are_rows() -> None:
    """Partition by partition in the order of the wire, several of one partition as well."""
    one, two = make_batch(b"one", b"two", compression="gzip"), make_batch(b"three")
    request = produce(one + two, None, two, acks=1, transactional_id="t")
    rows = batch_rows(make_exchange(request, ProduceResponse(), version=9))

    assert [(row["partition"], row["batch_index"]) for row in rows] == [(0, 0), (0, 1), (2, 2)]
    first = rows[0]
    assert (first["topic"], first["topic_id"]) == ("orders", None)
    assert (first["acks"], first["transactional_id"], first["replica_id"]) == (1, "t", None)
    assert (first["record_count"], first["size_bytes"]) == (2, len(one))
    assert (first["compression"], first["magic"], first["crc_ok"]) == ("gzip", 2, True)
    assert (first["api"], first["client_id"], first["correlation_id"]) == ("Produce", "app", 7)


def test_the_batches_of_a_fetch_are_in_its_response() -> None:
    """Topics by id are called by their names where these are known."""
    partition = PartitionData(partition_index=4, records=make_batch(b"one"))
    topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[partition])
    exchange = make_exchange(FetchRequest(), FetchResponse(responses=[topic]), version=16)

    (row,) = batch_rows(exchange)
    assert (row["topic"], row["topic_id"], row["partition"]) == (ID_TEXT, ID_TEXT, 4)
    assert (row["acks"], row["replica_id"]) == (None, -1)
    (row,) = batch_rows(exchange, TopicNames({ID_TEXT: "orders"}))
    assert (row["topic"], row["topic_id"]) == ("orders", ID_TEXT)


def test_share_consumers_fetch_batches_too() -> None:
    """ShareFetch has a response of its own."""
    partition = SharePartitionData(partition_index=2, records=make_batch(b"one"))
    topic = ShareFetchableTopicResponse(topic_id=TOPIC_ID, partitions=[partition])
    response = ShareFetchResponse(responses=[topic])

    (row,) = batch_rows(make_exchange(ShareFetchRequest(), response, version=1))
    assert (row["api"], row["partition"], row["record_count"]) == ("ShareFetch", 2, 1)


def test_other_exchanges_have_no_batches() -> None:
    """Nor has a fetch without an answer."""
    assert batch_rows(make_exchange(MetadataRequest(), MetadataResponse(), version=1)) == []
    assert batch_rows(make_exchange(FetchRequest(), version=16)) == []


def test_records_are_rows() -> None:
    """Text where it is text, base64 where not, null where there is nothing."""
    records = [
        Record(0, 1_000, b"k", "v\u00e9".encode(), headers=((b"h", b"x"), (b"n", None))),
        Record(1, 1_001, None, b"\xff\x00"),
        Record(2, 1_002, b"\xfe", None),
    ]
    batch = write_batch(records, BatchHeader())
    rows = record_rows(make_exchange(produce(batch), version=9))

    assert [(row["record_index"], row["record_offset"]) for row in rows] == [(0, 0), (1, 1), (2, 2)]
    assert [row["key"] for row in rows] == ["k", None, None]
    assert [row["key_b64"] for row in rows] == [None, None, b"/g=="]
    assert [row["value"] for row in rows] == ["v\u00e9", None, None]
    assert [row["value_b64"] for row in rows] == [None, b"/wA=", None]
    assert rows[0]["headers"] == b'[["h","x"],["n",null]]'
    assert {row["fault"] for row in rows} == {None}


def test_records_that_cannot_be_read_are_one_row_that_says_why() -> None:
    """What is missing is not hidden."""
    good, bad = make_batch(b"one"), bytearray(make_batch(b"two", compression="gzip"))
    bad[-1] ^= 0xFF
    rows = record_rows(make_exchange(produce(good, bytes(bad)), version=9))

    assert [(row["partition"], row["record_offset"]) for row in rows] == [(0, 0), (1, None)]
    assert rows[0]["fault"] is None
    assert "gzip" in rows[1]["fault"]


def test_what_cannot_be_judged_in_the_metadata_log_is_redacted() -> None:
    """It may hold SCRAM credentials."""
    secret = make_batch(b"not a record of the metadata log")
    topic = FetchableTopicResponse(
        topic_id=bytes(15) + b"\x01", partitions=[PartitionData(records=secret)]
    )
    exchange = make_exchange(FetchRequest(), FetchResponse(responses=[topic]), version=16)

    (row,) = record_rows(exchange)
    assert (row["topic_id"], row["value"]) == (CLUSTER_METADATA_ID, "<redacted>")
    (row,) = record_rows(exchange, show_secrets=True)
    assert row["value"] == "not a record of the metadata log"


def test_a_batch_and_its_records_name_their_exchange_and_place_alike() -> None:
    """Their common columns are of one type, and say who, when, and which partition."""
    batches = {column.name: column.type for column in BATCHES.columns}
    records = {column.name: column.type for column in RECORDS.columns}
    common = set(batches) & set(records)

    assert {name: batches[name] for name in common} == {name: records[name] for name in common}
    assert {"connection_id", "time_ns", "client_id", "broker", "topic", "batch_index"} <= common
