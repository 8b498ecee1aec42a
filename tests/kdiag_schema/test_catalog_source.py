from typing import Any

from kdiag_schema.catalog_source import catalog_source, record_types_source
from kdiag_schema.merge import MergedMessage, merge_message
from kdiag_schema.release import parse_message


def message(name: str, kind: str, number: int, **more: Any) -> MergedMessage:
    """Return a message of versions 0 to 3."""
    facts = {"name": name, "type": kind, "apiKey": number, "validVersions": "0-3"}
    plain: dict[str, Any] = {**facts, "flexibleVersions": "2+", "fields": []}
    return merge_message([parse_message(plain | more, "__topic")])


def test_the_catalog_has_a_line_for_each_api() -> None:
    """Key, name, module, all versions, flexible ones, today's ones."""
    ping = message("PingPongRequest", "request", 300)
    gone = message("OldRequest", "request", 301, flexibleVersions="none")._replace(newest=None)
    source = catalog_source([ping, gone], "9.8.7")
    assert '    _api(300, "PingPong", "ping_pong", "0-3", "2+", "0-3"),\n' in source
    assert '    _api(301, "Old", "old", "0-3", "none", "none"),\n' in source
    assert 'NEWEST_KAFKA: Final = "9.8.7"\n' in source


def test_the_record_tables_have_a_line_for_each_record() -> None:
    """Coordinator records by key and value, metadata records by themselves."""
    names = {
        "GroupKey": ("coordinator-key", 3),
        "GroupValue": ("coordinator-value", 3),
        "TopicRecord": ("metadata", 2),
        "Marker": ("data", 0),
    }
    messages = [message(name, kind, number) for name, (kind, number) in names.items()]
    source = record_types_source(messages)
    assert '"__topic": {\n        3: CoordinatorRecord("GroupKey", "GroupValue"),' in source
    assert '"__topic": {\n        2: "TopicRecord",' in source
    assert "'GroupKey': 'group', 'GroupValue': 'group', 'Marker': 'marker'" in source
