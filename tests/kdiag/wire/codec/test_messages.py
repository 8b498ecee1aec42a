"""The codec against Kafka's own serializers, against itself, and against wrong bytes."""

import gzip
import json
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from folders import ORACLE
from kdiag.errors import DecodeError, EncodeError
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseBroker
from kdiag.wire.api.request_header import RequestHeader
from kdiag.wire.api.response_header import ResponseHeader
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.explain import explain
from kdiag.wire.codec.json_form import from_json, to_json
from kdiag.wire.codec.messages import decode, decode_prefix, encode, encode_parts
from kdiag.wire.record_catalog import message_class
from kdiag.wire.schema import Struct, info_of
from made_values.message_values import message_pairs, messages
from real_kafka.oracle_tables import spoken_pairs
from real_kafka.releases import OLDEST, VERSIONS
from tiers.cases import for_each
from tiers.sampling import IS_EXHAUSTIVE

# Where the newest release says a thing otherwise than the release that wrote the vector.
RENAMED = {
    "TxnOffsetCommit": {"generationId": "generationIdOrMemberEpoch"},
    "StreamsGroupHeartbeat": {"acceptableRecoveryLag": "acceptableRecoveryLagLegacy"},
}
TAGS_ADDED_LATER = {
    "ConsumerGroupCurrentMemberAssignmentValue": {"assignmentEpochs"},
    "ConsumerGroupMetadataValue": {"metadataHash"},
    "ConsumerGroupTargetAssignmentMetadataValue": {"assignmentTimestamp"},
    "OffsetCommitValue": {"topicId"},
    "RemoteLogSegmentMetadataRecord": {"txnIndexEmpty"},
    "RemoteLogSegmentMetadataSnapshotRecord": {"txnIndexEmpty"},
    "StreamsGroupMetadataValue": {
        "failedDescriptionTopologyEpoch",
        "storedDescriptionTopologyEpoch",
    },
    "TransactionLogValue": {
        "clientTransactionVersion",
        "nextProducerEpoch",
        "nextProducerId",
        "previousProducerId",
    },
}
# 3.9 had share groups as a preview, and 4.0 gave their record another shape under the same version.
REPLACED = {(OLDEST, "ShareGroupMetadataValue")}


