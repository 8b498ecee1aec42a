from typing import Any

import pytest

from kdiag.wire.schema import NO_VERSIONS, Versions
from kdiag_schema.merge import MergedMessage, MergedStruct, covered, merge_message
from kdiag_schema.release import MessageSchema, parse_message
from tiers.cases import for_each


def ping(versions: str, *fields: dict[str, Any], flexible: str = "none") -> MessageSchema:
    """Return what a release says of a message with these fields."""
    return parse_message(
        {
            "name": "PingRequest",
            "type": "request",
            "apiKey": 300,
            "validVersions": versions,
            "flexibleVersions": flexible,
            "fields": list(fields),
        },
        None,
    )


def field(name: str, versions: str = "0+", kind: str = "int32", **more: Any) -> dict[str, Any]:
    """Return a field as a schema file has it."""
    return {"name": name, "type": kind, "versions": versions, **more}


def fields_of(message: MergedMessage, version: int) -> list[str]:
    """Return the names of a version's fields in wire order."""
    root: MergedStruct = message.structs[-1]
    return [each.schema.name for each in root.fields if version in each.versions]


def test_the_newest_release_with_a_version_decides_its_shape() -> None:
    """Version 1 is the new release's, which has dropped a field and added another."""
    old = ping("0-1", field("A"), field("B", "0-1"))
    new = ping("1-2", field("A"), field("C", "1+"))
    message = merge_message([old, new])
    assert message.versions == Versions(0, 2)
    assert [fields_of(message, each) for each in range(3)] == [["A", "B"], ["A", "C"], ["A", "C"]]


def test_what_the_newest_release_still_speaks_is_known() -> None:
    """An operator wants to know which versions an upgrade takes away."""
    assert merge_message([ping("0-3"), ping("2-4")]).newest == Versions(2, 4)
    assert merge_message([ping("0-3"), None]).newest is None


def test_a_field_that_is_gone_keeps_its_place() -> None:
    """It stands behind the field that it followed."""
    old = ping("0-0", field("A"), field("B"), field("C"))
    new = ping("1-1", field("A"), field("N", "1+"), field("C"))
    message = merge_message([old, new])
    assert (fields_of(message, 0), fields_of(message, 1)) == (["A", "B", "C"], ["A", "N", "C"])


def test_a_default_is_the_newest_release_s() -> None:
    """Also for the versions that only an older release has."""
    old = ping("0", field("A", default="1"))
    new = ping("1", field("A", default="2"))
    assert merge_message([old, new]).structs[-1].fields[0].schema.default == "2"


def test_nullability_and_tags_are_each_version_s_own() -> None:
    """A version that the field is not in has neither."""
    new = ping("0-3", field("A", "1+", "string", nullableVersions="2+", tag=0, taggedVersions="3+"))
    (merged,) = merge_message([new]).structs[-1].fields
    assert (sorted(merged.nullable), sorted(merged.tagged)) == ([2, 3], [3])
    assert sorted(merged.versions) == [1, 2, 3]


def test_ignorability_is_asked_of_the_release_that_lacks_the_field_somewhere() -> None:
    """A release that has the field in all its versions never drops it, so what it says is idle."""
    old = ping("0-1", field("A", "1+", ignorable=True))
    assert merge_message([old, ping("1-2", field("A", "1+"))]).structs[-1].fields[0].is_ignorable
    assert (
        not merge_message([old, ping("0-2", field("A", "1+"))]).structs[-1].fields[0].is_ignorable
    )


def test_a_struct_has_the_versions_that_reach_it() -> None:
    """Fields inside it are measured against these, not against the whole message."""
    topic = field("Topics", "2+", "[]Topic", fields=[field("Id"), field("New", "3+")])
    inner, root = merge_message([ping("0-4", topic)]).structs
    assert (inner.name, root.name) == ("Topic", "PingRequest")
    assert sorted(inner.versions) == [2, 3, 4]
    assert [sorted(each.versions) for each in inner.fields] == [[2, 3, 4], [3, 4]]


def test_structs_come_innermost_first() -> None:
    """A class can then name those above it."""
    deep = field("P", kind="[]Partition", fields=[field("Id")])
    message = merge_message([ping("0", field("T", kind="[]Topic", fields=[deep]))])
    assert [each.name for each in message.structs] == ["Partition", "Topic", "PingRequest"]


def test_a_struct_that_no_version_reaches_is_left_out() -> None:
    """So are its fields: nothing would ever read them."""
    gone = field("T", "0-1", "[]Topic", fields=[field("Id")])
    message = merge_message([ping("2-3", gone, field("A"))])
    assert [each.name for each in message.structs] == ["PingRequest"]
    assert fields_of(message, 2) == ["A"]


def test_flexible_starts_where_the_owner_of_a_version_says() -> None:
    """It holds from there on, for versions to come too."""
    message = merge_message([ping("0-1", flexible="1+"), ping("1-3", flexible="1+")])
    assert message.flexible == Versions.parse("1+")
    assert merge_message([ping("0-1")]).flexible == NO_VERSIONS


@for_each(
    ("schemas", "why"),
    [
        ([ping("0"), ping("2")], "have a hole"),
        ([ping("0", flexible="0+"), ping("1")], "not flexible any more"),
        ([ping("0", field("A")), ping("1", field("A", kind="int64"))], "is int64 in another"),
        ([ping("0", field("A")), ping("1", field("A"), field("B"))], "not in version 0 of the"),
        (
            [
                ping("0", field("A", tag=1, taggedVersions="0+")),
                ping("1", field("A", tag=2, taggedVersions="0+")),
            ],
            "tag 1 in one release is 2 in another",
        ),
        (
            [ping("0", field("A"), field("B")), ping("1", field("B"), field("A"))],
            "merged it would be",
        ),
    ],
)
def test_releases_that_contradict_each_other_are_refused(
    schemas: list[MessageSchema], why: str
) -> None:
    """A person has to look; a guess would decode wrongly in silence."""
    with pytest.raises(ValueError, match=why):
        merge_message(schemas)


def test_covered_versions_are_those_inside_the_range() -> None:
    """Both ends belong to a range."""
    assert covered(Versions(2, 4), range(10)) == {2, 3, 4}
