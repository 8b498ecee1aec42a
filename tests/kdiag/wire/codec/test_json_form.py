import pytest

from kdiag.errors import EncodeError
from kdiag.wire.api.alter_client_quotas import AlterClientQuotasRequest
from kdiag.wire.api.api_versions import ApiVersionsRequest
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest
from kdiag.wire.api.list_groups import ListGroupsRequest
from kdiag.wire.api.metadata import MetadataRequest
from kdiag.wire.api.produce import ProduceRequest
from kdiag.wire.codec.json_form import from_json, to_json
from tiers.cases import for_each


def test_a_form_has_the_fields_of_its_version_and_no_other() -> None:
    """Version 3 asks for one key, version 4 for several."""
    request = FindCoordinatorRequest(key="a", coordinator_keys=["b"])

    assert to_json(request, 3) == {"key": "a", "keyType": 0}
    assert to_json(request, 4) == {"keyType": 0, "coordinatorKeys": ["b"]}


def test_unknown_tags_appear_only_where_there_are_some() -> None:
    """The addition to Kafka's JSON is left out when there is nothing to say."""
    plain = to_json(ApiVersionsRequest(), 3)
    tagged = to_json(ApiVersionsRequest(unknown_tagged_fields={9: b"x", 2: b""}), 3)

    assert "_unknownTaggedFields" not in plain
    assert tagged["_unknownTaggedFields"] == [{"tag": 2, "data": b""}, {"tag": 9, "data": b"x"}]


def test_fields_left_out_get_their_defaults() -> None:
    """What a user does not write is what Kafka's own default says."""
    assert MetadataRequest() == from_json(MetadataRequest, 12, {})


def test_unknown_tagged_fields_are_read_as_they_are_printed() -> None:
    """So what kdiag prints can be sent."""
    request = ApiVersionsRequest(unknown_tagged_fields={9: b"x", 2: b""})

    assert from_json(ApiVersionsRequest, 3, to_json(request, 3)) == request


def test_floats_are_read_from_numbers_and_names() -> None:
    """A quota may be written as an integer, a float or Infinity."""

    def quota(value: object) -> float:
        form = {"entries": [{"entity": [], "ops": [{"key": "k", "value": value}]}]}
        return from_json(AlterClientQuotasRequest, 1, form).entries[0].ops[0].value

    assert [1.0, 1.5, float("inf")] == [quota(value) for value in (1, 1.5, "Infinity")]
    with pytest.raises(EncodeError, match=r"entries\[0\].ops\[0\].value: not a number: 'x'"):
        quota("x")
    for value, why in ((True, "not a number: True"), (10**400, "too large")):
        with pytest.raises(EncodeError, match=why):
            quota(value)


@for_each(
    ("cls", "version", "form", "why"),
    [
        (FindCoordinatorRequest, 4, {"key": "x"}, "no such field, versions 0-3 have it"),
        (FindCoordinatorRequest, 4, {"key_type": 0}, "no such field; did you mean keyType?"),
        (FindCoordinatorRequest, 4, {"x": 0}, "no such field; it has keyType, coordinatorKeys"),
        (ListGroupsRequest, 0, {"x": 0}, "x: version 0 has no such field; it has none"),
        (FindCoordinatorRequest, 4, {"keyType": True}, "keyType: expected int8, got bool"),
        (FindCoordinatorRequest, 4, {"keyType": "1"}, "keyType: expected int8, got str"),
        (FindCoordinatorRequest, 4, {"_unknownTaggedFields": {"tag": 1}}, "expected a list of"),
        (FindCoordinatorRequest, 4, {"_unknownTaggedFields": [{"tag": -1, "data": ""}]}, "of {"),
        (FindCoordinatorRequest, 4, {"coordinatorKeys": "x"}, "coordinatorKeys: expected a list"),
        (MetadataRequest, 12, {"topics": ["x"]}, r"topics\[0\]: expected an object, got str"),
        (MetadataRequest, 12, {"topics": [{"topicId": "x"}]}, r"topicId: not a uuid"),
        (MetadataRequest, 12, {"topics": [{"topicId": 4}]}, r"topicId: expected a uuid, got int"),
        (
            ProduceRequest,
            9,
            {"topicData": [{"partitionData": [{"records": "?"}]}]},
            "records: not base64",
        ),
    ],
)
def test_a_wrong_form_names_its_field(
    cls: type[MetadataRequest], version: int, form: dict[str, object], why: str
) -> None:
    """An EncodeError says where the JSON is not what the version has."""
    with pytest.raises(EncodeError, match=why):
        from_json(cls, version, form)
