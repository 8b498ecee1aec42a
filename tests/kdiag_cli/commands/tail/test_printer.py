from kdiag.probe.tail.record_runs import MAX_RUN_BYTES
from kdiag.wire.records.record import Record
from kdiag_cli.commands.tail.json_columns import json_template
from kdiag_cli.commands.tail.printer import (
    JsonPrinter,
    LinePrinter,
    TerminalPrinter,
    default_template,
    time_text,
)
from kdiag_cli.commands.tail.text_columns import TextColumns
from kdiag_cli.commands.tail.value_format import ValueFormat
from made_values.record_run_maker import NOW_MS, marker, run_of, valued
from programs.kdiag_program import Printed

TIME = "2023-11-14 22:13:20.123"
SCREEN = TextColumns(is_terminal=True)
OFFSET_KEY = bytes.fromhex("0001 0001 67 0001 74 00000002")


def test_a_pipe_gets_values_and_nothing_else() -> None:
    """Null is an empty line, and bytes are as they are."""
    output = Printed()
    printer = LinePrinter(output, default_template(TextColumns(), has_marks=False))
    printer.write(valued(b"a", None, b"\x1b[31m"))
    printer.finish()
    assert output.text == "a\n\n\x1b[31m\n"
    assert printer.only_values


def test_a_pipe_gets_marks_where_they_are_asked_for() -> None:
    """Each line begins with what its record is."""
    output = Printed()
    printer = LinePrinter(output, default_template(TextColumns(), has_marks=True))
    for run in (valued(b"a"), run_of([Record(8, 0, None, b"b")], is_aborted=True), marker()):
        printer.write(run)
    assert output.lines == ["-\ta", "aborted\tb", 'COMMIT\t{"coordinatorEpoch":3}']


def test_a_pipe_gets_keys_of_kafkas_own_topics() -> None:
    """There is nothing to see in the value of an offset without its key."""
    output = Printed()
    printer = LinePrinter(output, default_template(TextColumns(), has_marks=False))
    printer.write(run_of([Record(0, 0, OFFSET_KEY, None)], "__consumer_offsets"))
    assert output.lines == ['OffsetCommit {"group":"g","topic":"t","partition":2}\t']


def test_a_terminal_gets_columns() -> None:
    """Time, place, key, value, headers; null is told from nothing."""
    output = Printed(200)
    printer = TerminalPrinter(output, SCREEN, is_wide=False)
    printer.write(
        run_of(
            [
                Record(7, NOW_MS, b"k", b"value", ((b"h", b"1"),)),
                Record(10, -1, None, None),
                Record(11, NOW_MS, b"", b"\x1b[31mred\n"),
            ]
        )
    )
    assert output.lines == [
        "times are in UTC",
        f"{TIME}  orders[0]@7  k  value  h=1",
        "-  orders[0]@10  null  null",
        f"{TIME}  orders[0]@11    \\x1b[31mred\\x0a",
    ]


def test_a_terminal_gets_lines_that_fit() -> None:
    """What is left out shows as an ellipsis; `--wide` prints it all."""
    run = run_of([Record(7, NOW_MS, b"k" * 80, b"v" * 300)])
    narrow, wide = Printed(120), Printed(120)
    TerminalPrinter(narrow, SCREEN, is_wide=False).write(run)
    TerminalPrinter(wide, SCREEN, is_wide=True).write(run)
    assert narrow.lines[1:] == [f"{TIME}  orders[0]@7  {'k' * 39}…  {'v' * 39}…"]
    assert len(narrow.lines[1]) == 120
    assert wide.lines[1:] == [f"{TIME}  orders[0]@7  {'k' * 80}  {'v' * 300}"]


def test_a_terminal_shows_what_is_unlike_other_records() -> None:
    """The mark stands before the key."""
    output = Printed(200)
    printer = TerminalPrinter(output, SCREEN, is_wide=False)
    printer.write(run_of([Record(7, NOW_MS, b"k", b"v")], is_aborted=True))
    printer.write(marker())
    assert output.lines == [
        "times are in UTC",
        f"{TIME}  orders[0]@7  aborted  k  v",
        f'{TIME}  orders[0]@9  COMMIT    {{"coordinatorEpoch":3}}',
    ]


def test_partitions_have_colours() -> None:
    """Neighbours differ, and the sixth is as the first."""
    lines = []
    for partition in (0, 1, 5):
        output = Printed(200, has_colour=True)
        TerminalPrinter(output, SCREEN, is_wide=False).write(
            run_of([Record(7, NOW_MS, b"k", b"v")], partition=partition)
        )
        lines.append(output.text)
    assert "\x1b[36morders[0]@7\x1b[0m" in lines[0]
    assert "\x1b[32morders[1]@7\x1b[0m" in lines[1]
    assert "\x1b[36morders[5]@7\x1b[0m" in lines[2]


def test_pretty_json_has_lines_of_its_own() -> None:
    """It is not cut; a line feed in another value is an escape."""
    output = Printed(80)
    columns = SCREEN.with_formats(ValueFormat.AUTO, ValueFormat.JSON)
    printer = TerminalPrinter(output, columns, is_wide=False)
    printer.write(valued(b'{"a":"' + b"x" * 100 + b'"}'))
    assert output.lines == [
        "times are in UTC",
        f"{TIME}  orders[0]@7  null  ",
        "{",
        f'  "a": "{"x" * 100}"',
        "}",
    ]


def test_json_is_harmless_and_still_the_same() -> None:
    """On a terminal and in a pipe, controls become an escape of JSON's own."""
    value = "\x7f\x9b \u202e \U000e0001 ü".encode()
    for output in (Printed(80), Printed()):
        JsonPrinter(output, json_template()).write(valued(value))
        assert '"value":"\\u007f\\u009b \\u202e \\udb40\\udc01 ü"' in output.text


def test_runs_are_small_where_a_person_may_stop_them() -> None:
    """And as large as they should be in a pipe."""
    small = JsonPrinter(Printed(80), json_template()).run_bytes
    large = JsonPrinter(Printed(), json_template()).run_bytes
    assert small < large == MAX_RUN_BYTES


def test_a_time_that_no_calendar_has_is_a_number() -> None:
    """A timestamp is what a producer says it is."""
    assert time_text(1 << 60) == "1152921504606846976 ms since 1970"
