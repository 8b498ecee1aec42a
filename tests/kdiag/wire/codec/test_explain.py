from kdiag.wire.api.fetch import FetchRequest
from kdiag.wire.api.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kdiag.wire.codec.explain import NO_SPAN, explain, float_json
from kdiag.wire.codec.messages import encode

METADATA = MetadataResponse(
    brokers=[MetadataResponseBroker(node_id=1, host="b1", port=9092)],
    cluster_id="c",
    unknown_tagged_fields={77: b"new"},
)


def test_spans_cover_every_byte_once() -> None:
    """Spans follow one another without hole or overlap, and end where the message does."""
    data = encode(METADATA, 12)
    explained = explain(MetadataResponse, 12, data)
    position = 0
    for span in explained.spans:
        assert position == span.offset
        position += span.length

    assert len(data) == position == explained.end
    assert explained.error is None


def test_a_span_says_path_and_value() -> None:
    """The path leads through arrays by index, with Kafka's own names."""
    spans = {span.path: span for span in explain(MetadataResponse, 12, encode(METADATA, 12)).spans}

    assert spans["brokers[0].host"].value == "b1"
    assert (spans["brokers[0].port"].length, spans["brokers[0].port"].value) == (4, 9092)
    assert spans["_tags[77]"].value == b"new"


def test_what_precedes_a_fault_is_kept() -> None:
    """The body holds all fields that were read, also inside the struct that broke."""
    data = encode(METADATA, 12)
    cut = explain(MetadataResponse, 12, data[:14], whole_bytes=len(data))

    assert cut.error is not None
    assert cut.error.path == "brokers[0].port"
    assert cut.body == {"throttleTimeMs": 0, "brokers": [{"nodeId": 1, "host": "b1"}]}


def test_a_count_is_held_against_the_bytes_that_were_there() -> None:
    """Without word of missing bytes, a count that cannot be true is the fault."""
    found = explain(MetadataResponse, 12, encode(METADATA, 12)[:14]).error

    assert found is not None
    assert found.path == "brokers"


def test_a_tag_with_a_wrong_size_is_refused() -> None:
    """A known tag must take exactly the bytes that it states."""
    data = encode(FetchRequest(cluster_id="ab"), 12)
    assert data.endswith(bytes.fromhex("01 00 03 03") + b"ab")
    wrong = data[:-4] + bytes.fromhex("04 03") + b"abc"

    found = explain(FetchRequest, 12, wrong).error
    assert found is not None
    assert (found.path, found.why) == ("clusterId", "the tag states 4 bytes, its field takes 3")


def test_floats_that_json_lacks_are_named() -> None:
    """NaN and the infinities become Kafka's strings."""
    assert [float_json(float(value)) for value in ("nan", "inf", "-inf", "1.5")] == [
        "NaN",
        "Infinity",
        "-Infinity",
        1.5,
    ]


def test_only_the_spans_that_are_wanted_are_kept() -> None:
    """The body is the same; arrays of numbers are read at once and need no span each."""
    partition = MetadataResponsePartition(replica_nodes=list(range(1000)))
    message = MetadataResponse(topics=[MetadataResponseTopic(name="t", partitions=[partition])])
    data = encode(message, 12)
    everything = explain(MetadataResponse, 12, data)
    brief = explain(MetadataResponse, 12, data, only="name")
    nothing = explain(MetadataResponse, 12, data, only=NO_SPAN)

    assert brief.body == nothing.body == everything.body
    assert brief.end == nothing.end == everything.end
    assert {span.path for span in brief.spans} == {"topics[0].name"}
    assert nothing.spans == []
    assert len(everything.spans) > 1000


def test_a_fault_keeps_no_caller_alive() -> None:
    """The error has no traceback: it would hold the frames of all who asked."""
    found = explain(MetadataResponse, 12, b"\0").error

    assert found is not None
    assert found.__traceback__ is None
