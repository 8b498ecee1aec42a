"""When a new Kafka arrives, one failure names every table that has to follow it."""

from typing import Annotated, Any

import pytest

from folders import ORACLE
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY, APIS, Api
from kdiag.wire.schema import (
    ZERO_UUID,
    Bytes,
    Records,
    String,
    Struct,
    TopicName,
    Uuid,
    Versions,
    message,
    since,
)
from real_kafka.hand_kept import HAND_KEPT, Kafka, as_text, is_file, lacking, newest_kafka
from real_kafka.releases import NEWEST, VERSIONS

README = "tests/data/oracle/README.md"
FROB_KEY = 200


class Config(Struct):
    """A configuration entry."""

    name: String = ""
    value: Annotated[String | None, since("0+")] = None


class Topic(Struct):
    """A topic by name and by id."""

    name: TopicName = ""
    topic_id: Uuid = ZERO_UUID


@message(versions="0", flexible="0+")
class FrobnicateRequest(Struct):
    """The request of an API that no Kafka has, with everything that a table may care about."""

    password: Bytes = b""
    records: Records | None = None
    configs: list[Config] = []  # noqa: RUF012 - msgspec copies an empty list for each instance
    topics: list[Topic] = []  # noqa: RUF012 - as above


@message(versions="0-12")
class ListOffsetsRequest(Struct):
    """A ListOffsets that has lost its topic names."""

    name: Annotated[TopicName, since("0-11")] = ""


@message(versions="0")
class FrobnicateRecord(Struct):
    """A record that no Kafka writes."""

    password: Bytes = b""


def constant(enumeration: str, **facts: Any) -> dict[str, Any]:
    """Return a constant that no Kafka has."""
    return {"enum": enumeration, "name": "FROBNICATED", "number": 99, **facts}


def made_up_kafka() -> Kafka:
    """Return the newest Kafka with one more of everything."""
    newest = newest_kafka()
    frob = Api(FROB_KEY, "Frobnicate", "frob", Versions(0, 0), Versions(0, 0), Versions(0, 0))
    fetch = API_BY_KEY[api_keys.FETCH]._replace(versions=Versions(0, 19), newest=Versions(5, 19))
    offsets = API_BY_KEY[api_keys.LIST_OFFSETS]._replace(
        versions=Versions(0, 12), newest=Versions(1, 12)
    )
    others = (api for api in APIS if api.key not in {api_keys.FETCH, api_keys.LIST_OFFSETS})

    def message_of(api: Api, is_response: int) -> type[Struct]:
        if api.key == FROB_KEY:
            return FrobnicateRequest
        if api.key == api_keys.LIST_OFFSETS and not is_response:
            return ListOffsetsRequest
        return newest.message(api, is_response)

    names = {kind: [*known, constant(kind)] for kind, known in newest.names.items()}
    names["Errors"][-1] |= {"retriable": True, "exception": "OddlyNamedException"}
    names["MetadataVersion"][-1]["name"] = "IBP_9_9_IV0"
    return Kafka(
        "9.9.9",
        (*others, fetch, offsets, frob),
        message_of,
        newest.record_modules | {"frobnicate_record"},
        {**newest.record_classes, "FrobnicateRecord": FrobnicateRecord},
        names,
    )


@pytest.mark.thorough
def test_every_hand_kept_table_serves_the_newest_kafka() -> None:
    """If this fails, the message is the list of what is to be done."""
    expected = [f"{kind}-{version}" for version in VERSIONS for kind in ("table", "vectors")]
    expected.append(f"names-{NEWEST}")
    written = {each.name.partition(".jsonl")[0] for each in ORACLE.iterdir()}
    lacks = [f"tests/data/oracle/{each}" for each in expected if each not in written]
    places = "".join(f"\n    {table.place}" for table in HAND_KEPT)
    assert lacks == [], f"{README} says how to write these. Compared with them are then:{places}"
    found = lacking(newest_kafka())
    assert not found, as_text(found)


@pytest.mark.thorough
def test_a_new_kafka_is_missed_by_every_table() -> None:
    """A new API, a new version, a new error: no table keeps silent about what concerns it."""
    found = lacking(made_up_kafka())
    assert [table.place for table in HAND_KEPT if table.place not in found] == []
    text = as_text(found)
    assert "kdiag/diagnosis/error_codes: ADVICE\n    FROBNICATED\n" in text
    assert "cmd/kdiag_schema/api_purpose.py\n    200 Frobnicate\n" in text
    assert "Fetch v19: which proposal brought it?" in text
    assert "FrobnicateRequest.password: secret, a message, or harmless?" in text


def test_a_table_is_where_the_list_says() -> None:
    """Whoever reads the failure opens that file."""
    assert [table.place for table in HAND_KEPT if not is_file(table.place)] == []
