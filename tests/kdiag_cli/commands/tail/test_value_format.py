from kdiag_cli.commands.tail.value_format import ValueFormat, json_of, text_of
from tiers.cases import for_each

GUID = bytes.fromhex("01 5a7cbb3f40a44a4da8d8e4d4ecf92f2f")
CASES: list[tuple[ValueFormat, bytes, bytes, bytes | None]] = [
    (ValueFormat.AUTO, b"\xff", b"\xff", None),
    (ValueFormat.TEXT, b"a", b"a", None),
    (ValueFormat.HEX, b"\x00\xff", b"00ff", b'"00ff"'),
    (ValueFormat.BASE64, b"\x00\xff", b"AP8=", b'"AP8="'),
    (ValueFormat.SHORT, b"\xff\xfe", b"-2", b"-2"),
    (ValueFormat.INT, b"\x00\x00\x01\x00", b"256", b"256"),
    (ValueFormat.LONG, b"\x7f" + b"\xff" * 7, b"9223372036854775807", b"9223372036854775807"),
    (ValueFormat.FLOAT, b"\x3f\xc0\x00\x00", b"1.5", b"1.5"),
    (ValueFormat.DOUBLE, b"\x3f\xf8" + bytes(6), b"1.5", b"1.5"),
    (ValueFormat.DOUBLE, b"\x7f\xf8" + bytes(6), b"NaN", b'"NaN"'),
    (ValueFormat.FLOAT, b"\xff\x80\x00\x00", b"-Infinity", b'"-Infinity"'),
    (ValueFormat.JSON, b'{ "a": 1.10 }\n', b'{"a":1.10}', b'{"a":1.10}'),
    (ValueFormat.SCHEMA, b"\x00\x00\x00\x00\x2aabc", b"schema 42: YWJj", None),
    (ValueFormat.SCHEMA, GUID + b"abc", b"schema 5a7cbb3f-40a4-4a4d-a8d8-e4d4ecf92f2f: YWJj", None),
]


@for_each(("form", "value", "text", "json"), CASES)
def test_a_value_is_written_as_what_it_is(
    form: ValueFormat, value: bytes, text: bytes, json: bytes | None
) -> None:
    """As text and in JSON."""
    assert text_of(form, [value, None], is_pretty=False) == [text, b""]
    if form is not ValueFormat.SCHEMA:
        assert json_of(form, value) == json


def test_the_schema_stands_beside_the_data_in_json() -> None:
    """Its number, or its GUID where the writer put that."""
    assert json_of(ValueFormat.SCHEMA, b"\x00\x00\x00\x00\x2aabc") == (
        b'{"schema_id":42,"data_b64":"YWJj"}'
    )
    assert json_of(ValueFormat.SCHEMA, GUID) == (
        b'{"schema_guid":"5a7cbb3f-40a4-4a4d-a8d8-e4d4ecf92f2f","data_b64":""}'
    )


@for_each(
    ("form", "value"),
    [
        (ValueFormat.INT, b"abc"),
        (ValueFormat.LONG, b""),
        (ValueFormat.JSON, b"{"),
        (ValueFormat.JSON, b'"\xff"'),
        (ValueFormat.JSON, b"[" * 100_000),
        (ValueFormat.SCHEMA, b"\x00\x01"),
        (ValueFormat.SCHEMA, b"abcdefgh"),
    ],
)
def test_what_does_not_fit_is_told_from_what_does(form: ValueFormat, value: bytes) -> None:
    """As text in hexadecimal behind 0x, in JSON as without the format."""
    (text,) = text_of(form, [value], is_pretty=False)
    assert text == b"0x" + value.hex().encode()
    assert json_of(form, value) is None


def test_json_takes_several_lines_where_it_may() -> None:
    """Each number stays as it was written."""
    (text,) = text_of(ValueFormat.JSON, [b'{"a":[1.10]}'], is_pretty=True)
    assert text == b'{\n  "a": [\n    1.10\n  ]\n}'
