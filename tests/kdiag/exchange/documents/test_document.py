import json
from typing import Any

import pytest

from kdiag.exchange.context.broker_ids import BrokerIds
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import BodyForm
from kdiag.exchange.documents.document import (
    SCALARS,
    Clockface,
    DocumentEncoder,
    Documents,
    in_us,
)
from kdiag.exchange.model import Exchange, Gap, Protocol, Sighting, Status, TlsAlert
from kdiag.wire.api.fetch import FetchRequest, FetchResponse, FetchTopic
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from recordings.exchange_maker import (
    BROKER,
    CLIENT,
    START_NS,
    make_batch,
    make_connection,
    make_exchange,
)

TOPIC_ID = bytes(15) + b"\x09"


def line_of(exchange: Exchange, names: TopicNames | None = None, **form: bool) -> dict[str, Any]:
    """Return an exchange as its JSON line says it, through the encoder and back."""
    documents = Documents(names or TopicNames(), BodyForm(**form))
    document = documents.exchange(Dissection(exchange))
    line: dict[str, Any] = json.loads(DocumentEncoder().encode(document))
    return line


def test_an_exchange_has_the_keys_and_types_of_schema_1() -> None:
    """This is the contract with scripts: renaming a key is a new schema number."""
    asked = FindCoordinatorRequest(key="billing")
    answered = FindCoordinatorResponse(error_code=15, node_id=-1, port=-1)
    assert line_of(make_exchange(asked, answered, version=1)) == {
        "schema": 1,
        "kind": "exchange",
        "number": 1,
        "time": "2026-01-02T03:04:05.000000006Z",
        "connection": 1,
        "connection_id": f"tcp-{CLIENT}-{BROKER}-{START_NS}",
        "client": "10.0.0.1:40000",
        "broker": "10.0.0.2:9092",
        "client_id": "app",
        "api_key": 10,
        "api": "FindCoordinator",
        "version": 1,
        "correlation_id": 7,
        "status": "ok",
        "latency_us": 2500,
        "error": "COORDINATOR_NOT_AVAILABLE",
        "transfer_us": 0,
        "end_time": "2026-01-02T03:04:05.002500006Z",
        "topic_names": {},
        "request": {
            "status": "ok",
            "frame": {
                "bytes": 23,
                "segments": 1,
                "first_packet": 1,
                "last_packet": 1,
                "starts_in_segment_with": 0,
                "gap_bytes": 0,
            },
            "body": {"key": "billing", "keyType": 0},
        },
        "response": {
            "status": "ok",
            "frame": {
                "bytes": 22,
                "segments": 1,
                "first_packet": 2,
                "last_packet": 2,
                "starts_in_segment_with": 0,
                "gap_bytes": 0,
            },
            "body": {
                "throttleTimeMs": 0,
                "errorCode": 15,
                "errorMessage": "",
                "nodeId": -1,
                "host": "",
                "port": -1,
            },
        },
    }


def test_the_keys_of_a_line_stand_in_the_documented_order() -> None:
    """Scalars first, then what is made of parts."""
    line = line_of(make_exchange(FindCoordinatorRequest(), version=1))
    assert tuple(line)[: len(SCALARS)] == SCALARS
    assert list(line)[len(SCALARS) :] == ["topic_names", "request", "response"]


def test_what_is_not_there_is_null() -> None:
    """A response alone has neither API nor latency nor request; a token has a reason, no body."""
    alone = make_exchange(None, b"\0\0\0\7", version=None, pairing=Status.UNMATCHED, client_id=None)
    line = line_of(alone)
    nulls = ("client_id", "api_key", "api", "version", "latency_us", "error", "request")
    assert [line[key] for key in nulls] == [None] * len(nulls)
    assert line["status"] == "unmatched"
    assert line["response"]["body"] is None
    assert set(line["response"]["why"]) == {"offset", "path", "reason"}


def test_names_of_topic_ids_and_sessions_are_told() -> None:
    """Ids without a name are left out; an incremental fetch says what its session reads."""
    names = TopicNames()
    topic = MetadataResponseTopic(name="orders", topic_id=TOPIC_ID)
    answered = MetadataResponse(topics=[topic])
    names.learn(Dissection(make_exchange(MetadataRequest(), answered, version=12)))
    topics = [FetchTopic(topic_id=TOPIC_ID), FetchTopic(topic_id=bytes(16 * [8]))]
    exchange = make_exchange(FetchRequest(topics=topics), FetchResponse(), version=13)
    assert line_of(exchange, names)["topic_names"] == {"AAAAAAAAAAAAAAAAAAAACQ": "orders"}
    exchange.session_topics = [("AAAAAAAAAAAAAAAAAAAACQ", 3)]
    assert line_of(exchange, names)["session_topics"] == [["AAAAAAAAAAAAAAAAAAAACQ", 3]]


