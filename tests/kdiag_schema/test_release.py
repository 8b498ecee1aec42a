import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kdiag.wire.schema import NO_VERSIONS, Versions
from kdiag_schema.release import parse_message, read_release, strip_comments


def schema(**changes: Any) -> dict[str, Any]:
    """Return a small schema file's content."""
    plain: dict[str, Any] = {
        "name": "PingRequest",
        "type": "request",
        "apiKey": 300,
        "validVersions": "1-3",
        "flexibleVersions": "3+",
        "fields": [],
    }
    return plain | changes


def write_jar(folder: Path, name: str, files: dict[str, str]) -> None:
    """Write a jar with text files."""
    with zipfile.ZipFile(folder / name, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


def test_comments_go_and_slashes_inside_strings_stay() -> None:
    """A URL in a string is no comment."""
    text = '// a "quoted" comment\n{"about": "see http://x // y", // why\n "tag": 1}'
    assert json.loads(strip_comments(text)) == {"about": "see http://x // y", "tag": 1}


def test_a_release_is_every_schema_of_its_jars(tmp_path: Path) -> None:
    """Schemas lie in several jars; a message without valid versions is gone."""
    gone = json.dumps({"name": "X", "type": "request", "apiKey": 4, "validVersions": "none"})
    record = schema(name="TopicRecord", type="metadata", apiKey=2)
    write_jar(
        tmp_path,
        "kafka-clients-9.8.7.jar",
        {
            "common/message/PingRequest.json": f"// licence\n{json.dumps(schema())}",
            "common/message/X.json": gone,
            "common/message/README.md": "",
            "other/Y.json": "not JSON",
        },
    )
    files = {"common/metadata/TopicRecord.json": json.dumps(record)}
    write_jar(tmp_path, "kafka-metadata-9.8.7.jar", files)
    release = read_release(tmp_path)
    assert release.version == "9.8.7"
    assert sorted(release.messages) == ["PingRequest", "TopicRecord"]
    assert release.messages["PingRequest"].topic is None
    assert release.messages["TopicRecord"].topic == "__cluster_metadata"


def test_a_folder_without_kafka_is_refused(tmp_path: Path) -> None:
    """The error names the folder and what it lacks."""
    with pytest.raises(ValueError, match="expected one kafka-clients jar, found 0"):
        read_release(tmp_path)


def test_a_field_without_versions_has_those_in_which_it_is_tagged() -> None:
    """TransactionLogValue writes its tagged fields so."""
    field = {"name": "NextEpoch", "type": "int16", "tag": 3, "taggedVersions": "1+", "default": -1}
    message = parse_message(schema(fields=[field]), None)
    (parsed,) = message.structs["PingRequest"]
    assert parsed.versions == parsed.tagged == Versions.parse("1+")
    assert (parsed.tag, parsed.default) == (3, "-1")


def test_only_the_string_null_is_a_null_default() -> None:
    """A JSON null says nothing."""
    fields = [
        {"name": "A", "type": "string", "versions": "0+", "default": "null"},
        {"name": "B", "type": "string", "versions": "0+", "default": None},
    ]
    message = parse_message(schema(fields=fields), None)
    assert [each.default for each in message.structs["PingRequest"]] == ["null", None]


def test_structs_inside_fields_and_common_structs_are_found_by_name() -> None:
    """Both ways to define a struct come out alike."""
    inner = {"name": "Id", "type": "uuid", "versions": "0+"}
    topic = {"name": "Topics", "type": "[]Topic", "versions": "0+", "fields": [inner]}
    cursor = {"name": "Cursor", "type": "Cursor", "versions": "0+", "nullableVersions": "1+"}
    common = [{"name": "Cursor", "versions": "0+", "fields": [inner]}]
    message = parse_message(schema(fields=[topic, cursor], commonStructs=common), None)
    assert message.structs["Topic"] == message.structs["Cursor"]
    topics, pointer = message.structs["PingRequest"]
    assert (topics.is_array, topics.type_name, topics.nullable) == (True, "Topic", NO_VERSIONS)
    assert (pointer.is_array, pointer.is_struct) == (False, True)
    assert pointer.nullable == Versions.parse("1+")


def test_two_structs_of_one_name_are_refused() -> None:
    """Which one a field means would be a guess."""
    inner = {"name": "Id", "type": "uuid", "versions": "0+"}
    topic = {"name": "Topics", "type": "[]Topic", "versions": "0+", "fields": [inner]}
    common = [{"name": "Topic", "versions": "0+", "fields": []}]
    with pytest.raises(ValueError, match="two structs are called Topic"):
        parse_message(schema(fields=[topic], commonStructs=common), None)


def test_a_message_that_was_renamed_has_its_newest_name() -> None:
    """The versions of both names belong to one API."""
    old = schema(name="ListClientMetricsResourcesRequest")
    assert parse_message(old, None).name == "ListConfigResourcesRequest"


def test_the_version_of_a_coordinator_key_before_4_0_is_its_record_type() -> None:
    """The bytes are the same: an int16 before the fields."""
    group = {"name": "group", "type": "string", "versions": "3"}
    old = {"type": "data", "validVersions": "3", "flexibleVersions": "none", "fields": [group]}
    message = parse_message({"name": "GroupKey", **old}, "__consumer_offsets")
    assert (message.kind, message.number) == ("coordinator-key", 3)
    assert message.versions == message.structs["GroupKey"][0].versions == Versions(0, 0)
    assert parse_message({"name": "GroupValue", **old}, "__consumer_offsets").versions.low == 3
    assert parse_message({"name": "QuorumState", **old}, "__consumer_offsets").topic is None
