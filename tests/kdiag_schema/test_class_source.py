from typing import Any

from kdiag.wire.schema import snake_to_camel
from kdiag_schema.class_source import class_sources, range_text, snake_case
from kdiag_schema.merge import MergedMessage, merge_message
from kdiag_schema.release import parse_message
from tiers.cases import for_each


def message(*fields: dict[str, Any], kind: str = "request", **changes: Any) -> MergedMessage:
    """Return a merged message of versions 0 to 5."""
    schema = {
        "name": f"Ping{kind.capitalize()}",
        "type": kind,
        "apiKey": 300,
        "validVersions": "0-5",
        "flexibleVersions": "3+",
        "fields": list(fields),
    }
    return merge_message([parse_message(schema | changes, None)])


def field_line(schema: dict[str, Any]) -> str:
    """Return the line that a field becomes."""
    return class_sources(message(schema), {})["PingRequest"].splitlines()[-1].strip()


@for_each(
    ("name", "snake"),
    [
        ("MaxWaitMs", "max_wait_ms"),
        ("ISRNodes", "isr_nodes"),
        ("KRaftVersion", "k_raft_version"),
        ("topicId", "topic_id"),
        ("Sha256Hash", "sha256_hash"),
    ],
)
def test_a_name_is_snake_case_in_python(name: str, snake: str) -> None:
    """Words split where a capital starts one."""
    assert snake_case(name) == snake


@for_each(
    ("versions", "text"),
    [
        ({0, 1, 2}, "0-2"),
        ({5}, "5+"),
        ({3, 4, 5}, "3+"),
        ({0, 1, 4, 5}, "0-1, 4+"),
        ({2}, "2"),
    ],
)
def test_versions_are_ranges_that_stay_open_at_the_top(versions: set[int], text: str) -> None:
    """A field of the last version goes on until a newer schema ends it."""
    assert range_text(versions, range(6), 5) == text


def test_a_version_that_does_not_exist_splits_no_range() -> None:
    """Only a version that lacks the field does."""
    assert range_text({1, 4}, {1, 4, 5}, 5) == "1-4"


@for_each(
    ("schema", "line"),
    [
        ({"type": "int32", "versions": "0+"}, "x: Int32 = 0"),
        ({"type": "bool", "versions": "0+", "default": "true"}, "x: Boolean = True"),
        ({"type": "int32", "versions": "0+", "default": "0x7fffffff"}, "x: Int32 = 2_147_483_647"),
        ({"type": "int64", "versions": "0+", "default": -1}, "x: Int64 = -1"),
        ({"type": "float64", "versions": "0+", "default": "1.5"}, "x: Float64 = 1.5"),
        ({"type": "string", "versions": "0+", "default": "a"}, 'x: String = "a"'),
        ({"type": "uuid", "versions": "0+"}, "x: Uuid = ZERO_UUID"),
        ({"type": "bytes", "versions": "0+"}, 'x: Bytes = b""'),
        ({"type": "[]int8", "versions": "0+"}, "x: list[Int8] = []"),
        ({"type": "string", "versions": "0+", "entityType": "groupId"}, 'x: GroupId = ""'),
        ({"type": "int32", "versions": "0+", "entityType": "brokerId"}, "x: BrokerId = 0"),
        ({"type": "int64", "versions": "0+", "entityType": "brokerId"}, "x: Int64 = 0"),
        (
            {"type": "records", "versions": "0+", "nullableVersions": "0+"},
            "x: Records | None = None",
        ),
        (
            {"type": "string", "versions": "0+", "nullableVersions": "2+"},
            'x: Annotated[String | None, nullable("2+")] = ""',
        ),
        (
            {"type": "string", "versions": "2+", "nullableVersions": "0+", "default": "null"},
            'x: Annotated[String | None, since("2+")] = None',
        ),
        (
            {"type": "int8", "versions": "1-3", "ignorable": True},
            'x: Annotated[Int8, since("1-3"), ignorable] = 0',
        ),
        ({"type": "int8", "versions": "0+", "ignorable": True}, "x: Int8 = 0"),
        (
            {"type": "int8", "versions": "3+", "tag": 7, "taggedVersions": "3+"},
            'x: Annotated[Int8, since("3+"), tag(7)] = 0',
        ),
        (
            {"type": "int8", "versions": "3+", "tag": 7, "taggedVersions": "4+"},
            'x: Annotated[Int8, since("3+"), tag(7, "4+")] = 0',
        ),
        (
            {"type": "string", "versions": "0+", "flexibleVersions": "none"},
            'x: Annotated[String, never_compact] = ""',
        ),
    ],
)
def test_a_field_says_its_type_its_versions_and_its_default(
    schema: dict[str, Any], line: str
) -> None:
    """What holds for every version of the struct is not said."""
    assert field_line({"name": "X", **schema}) == line


def test_a_json_name_that_camel_case_does_not_give_is_written_down() -> None:
    """Otherwise the JSON would not be Kafka's."""
    assert field_line({"name": "ISRNodes", "type": "int8", "versions": "0+"}) == (
        'isr_nodes: Annotated[Int8, named("iSRNodes")] = 0'
    )
    assert snake_to_camel("isr_nodes") != "iSRNodes"


def test_a_message_declares_its_key_and_versions() -> None:
    """The decorator is what `info_of` reads."""
    source = class_sources(message(), {})["PingRequest"]
    assert source.startswith('@message(api_key=300, versions="0-5", flexible="3+")\nclass PingReq')
    record = message(name="PingRecord", type="metadata", flexibleVersions="none")
    assert class_sources(record, {})["PingRecord"].startswith('@message(versions="0-5")\n')


def topics(*inner: str) -> dict[str, Any]:
    """Return an array of structs with these fields."""
    fields = [{"name": name, "type": "int32", "versions": "0+"} for name in inner]
    return {"name": "Topics", "type": "[]Topic", "versions": "0+", "fields": fields}


def test_a_struct_that_request_and_response_define_alike_is_shared() -> None:
    """It stands once in the module."""
    request = class_sources(message(topics("Id")), {})
    response = class_sources(message(topics("Id"), kind="response"), request)
    assert (list(request), list(response)) == (["Topic", "PingRequest"], ["PingResponse"])
    assert "topics: list[Topic] = []" in response["PingResponse"]


def test_a_struct_that_they_define_differently_has_another_name_in_the_response() -> None:
    """Two classes of one name cannot stand in a module."""
    request = class_sources(message(topics("Id")), {})
    response = class_sources(message(topics("Id", "Error"), kind="response"), request)
    assert list(response) == ["ResponseTopic", "PingResponse"]
    assert "topics: list[ResponseTopic] = []" in response["PingResponse"]


def test_a_struct_that_holds_a_renamed_one_is_renamed_too() -> None:
    """Its text is alike, but what it holds is not."""

    def nested(*inner: str) -> dict[str, Any]:
        return {"name": "All", "type": "Outer", "versions": "0+", "fields": [topics(*inner)]}

    request = class_sources(message(nested("Id")), {})
    response = class_sources(message(nested("Id", "Error"), kind="response"), request)
    assert list(response) == ["ResponseTopic", "ResponseOuter", "PingResponse"]
    assert (
        "all: ResponseOuter = msgspec.field(default_factory=ResponseOuter)"
        in (response["PingResponse"])
    )
    assert '"""One element of `topics` in ResponseOuter."""' in response["ResponseTopic"]
