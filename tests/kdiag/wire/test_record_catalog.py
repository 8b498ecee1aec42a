import gzip
import json
from typing import Any

import pytest

from folders import ORACLE
from kdiag.wire.record_catalog import (
    CONTROL_RECORDS,
    COORDINATOR_RECORDS,
    METADATA_RECORDS,
    MODULE_BY_NAME,
    message_class,
)
from kdiag.wire.schema import info_of
from real_kafka.releases import OLDEST, VERSIONS


def internal_lines(release: str) -> list[dict[str, Any]]:
    """Return the oracle's internal messages."""
    with gzip.open(ORACLE / f"internal-{release}.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("release", VERSIONS)
def test_every_internal_message_of_a_kafka_has_a_class(release: str) -> None:
    """Under the name that this Kafka gave it, and in the version it wrote."""
    for line in internal_lines(release):
        is_old_key = line["type"] == "data" and line["schema"].endswith("Key")
        version = 0 if is_old_key else line["version"]
        assert info_of(message_class(line["schema"])).versions.covers(version), line["schema"]


@pytest.mark.parametrize("release", VERSIONS[1:])
def test_a_record_type_is_that_of_a_kafka(release: str) -> None:
    """What the oracle calls record type N of a topic stands at N in a table."""
    types = {
        (line["schema"], line["record_type"])
        for line in internal_lines(release)
        if line.get("record_type") is not None
    }
    listed = set()
    for records in COORDINATOR_RECORDS.values():
        listed |= {(f"{name}Key", number) for number, name in records.items()}
        listed |= {(f"{name}Value", number) for number, name in records.items()}
    for topic in METADATA_RECORDS.values():
        listed |= {(name, number) for number, name in topic.items()}
    assert types
    assert types <= listed


@pytest.mark.thorough
def test_the_record_type_of_a_key_was_its_version_before_4_0() -> None:
    """The bytes before the key's fields are the same int16."""
    records = COORDINATOR_RECORDS["__consumer_offsets"]
    for line in internal_lines(OLDEST):
        if line["schema"].endswith("Key") and line["schema"] not in {
            "TransactionLogKey",
            "OffsetCommitKey",  # versions 0 and 1 became LegacyOffsetCommitKey and this
        }:
            assert f"{records[line['version']]}Key" == line["schema"]


def test_every_name_in_a_table_is_a_class() -> None:
    """A record type never leads nowhere."""
    names = {name for topic in METADATA_RECORDS.values() for name in topic.values()}
    names |= set(CONTROL_RECORDS.values())
    for topic in COORDINATOR_RECORDS.values():
        names |= {f"{name}{part}" for name in topic.values() for part in ("Key", "Value")}
    assert names <= MODULE_BY_NAME.keys()
    assert {message_class(name).__name__ for name in MODULE_BY_NAME} == MODULE_BY_NAME.keys()


def test_an_unknown_message_is_a_key_error() -> None:
    """The caller knows the names: it has them from the tables."""
    with pytest.raises(KeyError):
        message_class("NoSuchRecord")
