import pytest

from kdiag.errors import ConfigError
from kdiag.wire.records.record import Record
from kdiag_cli.commands.tail.format_string import parse_format
from kdiag_cli.commands.tail.text_columns import TextColumns
from made_values.record_run_maker import NOW_MS, marker, run_of
from tiers.cases import for_each

RECORD = Record(7, NOW_MS, b"key", b"value", ((b"a", b"1"), (b"b", None)))
NULLS = Record(8, -1)


def line(text: str, record: Record = RECORD) -> bytes:
    """Return what a format string makes of a record."""
    return parse_format(text, TextColumns()).lines(run_of([record], "orders", 3))


@for_each(
    ("text", "expected"),
    [
        (r"%t[%p]@%o %T %k %s\n", b"orders[3]@7 1700000000123 key value\n"),
        (r"%v", b"value"),
        (r"%K %S %V", b"3 5 5"),
        (r"%R", b"\x00\x00\x00\x05"),
        (r"%h|%H", b"a=1,b=NULL|2"),
        (r"%d", b"1700000000123"),
        (r"%d{strftime[%F %T]}", b"2023-11-14 22:13:20"),
        (r"%e %a", b"5 -"),
        (r"%%s\t\\\x41\r", b"%s\t\\A\r"),
        (r"%k{hex} %s{base64} %v{hex}", b"6b6579 dmFsdWU= 76616c7565"),
        ("%s ü\n", "value ü\n".encode()),
        ("", b""),
    ],
)
def test_verbs_of_kcat_and_kcl_are_understood(text: str, expected: bytes) -> None:
    """As both print them, where they agree."""
    assert line(text) == expected


@for_each(
    ("text", "expected"),
    [
        ("[%k] [%s] %K %S", b"[] [] -1 -1"),
        ("%R", b"\xff\xff\xff\xff"),
        ("%T %d{strftime[%F]}", b"-1 -"),
        ("%h|%H", b"|0"),
    ],
)
def test_nothing_has_a_length_of_its_own(text: str, expected: bytes) -> None:
    """-1, where an empty value has 0."""
    assert line(text, NULLS) == expected


def test_a_time_that_no_calendar_has_is_a_number() -> None:
    """A timestamp is what a producer says it is."""
    assert line("%d{strftime[%F]}", Record(0, 1 << 60)) == b"1152921504606846976"


def test_a_control_record_has_a_mark() -> None:
    """It has no other way to be told from a record."""
    assert parse_format("%o %a %s", TextColumns()).lines(marker()) == (
        b'9 COMMIT {"coordinatorEpoch":3}'
    )


@for_each(
    ("text", "place"),
    [
        ("%t %q", "'%q' at character 4"),
        (r"\z", r"'\\z' at character 1"),
        ("ab%", "'%' at character 3"),
        ("\\", r"'\\' at character 1"),
        ("%k{zip}", "'%k{zip}' at character 1"),
        ("%t{hex}", "'%t{hex}' at character 1"),
        ("%d{%F}", "'%d{%F}' at character 1"),
        (r"\xg1", r"'\\x' at character 1"),
    ],
)
def test_what_is_no_verb_is_named_with_its_place(text: str, place: str) -> None:
    """Printing it as it stands would look like data."""
    with pytest.raises(ConfigError) as caught:
        parse_format(text, TextColumns())
    assert place in str(caught.value)
