from typing import Any

import pytest

from kdiag_schema.merge import MergedMessage, merge_message
from kdiag_schema.module_source import (
    api_module,
    api_name,
    header_module,
    internal_module,
    lacking_purposes,
    record_module,
)
from kdiag_schema.release import MessageSchema, parse_message


def schema(name: str, kind: str, number: int | None, versions: str, **more: Any) -> MessageSchema:
    """Return what a release says of a message that is flexible from version 2 on."""
    facts = {"name": name, "type": kind, "apiKey": number, "validVersions": versions}
    plain: dict[str, Any] = {**facts, "flexibleVersions": "2+", "fields": []}
    return parse_message(plain | more, more.pop("topic", None))


def api(key: int, kind: str, versions: str = "0-3", **more: Any) -> MergedMessage:
    """Return the request or response of an API."""
    return merge_message([schema(f"Ping{kind.capitalize()}", kind, key, versions, **more)])


def test_an_api_s_module_opens_with_what_it_is_for_and_its_versions() -> None:
    """A person who opens the file reads the purpose first."""
    source = api_module(api(17, "request"), api(17, "response"))
    assert source.splitlines()[:5] == [
        '"""Chooses the SASL mechanism before the client authenticates.',
        "",
        "API key 17, versions 0-3, flexible from 2.",
        "",
        "Source: KIP-43, KIP-152 (v1).",
    ]
    assert "class PingRequest(Struct):" in source
    assert "class PingResponse(Struct):" in source


def test_a_module_imports_the_words_it_uses_and_no_other() -> None:
    """Words in its docstrings do not count."""
    fields = [
        {"name": "Message", "type": "string", "versions": "1+", "nullableVersions": "1+"},
        {"name": "Inner", "type": "Inner", "versions": "0+", "fields": []},
    ]
    source = api_module(api(17, "request", fields=fields), api(17, "response"))
    imports = source.split('"""\n\n', 1)[1].split("\n\n\n", 1)[0]
    assert imports.split("\n\n") == [
        "from typing import Annotated",
        "import msgspec",
        "from kdiag.wire.schema import String, Struct, message, since",
    ]


def test_versions_that_the_newest_release_has_dropped_are_told() -> None:
    """An old client may still speak them."""
    old = schema("RequestHeader", "header", None, "0-2")
    new = schema("RequestHeader", "header", None, "1-2")
    assert "Today's Kafka speaks 1-2 only." in header_module(merge_message([old, new]))
    assert "Today's Kafka has dropped it." in header_module(merge_message([old, None]))


def test_an_unstable_version_is_told() -> None:
    """A broker refuses it unless it was told otherwise."""
    unstable = api(17, "request", latestVersionUnstable=True)
    assert "Version 3 is not stable yet." in api_module(unstable, api(17, "response"))


@pytest.mark.thorough
def test_what_has_no_sentence_yet_is_named_at_once() -> None:
    """A new API and a new record say what they are for before they get a module."""
    record = merge_message([schema("PingRecord", "metadata", 99, "0")])
    known = merge_message([schema("TopicRecord", "metadata", 2, "0")])
    assert lacking_purposes([api(300, "request"), api(17, "request")], [record, known]) == [
        "api_purpose.py: 300 Ping",
        "record_purpose.py: ping_record",
    ]


def test_request_and_response_have_the_same_versions() -> None:
    """One range in the catalog stands for both."""
    with pytest.raises(ValueError, match="have different versions"):
        api_module(api(17, "request"), api(17, "response", "0-4"))


def test_a_key_and_its_value_share_a_module() -> None:
    """They make one record."""
    key = merge_message([schema("OffsetCommitKey", "coordinator-key", 1, "0")])
    value = merge_message([schema("OffsetCommitValue", "coordinator-value", 1, "0-3")])
    assert record_module(key) == record_module(value) == "offset_commit"
    source = internal_module([key, value])
    assert "class OffsetCommitKey(Struct):" in source
    assert "class OffsetCommitValue(Struct):" in source
    assert "ersions 0-3, flexible from 2." in source


def test_an_api_s_name_is_that_of_its_request_without_the_word_request() -> None:
    """Kafka's ApiKeys name them so."""
    assert api_name(api(17, "request")) == api_name(api(17, "response")) == "Ping"