def test_what_was_found_by_trial_is_marked() -> None:
    """A response without its request may fit one API and version exactly."""
    exchange = make_exchange(None, FindCoordinatorResponse(), version=1)
    exchange.pairing = Status.UNMATCHED
    assert "guessed" not in line_of(exchange)
    exchange.guessed = True
    line = line_of(exchange)
    assert (line["guessed"], line["status"], line["api"]) == (True, "unmatched", "FindCoordinator")


def test_what_a_tls_handshake_tells_is_in_the_document_of_its_connection() -> None:
    """Cipher suite, protocol and alerts, where it tells them."""
    alert = TlsAlert("client", "fatal", "unknown_ca")
    documents = Documents(TopicNames(), BodyForm())
    assert not {"tls_cipher_suite", "tls_alpn", "tls_alerts"} & set(
        documents.connection(make_connection())
    )
    told = documents.connection(
        make_connection(tls_cipher_suite="X", tls_alpn="kafka", tls_alerts=(alert,))
    )
    assert (told["tls_cipher_suite"], told["tls_alpn"]) == ("X", "kafka")
    assert told["tls_alerts"] == [{"sender": "client", "level": "fatal", "name": "unknown_ca"}]


def test_records_that_cannot_be_read_make_the_exchange_malformed() -> None:
    """That shows when they are asked for."""
    bad = bytearray(make_batch(b"one"))
    bad[-1] = 0x7F  # a number of record headers below zero
    topic = TopicProduceData("t", partition_data=[PartitionProduceData(records=bytes(bad))])
    exchange = make_exchange(ProduceRequest(topic_data=[topic]), version=3)
    assert line_of(exchange)["status"] == "ok"
    line = line_of(exchange, values=True)
    assert (line["status"], line["request"]["status"]) == ("malformed", "malformed")
    assert line["request"]["why"]["path"].startswith("topicData[0].partitionData[0].records[0]")


def test_the_text_of_an_exchange_is_that_of_its_document() -> None:
    """With records in many batches, wrong ones, strings that are not Unicode, and without."""
    wrong = make_batch(b"one")[:-1] + b"\x7f"
    name = b"\xfft".decode(errors="surrogateescape")
    exchanges = [
        produce_exchange("t", make_batch(b"one", b"\0\xff") + make_batch(b"two"), make_batch(b"3")),
        produce_exchange("t", make_batch(b"one"), wrong, None, b""),
        produce_exchange(name, make_batch(b"one"), make_batch(b"two")),
        make_exchange(FetchRequest(), FetchResponse(), version=13),
    ]
    for form in (BodyForm(), BodyForm(values=True), BodyForm(raw=True)):
        documents, encoder = Documents(TopicNames(), form), DocumentEncoder()
        for exchange in exchanges:
            dissection = Dissection(exchange)
            text = b"".join(documents.exchange_text(dissection))
            assert text == encoder.encode(documents.exchange(dissection))
            assert json.loads(text)["kind"] == "exchange"


@pytest.mark.thorough
def test_much_text_comes_in_pieces() -> None:
    """Beyond 16 MB it is made of each batch when its turn has come."""
    letters = b"abcdefghij" * 90_000
    batches = [make_batch(letters[index:]) for index in range(25)]
    dissection = Dissection(produce_exchange("t", b"".join(batches), make_batch(b"last")))
    documents = Documents(TopicNames(), BodyForm(values=True))
    sizes, text = [], b""
    for piece in documents.exchange_text(dissection):
        sizes.append(len(piece))
        text += piece
    assert len(text) > len(letters) * 24
    assert max(sizes) < len(letters) * 2
    assert text == DocumentEncoder().encode(documents.exchange(dissection))


def produce_exchange(name: str, *records: bytes | None) -> Exchange:
    """Return a Produce without answer, with as many partitions as there are `records` fields."""
    partitions = [PartitionProduceData(index, each) for index, each in enumerate(records)]
    topic = TopicProduceData(name, partition_data=partitions)
    return make_exchange(ProduceRequest(topic_data=[topic]), version=3)


