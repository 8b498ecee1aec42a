"""Templates and lists of fields."""

import msgspec
import pytest

from kdiag.wire.api.create_topics import CreateTopicsRequest
from kdiag.wire.api.fetch import FetchRequest
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest
from kdiag.wire.catalog import APIS, Api
from kdiag.wire.codec.json_form import from_json
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.codec.template import field_rows, template
from tiers.cases import for_each


@pytest.mark.thorough
@for_each("api", APIS, ids=lambda api: api.name)
def test_every_template_is_a_message(api: Api) -> None:
    """Each request in each version can be sent as its template stands, and read back."""
    cls = api.request_class()
    for version in range(api.versions.low, api.versions.high + 1):
        form = msgspec.json.decode(msgspec.json.encode(template(cls, version)))
        message = from_json(cls, version, form)
        assert decode(cls, version, encode(message, version)) == message


def test_arrays_of_objects_hold_one_to_fill_in() -> None:
    """Arrays of plain values are empty, and what may be null is null."""
    form = template(CreateTopicsRequest, 7)
    (topic,) = form["topics"]
    assert topic["configs"] == [{"name": "", "value": ""}]
    assert topic["assignments"] == [{"partitionIndex": 0, "brokerIds": []}]
    assert (form["timeoutMs"], form["validateOnly"]) == (60000, False)
    assert template(FetchRequest, 17)["clusterId"] is None


def test_fields_are_listed_with_their_versions() -> None:
    """A field inside a struct follows it; its versions are those of the message."""
    rows = {row.path: row for row in field_rows(FetchRequest)}
    assert rows["topics"].type == "[]object"
    assert rows["topics[].topic"].versions == "0-12"
    assert rows["topics[].topicId"].versions == "13-18"
    assert rows["topics[].topicId"].default == "AAAAAAAAAAAAAAAAAAAAAA"
    assert (rows["clusterId"].nullable, rows["clusterId"].tag) == ("12-18", 0)
    assert list(rows)[:2] == ["clusterId", "replicaId"]


def test_fields_of_one_version_are_those_that_it_has() -> None:
    """The versions of each are told all the same."""
    assert [(row.path, row.versions) for row in field_rows(FindCoordinatorRequest, 4)] == [
        ("keyType", "1-6"),
        ("coordinatorKeys", "4-6"),
    ]


@for_each("api", APIS, ids=lambda api: api.name)
def test_a_field_is_in_the_template_of_each_of_its_versions(api: Api) -> None:
    """Both come from the same schema."""
    cls = api.request_class()
    for version in range(api.versions.low, api.versions.high + 1):
        top = [row.path for row in field_rows(cls, version) if "." not in row.path]
        assert top == list(template(cls, version))


def test_a_version_that_does_not_exist_is_refused() -> None:
    """The message says which there are."""
    for ask in (template, field_rows):
        with pytest.raises(ValueError, match="FindCoordinatorRequest has versions 0-6, not 7"):
            ask(FindCoordinatorRequest, 7)