def lines(name: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file of vectors."""
    with gzip.open(ORACLE / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def without_unknown_tags(form: object, path: str, found: list[dict[str, Any]]) -> object:
    """Return Kafka's JSON without kdiag's addition, which goes to `found` as the oracle has it."""
    if isinstance(form, list):
        return [without_unknown_tags(e, f"{path}/{i}", found) for i, e in enumerate(form)]
    if not isinstance(form, dict):
        return form
    plain = {}
    for name, value in form.items():
        if name == "_unknownTaggedFields":
            found.extend({"path": path, "tag": e["tag"], "data": e["data"]} for e in value)
        else:
            plain[name] = without_unknown_tags(value, f"{path}/{name}", found)
    return plain


def expected_form(line: dict[str, Any]) -> dict[str, Any]:
    """Return the vector's JSON with the names of the newest release."""
    names = RENAMED.get(line.get("api", ""), {})
    form = {names.get(name, name): value for name, value in line["json"].items()}
    return form if line.get("kind") in ("request", "response") else line["json"]


def without_later_tags(form: object, later: set[str]) -> object:
    """Return JSON without the tagged fields that the vector's release did not know."""
    if isinstance(form, list):
        return [without_later_tags(each, later) for each in form]
    if not isinstance(form, dict):
        return form
    return {k: without_later_tags(v, later) for k, v in form.items() if k not in later}


def check_vector(cls: type[Struct], version: int, line: dict[str, Any]) -> None:
    """Assert that kdiag reads and writes one vector as Kafka does."""
    data = bytes.fromhex(line["hex"])
    message = decode(cls, version, data)
    form = to_json(message, version)
    explained = explain(cls, version, data)
    found: list[dict[str, Any]] = []
    printed = json.loads(msgspec.json.encode(form))
    tags = [
        {"path": e["path"], "tag": e["tag"], "data": bytes.fromhex(e["hex"])}
        for e in line.get("unknown_tags", [])
    ]

    plain = without_unknown_tags(printed, "", [])
    later = TAGS_ADDED_LATER.get(line.get("schema", ""), set())
    assert expected_form(line) == plain or line["json"] == without_later_tags(plain, later)
    assert encode(message, version) == data
    assert encode(from_json(cls, version, printed), version) == data
    assert (None, len(data), form) == (explained.error, explained.end, explained.body)
    without_unknown_tags(form, "", found)
    assert sorted(tags, key=str) == sorted(found, key=str)


@pytest.mark.thorough
@pytest.mark.parametrize("values", ["vectors", "vectors-edge"])
def test_every_message_that_kafka_wrote_is_read_and_written_alike(
    values: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kafka's bytes decode to Kafka's JSON and encode back to the same bytes, for all pairs."""
    pairs, directions, count = set(), set(), 0
    for release in VERSIONS:
        for line in lines(f"{values}-{release}"):
            api = API_BY_KEY[line["api_key"]]
            is_request = line["kind"] == "request"
            cls = api.request_class() if is_request else api.response_class()
            check_vector(cls, line["version"], line)
            pairs.add((line["api_key"], line["version"]))
            directions.add((line["api_key"], line["version"], is_request))
            count += 1

    with capsys.disabled():
        sys.stdout.write(f" {values}: {count} messages, {len(pairs)} (api, version) pairs ")
    known = {
        (key, version)
        for key, api in API_BY_KEY.items()
        for version in range(api.versions.low, api.versions.high + 1)
    }
    assert known == pairs
    assert pairs == spoken_pairs()
    assert len(directions) == 2 * len(pairs)


@pytest.mark.thorough
def test_every_header_that_kafka_wrote_is_read_and_written_alike() -> None:
    """Request and response headers equal Kafka's, in the version the catalog gives for each API."""
    for release in VERSIONS:
        for line in lines(f"headers-{release}"):
            api = API_BY_KEY[line["api_key"]]
            is_request = line["kind"] == "request_header"
            of = api.request_header_version if is_request else api.response_header_version
            assert line["header_version"] == of(line["version"])

            cls: type[Struct] = RequestHeader if is_request else ResponseHeader
            check_vector(cls, line["header_version"], line)


@pytest.mark.thorough
@pytest.mark.parametrize("release", VERSIONS)
def test_every_internal_record_that_kafka_wrote_is_read_and_written_alike(release: str) -> None:
    """Log records, embedded protocols and control records equal Kafka's."""
    count = 0
    for line in lines(f"internal-{release}"):
        if (release, line["schema"]) in REPLACED:
            continue
        cls = message_class(line["schema"])
        # 4.x names a coordinator key by its record type and versions it 0; the bytes are the same.
        is_old_key = release == OLDEST and not info_of(cls).versions.covers(line["version"])
        check_vector(cls, 0 if is_old_key else line["version"], line)
        count += 1

    assert count > 0


PAIRS = sorted(message_pairs(), key=lambda pair: (pair[0].__name__, pair[1]))
PAIR_IDS = [f"{cls.__name__}-v{version}" for cls, version in PAIRS]
FEW = settings(max_examples=8, suppress_health_check=list(HealthCheck))


@pytest.mark.thorough
@pytest.mark.sampled(20)
@pytest.mark.parametrize(("cls", "version"), PAIRS, ids=PAIR_IDS)
@FEW
@given(data=st.data())
def test_any_message_survives_the_round_trip(
    cls: type[Struct], version: int, data: st.DataObject
) -> None:
    """Decoding what was encoded gives the same message, and so does the way over JSON."""
    message = data.draw(messages(cls, version))

    assert message == decode(cls, version, encode(message, version))
    assert message == from_json(cls, version, to_json(message, version))


@pytest.mark.thorough
@pytest.mark.sampled(20)
@pytest.mark.parametrize(("cls", "version"), PAIRS, ids=PAIR_IDS)
@settings(FEW, max_examples=2)
@given(data=st.data())
def test_a_message_cut_anywhere_names_the_place(
    cls: type[Struct], version: int, data: st.DataObject
) -> None:
    """Every proper prefix of a message raises DecodeError with a path and an offset inside it."""
    whole = encode(data.draw(messages(cls, version)), version)
    for size in range(min(len(whole), 600)):
        with pytest.raises(DecodeError) as caught:
            decode(cls, version, whole[:size])

        assert caught.value.path
        assert 0 <= caught.value.offset <= size


@pytest.mark.thorough
@settings(max_examples=1000 if IS_EXHAUSTIVE else 150)
@given(pair=st.sampled_from(PAIRS), data=st.data())
def test_wrong_bytes_raise_decode_error_alone(
    pair: tuple[type[Struct], int], data: st.DataObject
) -> None:
    """Changed bytes decode or raise DecodeError, and the slow reader agrees with the fast one."""
    cls, version = pair
    wrong = bytearray(encode(data.draw(messages(cls, version)), version) or b"\0")
    for place, byte in data.draw(
        st.lists(st.tuples(st.integers(0, len(wrong) - 1), st.integers(0, 255)), max_size=4)
    ):
        wrong[place] = byte
    explained = explain(cls, version, bytes(wrong))
    if explained.error is None:
        message, end = decode_prefix(cls, version, bytes(wrong))
        assert (end, to_json(message, version)) == (explained.end, explained.body)
    else:
        with pytest.raises(DecodeError) as caught:
            decode_prefix(cls, version, bytes(wrong))
        assert str(caught.value) == str(explained.error)


def test_bytes_after_a_message_are_refused_unless_a_prefix_is_asked_for() -> None:
    """Decode demands every byte; decode_prefix says where the message ended."""
    data = encode(FindCoordinatorRequest(key="g"), 2)

    with pytest.raises(DecodeError, match="2 bytes are left over"):
        decode(FindCoordinatorRequest, 2, data + b"xx")
    assert decode_prefix(FindCoordinatorRequest, 2, data + b"xx")[1] == len(data)


def test_a_message_can_start_anywhere() -> None:
    """The offset says where the message starts, and errors count from the start of the bytes."""
    data = encode(FindCoordinatorRequest(key="group"), 2)

    assert decode(FindCoordinatorRequest, 2, b"???" + data, 3).key == "group"
    with pytest.raises(DecodeError) as caught:
        decode(FindCoordinatorRequest, 2, b"???" + data[:-2], 3)
    assert caught.value.path == "key"
    assert caught.value.offset >= 5


def test_a_huge_count_is_refused_before_anything_is_allocated() -> None:
    """A count that the remaining bytes cannot hold raises, whatever it claims."""
    data = encode(MetadataResponse(), 0)

    with pytest.raises(DecodeError, match="2147483647 elements need"):
        decode(MetadataResponse, 0, b"\x7f\xff\xff\xff" + data[4:])


def test_a_string_that_is_not_utf8_keeps_its_bytes() -> None:
    """A broken string decodes with lone surrogates and encodes to the same bytes."""
    data = encode(FindCoordinatorRequest(key="abc"), 2).replace(b"abc", b"a\xffc")
    message = decode(FindCoordinatorRequest, 2, data)

    assert message.key == "a\udcffc"
    assert encode(message, 2) == data


def test_a_set_field_that_the_version_lacks_is_refused_unless_ignorable() -> None:
    """Kafka's rule: only ignorable fields are dropped silently."""
    with pytest.raises(
        EncodeError, match="keyType: version 0 has no such field, it is 1"
    ) as caught:
        encode(FindCoordinatorRequest(key="g", key_type=1), 0)
    assert caught.value.path == "keyType"

    assert encode(MetadataResponse(cluster_id="c"), 0) == encode(MetadataResponse(), 0)


@for_each(
    ("message", "version", "why"),
    [
        (FindCoordinatorRequest(key=None), 0, "key: null is not allowed in version 0"),  # type: ignore[arg-type]
        (FindCoordinatorRequest(key_type=300), 1, "keyType: 300 is not of type int8"),
        (FindCoordinatorRequest(key="x" * 40000), 1, "key: 40000 bytes are more than"),
        (FindCoordinatorRequest(key=b"g"), 1, "key: expected str, got bytes"),  # type: ignore[arg-type]
        (
            MetadataResponse(brokers=[MetadataResponseBroker(host=3)]),  # type: ignore[arg-type]
            1,
            r"brokers\[0\].host: expected str, got int",
        ),
        (FetchRequest(unknown_tagged_fields={1: b""}), 3, "version 3 has no tagged fields"),
        (FetchRequest(unknown_tagged_fields={0: b""}), 12, "tag 0 is a field that version 12"),
    ],
)
def test_what_cannot_be_written_is_named(message: Struct, version: int, why: str) -> None:
    """An EncodeError says which field is at fault and why."""
    with pytest.raises(EncodeError, match=why):
        encode(message, version)


def test_a_version_that_does_not_exist_is_the_callers_mistake() -> None:
    """Asking for an unknown version is a ValueError, not a wrong message."""
    with pytest.raises(ValueError, match="FetchRequest has versions 0-18, not 99"):
        decode(FetchRequest, 99, b"")
    with pytest.raises(ValueError, match="FetchRequest has versions"):
        encode(FetchRequest(), -1)


def test_an_array_longer_than_a_byte_can_count_is_written_as_kafka_reads_it() -> None:
    """Compact counts grow to two bytes at 127 elements, for numbers as for structs."""
    brokers = [MetadataResponseBroker(node_id=n, host="h") for n in range(200)]
    message = MetadataResponse(brokers=brokers)

    assert message == decode(MetadataResponse, 12, encode(message, 12))


@for_each("version", [4, 11, 12, 18])
def test_records_that_lie_in_a_file_are_a_part_of_their_own(version: int) -> None:
    """Their length is written, and they themselves are handed on as they are."""

    class InAFile:
        def __len__(self) -> int:
            return 300

    def response(records: Any) -> FetchResponse:
        data = PartitionData(partition_index=1, records=records)
        return FetchResponse(responses=[FetchableTopicResponse(partitions=[data, data])])

    lying = InAFile()
    parts: list[Any] = encode_parts(response(lying), version)
    assert [part for part in parts if part is lying] == [lying, lying]
    read = b"".join(bytes(300) if part is lying else part for part in parts)
    assert read == encode(response(bytes(300)), version)
    with pytest.raises(EncodeError, match="records"):
        encode(response(lying), version)
