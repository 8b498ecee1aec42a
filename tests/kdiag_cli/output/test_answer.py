import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kdiag_cli.output.answer import AnswerFormat, TableAnswer, print_answer
from programs.kdiag_program import Printed
from tiers.cases import for_each

NAMES = ["api", "n", "topics", "time"]
TIME = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
BATCH = pa.RecordBatch.from_pydict(
    {
        "api": ["Fetch", "a\x1b[2J,b", None],
        "n": [1, 20, None],
        "topics": [["x", "y"], [], None],
        "time": pa.array([TIME, TIME, None], pa.timestamp("us", tz="UTC")),
    }
)


def printed(form: AnswerFormat, *, width: int | None = None, has_headers: bool = True) -> str:
    """Return what is printed of the batch."""
    output = Printed(width)
    answer = TableAnswer(NAMES, [BATCH])
    print_answer(output, answer, form, command="query", has_headers=has_headers)
    return output.text


def test_people_get_a_table() -> None:
    """Nothing that stands in a cell can move the cursor."""
    lines = printed(AnswerFormat.TABLE, width=80).splitlines()

    assert lines[0].split() == ["API", "N", "TOPICS", "TIME"]
    assert lines[1].split() == ["Fetch", "1", '["x","y"]', "2026-01-02T03:04:05.000006Z"]
    assert "\\x1b[2J" in lines[2]
    assert lines[3].split() == ["-", "-", "-", "-"]
    assert len(printed(AnswerFormat.TABLE, has_headers=False).splitlines()) == 3


def test_long_cells_are_cut_on_a_terminal_unless_all_was_asked_for() -> None:
    """They are still read in several lines; in a pipe nothing is cut."""
    batch = pa.RecordBatch.from_arrays([pa.array(["x" * 600]), pa.array(["y" * 100])], ["a", "b"])
    for width, is_wide, shown in ((80, False, 499), (80, True, 600), (None, False, 600)):
        output = Printed(width)
        output.is_wide = is_wide
        print_answer(output, TableAnswer(["a", "b"], [batch]), AnswerFormat.TABLE, command="query")
        assert (output.text.count("x"), output.text.count("y")) == (shown, 100)


def test_what_is_wide_makes_room_for_the_rest_and_has_units() -> None:
    """As a report says; the numbers of a query are as it makes them."""
    values = [pa.array(["x" * 30]), pa.array([1_500]), pa.array(["y" * 50])]
    batch = pa.RecordBatch.from_arrays(values, ["topic", "p99_us", "client"])
    answer = TableAnswer(["topic", "p99_us", "client"], [batch])
    report, query = Printed(60), Printed(60)

    print_answer(report, answer, AnswerFormat.TABLE, command="report latency", wide=["client"])
    print_answer(query, answer, AnswerFormat.TABLE, command="query")

    assert report.lines[0].split() == ["TOPIC", "P99"]
    assert report.lines[1].split()[1:] == ["1.50", "ms"]
    assert query.lines[0].split() == ["TOPIC", "P99-US", "CLIENT"]
    assert query.lines[1].split()[1] == "1500"


def test_of_very_many_columns_the_first_are_shown() -> None:
    """Nobody types out more than eight, and who does not may ask for all with `--wide`."""
    names = [f"column_{number}" for number in range(12)]
    batch = pa.RecordBatch.from_arrays([pa.array(["x" * 9])] * 12, names)
    some, few = Printed(80), Printed(80)

    print_answer(some, TableAnswer(names, [batch]), AnswerFormat.TABLE, command="query")
    print_answer(
        few, TableAnswer(names[:8], [batch.select(names[:8])]), AnswerFormat.TABLE, command="query"
    )

    assert some.lines[0].split() == [f"COLUMN-{number}" for number in range(7)]
    assert some.lines[2].startswith("5 columns left out (--wide shows all): COLUMN-7, ")
    assert [line.split()[0] for line in few.lines] == [f"COLUMN-{number}" for number in range(8)]


def test_programs_get_one_document_or_a_line_for_each_row() -> None:
    """The same objects."""
    document = json.loads(printed(AnswerFormat.JSON))
    lines = [json.loads(line) for line in printed(AnswerFormat.JSONL).splitlines()]

    assert list(document) == ["schema", "command", "data", "warnings", "findings"]
    assert (document["schema"], document["command"]) == (1, "query")
    assert document["data"] == lines
    assert lines[0] == {
        "api": "Fetch",
        "n": 1,
        "topics": ["x", "y"],
        "time": "2026-01-02T03:04:05.000006Z",
    }
    assert set(lines[2].values()) == {None}


def test_csv_has_empty_cells_for_null_and_json_for_lists() -> None:
    """What could move a cursor is an escape, in a pipe, too."""
    lines = printed(AnswerFormat.CSV).splitlines()

    assert lines[:2] == ["api,n,topics,time", 'Fetch,1,"[""x"",""y""]",2026-01-02T03:04:05.000006Z']
    assert lines[2].startswith('"a\\x1b[2J,b",20,[],')
    assert lines[3] == ",,,"
    assert printed(AnswerFormat.CSV, has_headers=False).startswith("Fetch,")


@for_each(
    ("value", "type_", "expected"),
    [
        (Decimal(12), pa.decimal128(38, 0), 12),
        (Decimal("1.50"), pa.decimal128(18, 2), 1.5),
        (float("nan"), pa.float64(), "NaN"),
        (float("-inf"), pa.float64(), "-Infinity"),
        (b"\xff\x00", pa.binary(), "/wA="),
        (True, pa.bool_(), True),
        ({"a": b"\x01"}, pa.struct([("a", pa.binary())]), {"a": "AQ=="}),
        (timedelta(seconds=90), pa.duration("us"), "0:01:30"),
        ([("k", 1)], pa.map_(pa.string(), pa.int64()), [["k", 1]]),
    ],
)
def test_every_value_has_a_form_in_json(value: Any, type_: pa.DataType, expected: object) -> None:
    """The forms of the output contract, for whatever SQL may give."""
    batch = pa.RecordBatch.from_arrays([pa.array([value], type_)], ["v"])
    output = Printed()
    print_answer(output, TableAnswer(["v"], [batch]), AnswerFormat.JSONL, command="query")

    assert json.loads(output.text) == {"v": expected}


def test_columns_of_the_same_name_are_told_apart() -> None:
    """No value is lost."""
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], ["a"] * 3)

    assert TableAnswer(["a"] * 3, [batch]).names == ["a", "a_2", "a_3"]
    assert list(TableAnswer(["a"] * 3, [batch]).documents()) == [{"a": 1, "a_2": 2, "a_3": 3}]


def test_times_that_no_calendar_has_are_numbers() -> None:
    """A damaged capture may hold any: here microseconds since 1970."""
    times = pa.array([1 << 62, 0], pa.timestamp("us", tz="UTC"))
    batch = pa.RecordBatch.from_arrays([times], ["t"])
    output = Printed()
    print_answer(output, TableAnswer(["t"], [batch]), AnswerFormat.CSV, command="query")

    assert output.lines == ["t", str(1 << 62), "0"]


def test_truth_is_written_as_in_json() -> None:
    """Not as in Python."""
    batch = pa.RecordBatch.from_arrays([pa.array([True, False])], ["ok"])
    output = Printed()
    print_answer(output, TableAnswer(["ok"], [batch]), AnswerFormat.CSV, command="query")

    assert output.lines == ["ok", "true", "false"]
