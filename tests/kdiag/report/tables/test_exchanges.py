import json
from typing import Any

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.document import SCALARS
from kdiag.exchange.model import Exchange
from kdiag.report.tables.body_texts import BodyTexts
from kdiag.report.tables.exchanges import EXCHANGES, exchange_row, facts_of
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
    ReplicaState,
)
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest
from kdiag.wire.api.sasl_handshake import SaslHandshakeRequest
from recordings.exchange_maker import (
    LATENCY_NS,
    START_NS,
    cut_frame,
    make_batch,
    make_exchange,
    request_bytes,
    response_bytes,
)
from tiers.cases import for_each

TOPIC_ID = bytes(range(16))
ID_TEXT = "AAECAwQFBgcICQoLDA0ODw"


def row_of(
    exchange: Exchange, names: TopicNames | None = None, *, show_secrets: bool = False
) -> dict[str, Any]:
    """Return the row of an exchange by the names of its columns."""
    names = names or TopicNames()
    facts = facts_of(Dissection(exchange), names)
    row = exchange_row(facts, BodyTexts(names, show_secrets=show_secrets))
    return dict(zip([column.name for column in EXCHANGES.columns], row, strict=True))


def produce(batch: bytes, **facts: Any) -> ProduceRequest:
    """Return a Produce request with one batch."""
    partition = PartitionProduceData(index=1, records=batch)
    topic = TopicProduceData(name="orders", topic_id=TOPIC_ID, partition_data=[partition])
    return ProduceRequest(topic_data=[topic], **facts)


