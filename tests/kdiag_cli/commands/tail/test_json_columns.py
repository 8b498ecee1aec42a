import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.probe.tail.record_runs import RecordRun
from kdiag.wire.records.record import BatchHeader, ControlType, Record, TimestampType
from kdiag_cli.commands.tail.json_columns import is_internal, json_template, records_of
from kdiag_cli.commands.tail.value_format import ValueFormat
from made_values.record_run_maker import NOW_MS, marker, run_of, valued
from tiers.cases import for_each


def documents(
    run: RecordRun,
    key_format: ValueFormat = ValueFormat.AUTO,
    value_format: ValueFormat = ValueFormat.AUTO,
) -> list[dict[str, Any]]:
    """Return the lines of a run, read."""
    lines = json_template(key_format, value_format).lines(run)
    assert lines.endswith(b"\n") or not lines
    return [json.loads(line) for line in lines.splitlines()]


def back(document: dict[str, Any], name: str) -> bytes | None:
    """Return the bytes that a document says a key or a value has."""
    if f"{name}_b64" in document:
        return base64.b64decode(document[f"{name}_b64"], validate=True)
    return None if document[name] is None else document[name].encode()


def test_a_line_has_the_keys_that_scripts_rely_on() -> None:
    """In this order, with nothing else."""
    record = Record(7, NOW_MS, b"k", b'say "hi"\n', ((b"h", b"1"), (b"n", None), (b"b", b"\xff")))
    assert json_template().lines(run_of([record], "orders", 3)) == (
        b'{"schema":1,"topic":"orders","partition":3,"offset":7,"timestamp":1700000000123,'
        b'"timestamp_type":"CreateTime","key":"k","value":"say \\"hi\\"\\n",'
        b'"headers":[["h","1"],["n",null],["b",{"b64":"/w=="}]],"leader_epoch":5}\n'
    )


byte_strings = st.none() | st.binary(max_size=6) | st.text(max_size=6).map(str.encode)


@pytest.mark.thorough
@given(
    st.lists(
        st.tuples(
            byte_strings, byte_strings, st.lists(st.tuples(st.text(max_size=3), byte_strings))
        ),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([1, 60]),
)
def test_nothing_is_lost(
    rows: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]], times: int
) -> None:
    """Whatever bytes keys, values and headers hold, they can be had back; few records or many."""
    records = [
        Record(n, n, key, value, tuple((name.encode(), data) for name, data in headers))
        for n, (key, value, headers) in enumerate(rows * times)
    ]

    found = documents(run_of(records))

    assert [each["offset"] for each in found] == [each.offset for each in records]
    assert [back(each, "key") for each in found] == [each.key for each in records]
    assert [back(each, "value") for each in found] == [each.value for each in records]
    for document, record in zip(found, records, strict=True):
        headers = [
            (key.encode(), base64.b64decode(value["b64"]) if isinstance(value, dict) else value)
            for key, value in document["headers"]
        ]
        expected = [(key, _text(value)) for key, value in record.headers]
        assert headers == expected


def _text(value: bytes | None) -> str | bytes | None:
    """Return bytes as text if they are UTF-8."""
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return value


def test_a_tombstone_is_not_an_empty_value() -> None:
    """Null and the empty text are told apart."""
    values = [each["value"] for each in documents(valued(None, b""))]
    assert values == [None, ""]
    assert [each["value"] for each in documents(valued(None, None))] == [None, None]


def test_marks_are_there_only_where_they_apply() -> None:
    """Aborted records say so, and control records what they mark."""
    (aborted,) = documents(run_of([Record(0)], is_aborted=True))
    (control,) = documents(marker(ControlType.ABORT))
    (plain,) = documents(valued(b"v"))
    assert aborted["aborted"] is True
    assert control["control"] == "ABORT"
    assert control["value"] == {"coordinatorEpoch": 3}
    assert {"aborted", "control"} & set(plain) == set()


def test_timestamps_say_what_they_are() -> None:
    """Of the producer, or of the broker."""
    header = BatchHeader(timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=77)
    (document,) = documents(run_of([Record(0, 5)], header=header))
    assert (document["timestamp"], document["timestamp_type"]) == (77, "LogAppendTime")


def test_a_format_makes_values_json() -> None:
    """What does not fit it is written as without it."""
    found = documents(valued(b'{"a": 1}', b"x", None), value_format=ValueFormat.JSON)
    assert [each["value"] for each in found] == [{"a": 1}, "x", None]
    found = documents(valued(b"\x00\x00\x00\x07", b"\xff"), value_format=ValueFormat.INT)
    assert found[0]["value"] == 7
    assert found[1]["value_b64"] == "/w=="


def test_kafkas_own_records_are_decoded_in_place() -> None:
    """With their type; what is not known stays text or base64."""
    key = bytes.fromhex("0001 0001 67 0001 74 00000002")
    records = [Record(0, 0, key, None), Record(1, 0, b"\xff", b"v")]
    run = run_of(records, "__consumer_offsets")
    decoded, odd = documents(run)
    assert decoded["type"] == "OffsetCommit"
    assert decoded["key"] == {"group": "g", "topic": "t", "partition": 2}
    assert decoded["value"] is None
    assert (odd["key_b64"], odd["value"]) == ("/w==", "v")
    (raw, _) = documents(run, ValueFormat.TEXT, ValueFormat.TEXT)
    assert "type" not in raw


@for_each(
    ("topic", "form", "expected"),
    [
        ("__consumer_offsets", ValueFormat.AUTO, True),
        ("__transaction_state", ValueFormat.AUTO, True),
        ("__share_group_state", ValueFormat.AUTO, True),
        ("__consumer_offsets", ValueFormat.HEX, False),
        ("orders", ValueFormat.AUTO, False),
    ],
)
def test_only_topics_of_the_coordinators_hold_messages(
    topic: str, form: ValueFormat, *, expected: bool
) -> None:
    """And only where no format says otherwise."""
    assert is_internal(run_of([Record(0)], topic), form) is expected


def test_records_come_back_one_by_one() -> None:
    """As they were written."""
    records = [Record(n, n, b"k", None, ((b"h", b"v"),)) for n in range(3)]
    assert records_of(run_of(records)) == records
