from typing import Any

from kdiag_schema.merge import MergedMessage, merge_message
from kdiag_schema.release import parse_message
from kdiag_schema.table_source import api_keys_source, api_table_source, record_table_source


def message(name: str, kind: str, number: int, **more: Any) -> MergedMessage:
    """Return a message of versions 0 to 3."""
    facts = {"name": name, "type": kind, "apiKey": number, "validVersions": "0-3"}
    plain: dict[str, Any] = {**facts, "flexibleVersions": "2+", "fields": []}
    return merge_message([parse_message(plain | more, "__topic")])


def test_the_table_has_a_line_for_each_api() -> None:
    """Key, name, module, all versions, flexible ones, today's ones."""
    ping = message("PingPongRequest", "request", 300)
    gone = message("OldRequest", "request", 301, flexibleVersions="none")._replace(newest=None)
    source = api_table_source([ping, gone], "9.8.7")
    assert '    (300, "PingPong", "ping_pong", "0-3", "2+", "0-3"),\n' in source
    assert '    (301, "Old", "old", "0-3", "none", "none"),\n' in source
    assert 'NEWEST_KAFKA: Final = "9.8.7"\n' in source


def test_each_key_has_the_name_that_kafka_s_enumeration_gives_it() -> None:
    """`ApiKeys` writes it in capitals."""
    ping = message("PingPongRequest", "request", 300)
    assert api_keys_source([ping]).endswith("\n\nPING_PONG: Final = 300\n")


def test_the_record_tables_have_a_line_for_each_record() -> None:
    """Coordinator records by key and value, metadata records by themselves."""
    names = {
        "GroupKey": ("coordinator-key", 3),
        "GroupValue": ("coordinator-value", 3),
        "TopicRecord": ("metadata", 2),
        "Marker": ("data", 0),
    }
    messages = [message(name, kind, number) for name, (kind, number) in names.items()]
    source = record_table_source(messages)
    assert 'COORDINATOR_RECORDS: Final = {\n    "__topic": {\n        3: "Group",' in source
    assert 'METADATA_RECORDS: Final = {\n    "__topic": {\n        2: "TopicRecord",' in source
    assert "'GroupKey': 'group', 'GroupValue': 'group', 'Marker': 'marker'" in source
