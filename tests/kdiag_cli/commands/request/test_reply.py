"""Replies, one by one."""

from kdiag.client.cluster_client import Answer
from kdiag.errors import ConnectError, Fault, Layer, RequestTimeoutError
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.documents.body import Bodies, BodyForm
from kdiag.wire.frame import Frame
from kdiag_cli.commands.request.reply import AskedNode, Reply, frame_hex, reply_of
from kdiag_cli.output.result import milliseconds

BROKER = AskedNode(2, "kafka-2:9092", "Metadata")


def test_who_was_asked_is_told_by_number_and_address() -> None:
    """A bootstrap server may have no number."""
    assert str(BROKER) == "broker 2 (kafka-2:9092)"
    assert str(AskedNode(None, "kafka:9092", "Metadata")) == "kafka:9092"


def test_a_reply_is_a_line() -> None:
    """With version, time and error, as far as there are any."""
    assert Reply(BROKER, 13, 1_234_567).title == "broker 2 (kafka-2:9092): Metadata v13, 1.23 ms"
    assert Reply(BROKER, 13, 1, error_name="X").title.endswith(" v13, 0.0 ms, X")
    assert Reply(BROKER).title == "broker 2 (kafka-2:9092): Metadata, no response"


def test_an_error_in_the_answer_is_a_finding() -> None:
    """So that alerts can name it."""
    finding = Reply(BROKER, 13, 1, {}, error_name="INVALID_REQUEST").finding
    assert finding is not None
    assert finding.id == "KD5003"
    assert finding.title == "broker 2 (kafka-2:9092) answered Metadata v13 with INVALID_REQUEST"
    assert finding.fix.startswith("kdiag errcode INVALID_REQUEST")


def test_a_broker_that_cannot_be_reached_is_a_finding_of_its_own() -> None:
    """Any other failure is none: its text says all there is."""
    refused = ConnectError("kafka-2:9092", Layer.TCP, "refused", fault=Fault.REFUSED)
    finding = Reply(BROKER, error=refused).finding
    assert finding is not None
    assert finding.id == "KD1101"
    assert Reply(BROKER, error=RequestTimeoutError("late")).finding is None
    assert Reply(BROKER, 13, 1, {}).finding is None


def test_the_document_has_every_key() -> None:
    """The error is Kafka's name, or why there was no answer."""
    frame = Frame(b"\1\2", 2, 0, 0)
    assert Reply(BROKER, 13, 2_000_000, {"a": 1}, frame=frame).document(with_bytes=True) == {
        "node_id": 2,
        "address": "kafka-2:9092",
        "api": "Metadata",
        "version": 13,
        "rtt_ms": 2.0,
        "response": {"a": 1},
        "error": None,
        "request_bytes": "000000020102",
    }
    failed = Reply(BROKER, error=RequestTimeoutError("no answer in time"))
    document = failed.document(with_bytes=False)
    assert (document["response"], document["error"]) == (None, "no answer in time")
    assert "request_bytes" not in document


def test_a_failure_has_neither_body_nor_frame() -> None:
    """Nothing crossed the wire that could be shown."""
    error = RequestTimeoutError("late")
    bodies = Bodies(TopicNames(), BodyForm())
    assert reply_of(BROKER, Answer(None, error), None, bodies) == Reply(BROKER, error=error)


def test_frames_are_shown_with_their_length() -> None:
    """What does not exist is not shown."""
    assert frame_hex(Frame(b"abc", 3, 0, 0)) == "00000003616263"
    assert (frame_hex(None), milliseconds(None)) == (None, None)