def test_a_gap_and_a_connection_have_their_keys() -> None:
    """The other two kinds of lines."""
    connection = make_connection(
        protocol=Protocol.TLS,
        tls_version="TLS 1.3",
        sni="broker",
        request_bytes=100,
        response_bytes=20,
        close_reason="fin",
        client_software=("librdkafka", "2.3"),
    )
    documents = Documents(TopicNames(), BodyForm())
    gap = Gap(
        connection=connection,
        direction="response",
        time_ns=START_NS,
        offset=5,
        size=9,
        reason="lost",
    )
    document = documents.gap(gap)
    assert document == {
        "schema": 1,
        "kind": "gap",
        "connection": 1,
        "connection_id": connection.connection_id,
        "direction": "response",
        "time": "2026-01-02T03:04:05.000000006Z",
        "offset": 5,
        "bytes": 9,
        "reason": "lost",
    }
    document = documents.connection(connection)
    facts = {key: document[key] for key in ("kind", "protocol", "tls_version", "sni", "bytes")}
    assert facts == {
        "kind": "connection",
        "protocol": "tls",
        "tls_version": "TLS 1.3",
        "sni": "broker",
        "bytes": 120,
    }
    counts = ("requests", "responses", "close_reason", "client_software", "client", "broker")
    assert [document[key] for key in counts] == [0, 0, "fin", "librdkafka 2.3", CLIENT, BROKER]


def test_the_other_addresses_of_a_connection_are_in_its_document() -> None:
    """Only where there are any."""
    documents = Documents(TopicNames(), BodyForm())
    sighting = Sighting(client="c:1", broker="d:2", request_hop_ns=31_500)
    document = documents.connection(make_connection(sightings=[sighting]))

    assert document["sightings"] == [
        {"client": "c:1", "broker": "d:2", "request_hop_us": 31.5, "response_hop_us": None}
    ]
    assert "sightings" not in documents.connection(make_connection())


def test_bytes_that_are_not_utf_8_are_replaced_not_refused() -> None:
    """A group id may be any bytes; JSON is Unicode."""
    asked = FindCoordinatorRequest(key=b"\xffgroup".decode(errors="surrogateescape"))
    exchange = make_exchange(asked, version=0)
    assert line_of(exchange)["request"]["body"]["key"] == "\ufffdgroup"
    spoiled = {"a": ["\udcff"], "b": ("\udcff",)}
    assert json.loads(DocumentEncoder().encode(spoiled)) == {"a": ["\ufffd"], "b": ["\ufffd"]}


def test_times_keep_their_nanoseconds() -> None:
    """Within a second, over its end, and where a stamp is beyond what a calendar holds."""
    clock = Clockface()
    assert clock.text(START_NS) == "2026-01-02T03:04:05.000000006Z"
    assert clock.text(START_NS + 1) == "2026-01-02T03:04:05.000000007Z"
    assert clock.text(START_NS + 1_000_000_000) == "2026-01-02T03:04:06.000000006Z"
    assert clock.text(1 << 62) == "2116-02-20T23:53:38.427387904Z"
    assert clock.text((1 << 62) * 90).startswith("1970-01-01T00:00:00.")


def test_latencies_are_whole_microseconds_where_the_stamps_are() -> None:
    """A capture with nanoseconds gives fractions."""
    exchange = make_exchange(FindCoordinatorRequest(), FindCoordinatorResponse(), version=1)
    assert in_us(exchange.latency_ns) == 2500
    assert exchange.response is not None
    exchange.response.first_byte_ns += 250
    assert in_us(exchange.latency_ns) == 2500.25
    assert in_us(None) is None


def test_a_response_that_takes_long_to_arrive_says_so_beside_its_latency() -> None:
    """The latency ends at its first byte; the transfer and the end come after it."""
    exchange = make_exchange(FindCoordinatorRequest(), FindCoordinatorResponse(), version=1)
    assert exchange.response is not None
    exchange.response.last_byte_ns += 4_070_000_000
    line = line_of(exchange)
    assert (line["latency_us"], line["transfer_us"]) == (2500, 4_070_000)
    assert line["end_time"] == "2026-01-02T03:04:09.072500006Z"


def test_an_api_that_is_not_known_has_no_name() -> None:
    """Its key is all that is told."""
    exchange = make_exchange(FindCoordinatorRequest(), version=1)
    exchange.api_key = 999
    assert Dissection(exchange).api is None


def test_a_broker_s_node_id_is_told_where_it_is_known() -> None:
    """By the connection, at its end."""
    told = MetadataResponseBroker(node_id=7, host="10.0.0.2", port=9092)
    answer = MetadataResponse(brokers=[told])
    exchange = make_exchange(MetadataRequest(), version=9, response=answer)
    brokers = BrokerIds()
    documents = Documents(TopicNames(), BodyForm(), brokers)
    assert "broker_id" not in documents.connection(exchange.connection)
    brokers.learn(Dissection(exchange))
    assert documents.connection(exchange.connection)["broker_id"] == 7