def test_an_exchange_is_a_row() -> None:
    """Who, when, what, how it went, how long it took."""
    request = HeartbeatRequest(group_id="billing", member_id="m")
    row = row_of(make_exchange(request, HeartbeatResponse(error_code=27), version=4))

    assert (row["api"], row["api_key"], row["version"]) == ("Heartbeat", 12, 4)
    assert (row["client"], row["client_host"]) == ("10.0.0.1:40000", "10.0.0.1")
    assert (row["time"], row["time_ns"]) == (START_NS // 1000, START_NS)
    assert row["latency_us"] == LATENCY_NS / 1000
    assert (row["status"], row["error"]) == ("ok", "REBALANCE_IN_PROGRESS")
    assert (row["groups"], row["topics"], row["transactional_ids"]) == (["billing"], [], [])
    assert row["throttle_ms"] == 0
    assert json.loads(row["request_body"])["groupId"] == "billing"
    assert json.loads(row["response_body"]) == {"throttleTimeMs": 0, "errorCode": 27}
    assert row["response_first_byte_ns"] == START_NS + LATENCY_NS


def test_bodies_can_be_left_out() -> None:
    """Everything else stays."""
    exchange = make_exchange(HeartbeatRequest(group_id="billing"), HeartbeatResponse(), version=4)
    facts = facts_of(Dissection(exchange), TopicNames())
    with_bodies = exchange_row(facts, BodyTexts(TopicNames()))
    without = exchange_row(facts, None)

    differing = [
        column.name
        for column, one, other in zip(EXCHANGES.columns, with_bodies, without, strict=True)
        if one != other
    ]
    assert differing == ["request_body", "response_body"]
    assert without[-1] is None


def test_a_request_without_response_has_no_facts_of_one() -> None:
    """Nor a latency."""
    row = row_of(make_exchange(HeartbeatRequest(group_id="billing"), version=4))

    assert row["latency_us"] is None
    assert all(value is None for name, value in row.items() if name.startswith("response_"))
    assert all(
        value is not None
        for name, value in row.items()
        if name.startswith("request_") and name != "request_why"
    )


def test_a_produce_request_counts_its_records() -> None:
    """Partitions, batches, records and their bytes; and acks."""
    batch = make_batch(b"one", b"two")
    row = row_of(make_exchange(produce(batch, acks=-1), ProduceResponse(), version=9))

    counts = [row[name] for name in ("partitions", "batches", "records", "records_bytes")]
    assert counts == [1, 1, 2, len(batch)]
    assert (row["acks"], row["replica_id"]) == (-1, None)
    assert row["topics"] == ["orders"]


@for_each(
    ("request_", "version", "replica_id"),
    [
        (FetchRequest(replica_id=-1), 12, -1),
        (FetchRequest(replica_id=2), 12, 2),
        (FetchRequest(), 16, -1),
        (FetchRequest(replica_state=ReplicaState(replica_id=3)), 16, 3),
    ],
)
def test_a_fetch_tells_whether_a_broker_follows(
    request_: FetchRequest, version: int, replica_id: int
) -> None:
    """From version 15 on in a tagged field (KIP-903)."""
    partition = PartitionData(partition_index=4, records=make_batch(b"one"))
    topic = FetchableTopicResponse(topic="orders", topic_id=TOPIC_ID, partitions=[partition])
    row = row_of(make_exchange(request_, FetchResponse(responses=[topic]), version=version))

    assert row["replica_id"] == replica_id
    assert (row["partitions"], row["records"]) == (1, 1)


def test_topics_are_called_by_their_names_where_these_are_known() -> None:
    """The ids are kept beside them, for who learns the names later."""
    exchange = make_exchange(produce(make_batch(b"one")), ProduceResponse(), version=13)

    assert row_of(exchange)["topics"] == [ID_TEXT]
    assert row_of(exchange, TopicNames({ID_TEXT: "orders"}))["topics"] == ["orders"]
    assert row_of(exchange)["topic_ids"] == [ID_TEXT]


def test_api_versions_tell_the_client_and_the_broker() -> None:
    """The library from version 3 on, and what the broker speaks."""
    request = ApiVersionsRequest(client_software_name="kgo", client_software_version="v1")
    ranges = [ApiVersion(api_key=1, min_version=4, max_version=17)]
    row = row_of(make_exchange(request, ApiVersionsResponse(api_keys=ranges), version=3))

    assert (row["client_software_name"], row["client_software_version"]) == ("kgo", "v1")
    assert row["broker_versions"] == [(1, 4, 17)]
    old = row_of(make_exchange(ApiVersionsRequest(), version=2))
    assert (old["client_software_name"], old["broker_versions"]) == (None, None)


def test_a_sasl_handshake_tells_the_mechanism() -> None:
    """What follows is redacted, unless secrets are asked for."""
    handshake = make_exchange(SaslHandshakeRequest(mechanism="PLAIN"), version=1)
    authenticate = make_exchange(SaslAuthenticateRequest(auth_bytes=b"\0me\0secret"), version=2)

    assert row_of(handshake)["sasl_mechanism"] == "PLAIN"
    assert b"<redacted>" in row_of(authenticate)["request_body"]
    assert b"<redacted>" not in row_of(authenticate, show_secrets=True)["request_body"]


def test_what_a_cut_message_did_not_reach_is_not_told() -> None:
    """Its default would look like a fact: acks=0 is no small thing."""
    whole = request_bytes(produce(make_batch(b"one"), acks=1), 9)
    for kept, acks in ((len(whole) - 10, 1), (15, None)):
        exchange = make_exchange(whole, version=9, api_key=0)
        exchange.request = cut_frame(whole, kept)
        row = row_of(exchange)
        assert (row["request_status"], row["acks"]) == ("partial", acks)
        offset, path, reason = row["request_why"]
        assert (offset > 0, path != "", "missing" in reason) == (True, True, True)


def test_a_cut_response_tells_no_ranges() -> None:
    """As above."""
    data = response_bytes(ApiVersionsResponse(api_keys=[ApiVersion(api_key=1)]), 3)
    exchange = make_exchange(ApiVersionsRequest(), version=3)
    exchange.response = cut_frame(data, 5)

    assert row_of(exchange)["broker_versions"] is None


def test_a_batch_that_cannot_be_read_leaves_the_count_open() -> None:
    """A compressed message of magic 1 must be opened to be counted."""
    batch = bytearray(make_batch(b"one", b"two", magic=1, compression="gzip"))
    batch[-1] ^= 0xFF
    row = row_of(make_exchange(produce(bytes(batch)), ProduceResponse(), version=2))

    assert (row["batches"], row["records"]) == (1, None)


def test_every_plain_value_of_the_document_is_a_column() -> None:
    """But for the number of its schema and its kind, which the table is."""
    columns = {column.name for column in EXCHANGES.columns}

    assert set(SCALARS) - columns == {"schema", "kind"}


def test_both_sides_have_the_same_columns() -> None:
    """So that what is asked of requests can be asked of responses."""
    names = [column.name for column in EXCHANGES.columns]
    request = [name.removeprefix("request_") for name in names if name.startswith("request_")]
    response = [name.removeprefix("response_") for name in names if name.startswith("response_")]

    assert request == response
    assert request[-1] == "body"
