from typing import Annotated

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.schema import (
    MAX_VERSION,
    NO_VERSIONS,
    Boolean,
    Entity,
    Field,
    Int32,
    Kind,
    MessageInfo,
    String,
    Struct,
    TopicName,
    Versions,
    fields_of,
    ignorable,
    info_of,
    message,
    named,
    never_compact,
    nullable,
    since,
    snake_to_camel,
    tag,
)
from tiers.cases import for_each


class Partition(Struct):
    """A struct inside another."""

    index: Int32 = -1


class Topic(Struct):
    """An element of an array."""

    name: TopicName = ""
    partitions: list[Partition] = []  # noqa: RUF012 - msgspec copies it for each instance


@message(api_key=300, versions="0-9", flexible="6+")
class PingRequest(Struct):
    """Every way to describe a field."""

    topics: list[Topic] = []  # noqa: RUF012 - as above
    names: Annotated[list[TopicName] | None, since("1-3, 5+"), nullable("2+")] = None
    leader: Annotated[Partition, since("6+"), tag(0)] = msgspec.field(default_factory=Partition)
    cursor: Partition | None = None
    note: Annotated[String | None, since("4+"), tag(3, "7+"), ignorable, named("NOTE")] = "x"
    client_id: Annotated[String, never_compact] = ""
    is_internal: Boolean = False


def field(name: str) -> Field:
    """Return a field of PingRequest."""
    return next(each for each in fields_of(PingRequest) if each.name == name)


@for_each("text", ["3", "3-7", "3+", "none", "0", "0+"])
def test_versions_are_written_as_they_were_read(text: str) -> None:
    """Kafka's notation goes in and out."""
    assert str(Versions.parse(text)) == text


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_a_range_covers_both_its_ends_and_all_between(low: int, high: int, version: int) -> None:
    """An upside-down range is empty."""
    assert Versions(low, high).covers(version) == (version in range(low, high + 1))


def test_an_open_range_ends_at_the_highest_version_there_can_be() -> None:
    """Versions are int16 on the wire."""
    assert Versions.parse("3+") == Versions(3, MAX_VERSION)
    assert not any(NO_VERSIONS.covers(version) for version in range(-1, 10))


def test_a_message_declares_its_name_key_and_versions() -> None:
    """`info_of` gives back what the decorator was told."""
    expected = MessageInfo("PingRequest", Versions(0, 9), Versions(6, MAX_VERSION), 300)
    assert info_of(PingRequest) == expected


def test_a_struct_is_not_a_message() -> None:
    """Only a whole message has versions of its own."""
    with pytest.raises(TypeError, match="Topic is not a message"):
        info_of(Topic)


def test_fields_come_in_the_order_they_are_written_in() -> None:
    """That is their order on the wire, and of the constructor's arguments."""
    names = [each.name for each in fields_of(PingRequest)]
    assert names == ["topics", "names", "leader", "cursor", "note", "client_id", "is_internal"]
    topic = Topic("orders", [Partition(3)])
    assert (topic.name, topic.partitions[0].index) == ("orders", 3)


def test_unknown_tagged_fields_are_no_field() -> None:
    """They are given by name only, and none at first."""
    assert "unknown_tagged_fields" not in {each.name for each in fields_of(Topic)}
    assert Topic().unknown_tagged_fields is None
    assert Topic(unknown_tagged_fields={7: b"x"}).unknown_tagged_fields == {7: b"x"}


def test_an_array_s_field_tells_what_its_elements_are() -> None:
    """Of structs, of primitives, null or not."""
    assert (field("topics").is_array, field("topics").kind) == (True, Topic)
    assert (field("names").is_array, field("names").kind) == (True, Kind.STRING)
    assert field("names").entity is Entity.TOPIC_NAME
    assert (field("cursor").is_array, field("cursor").kind) == (False, Partition)


def test_a_field_is_in_the_ranges_that_it_names() -> None:
    """Without any, it is in all versions."""
    assert [v for v in range(10) if field("names").is_in(v)] == [1, 2, 3, 5, 6, 7, 8, 9]
    assert all(field("topics").is_in(v) for v in range(10))


def test_null_is_allowed_where_the_marker_says() -> None:
    """`| None` alone allows it in all versions, and without it in none."""
    assert [v for v in range(10) if field("names").is_nullable_in(v)] == list(range(2, 10))
    assert all(field("cursor").is_nullable_in(v) for v in range(10))
    assert not any(field("topics").is_nullable_in(v) for v in range(10))


def test_a_field_is_tagged_where_the_marker_says() -> None:
    """A tag without versions holds wherever the field is."""
    assert (field("leader").tag, field("leader").is_tagged_in(6)) == (0, True)
    assert [v for v in range(10) if field("note").is_tagged_in(v)] == [7, 8, 9]
    assert (field("topics").tag, field("topics").is_tagged_in(9)) == (None, False)


def test_a_json_name_is_camel_case_unless_another_is_given() -> None:
    """Kafka's names are in the JSON."""
    assert (field("is_internal").json_name, field("note").json_name) == ("isInternal", "NOTE")
    assert snake_to_camel("max_wait_ms") == "maxWaitMs"


def test_markers_are_read() -> None:
    """What a field may do in versions without it, and how its length is written."""
    assert (field("note").is_ignorable, field("topics").is_ignorable) == (True, False)
    assert (field("client_id").is_never_compact, field("note").is_never_compact) == (True, False)
    assert (repr(ignorable), repr(never_compact)) == ("ignorable", "never_compact")


def test_a_default_is_what_a_new_message_holds() -> None:
    """Arrays and structs are made anew for each."""
    assert [field(each).default for each in ("topics", "names", "leader", "note")] == [
        [],
        None,
        Partition(),
        "x",
    ]
    one, other = PingRequest(), PingRequest()
    one.topics.append(Topic())
    assert other.topics == []


def test_a_struct_shows_what_differs_from_its_defaults() -> None:
    """A failing test or a log line stays short."""
    assert repr(Topic("orders")) == "Topic(name='orders')"


def test_no_message_is_tracked_by_the_garbage_collector() -> None:
    """Every class inherits that from Struct, so no class has to say it."""
    for api in API_BY_KEY.values():
        assert not api.request_class().__struct_config__.gc
        assert not api.response_class().__struct_config__.gc
