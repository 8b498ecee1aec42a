import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag_cli.output.json_text import print_json, write_pieces
from programs.kdiag_program import Printed

DATA = b'{"schema":1,"name":"a\\"b","data":[-1.5e3,true,null,{}],"why":"x: 1, null"}'
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def printed(output: Printed, data: bytes, *, is_line: bool = False) -> str:
    """Return what is printed of a document."""
    print_json(output, data, is_line=is_line)
    return output.text


CONTROLS = "\x7f\x85\x9b\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\U000e0041"
READABLE = "Αθήνα Москва 北京 café 👩\u200d🔧 นี่\u200cครับ"


def as_utf8(value: object) -> bytes:
    """Return JSON with as few escapes as it may have."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


@pytest.mark.thorough
@given(VALUES | st.text(CONTROLS + READABLE).map(lambda text: {text: [text]}))
def test_json_in_a_pipe_is_one_line_to_every_reader_and_harmless(value: object) -> None:
    """It is the same document; a terminal that shows it stays as it is."""
    data = as_utf8(value)
    text = printed(Printed(), data)

    assert json.loads(text) == json.loads(data)
    assert text.splitlines() == [text[:-1]]
    assert not re.search(f"[\x00-\x09\x0b-\x1f\x80-\x9f{CONTROLS}]", text)


def test_letters_stay_as_they_are() -> None:
    """Names in other scripts can be read, with the joiners that some need."""
    data = as_utf8({"topic": READABLE})
    assert printed(Printed(), data) == data.decode() + "\n"


@pytest.mark.parametrize("is_line", [True, False])
def test_json_in_a_pipe_is_the_bytes_that_were_made(*, is_line: bool) -> None:
    """On one line, whatever they are."""
    assert printed(Printed(), DATA, is_line=is_line) == DATA.decode() + "\n"


def test_json_on_a_terminal_has_a_line_for_each_value() -> None:
    """Without colours where these are forbidden."""
    assert printed(Printed(80), b'{"a":[1,{"b":null}]}').splitlines() == [
        "{",
        '  "a": [',
        "    1,",
        "    {",
        '      "b": null',
        "    }",
        "  ]",
        "}",
    ]


def test_keys_texts_numbers_and_words_have_colours_of_their_own() -> None:
    """What is inside a text is text."""
    text = printed(Printed(80, has_colour=True), DATA, is_line=True)

    assert text == (
        '{\x1b[1;34m"schema"\x1b[0m:\x1b[36m1\x1b[0m,'
        '\x1b[1;34m"name"\x1b[0m:\x1b[32m"a\\"b"\x1b[0m,'
        '\x1b[1;34m"data"\x1b[0m:[\x1b[36m-1.5e3\x1b[0m,\x1b[2mtrue\x1b[0m,\x1b[2mnull\x1b[0m,{}],'
        '\x1b[1;34m"why"\x1b[0m:\x1b[32m"x: 1, null"\x1b[0m}\n'
    )


@given(VALUES)
def test_json_on_a_terminal_is_the_same_document_and_harmless(value: object) -> None:
    """Whoever copies it has it; no character of it can move the cursor."""
    data = as_utf8(value)
    text = printed(Printed(80), data)

    assert json.loads(text) == json.loads(data)
    assert all(character.isprintable() for character in text.replace("\n", ""))


def test_characters_beyond_the_basic_plane_are_escaped_in_pairs() -> None:
    """As JSON has it."""
    assert "\\udb40\\udc41" in printed(Printed(80), json.dumps("\U000e0041").encode())
    assert "\\u009b" in printed(Printed(80), '"\x9b"'.encode(), is_line=True)


@pytest.mark.parametrize("width", [None, 80])
def test_pieces_make_one_text_wherever_they_are_cut(width: int | None) -> None:
    """A colour needs the whole of a text."""
    output = Printed(width)

    write_pieces(output, (DATA[:20], DATA[20:21], DATA[21:]))

    assert output.text == DATA.decode()


def test_pieces_in_a_pipe_are_harmless() -> None:
    """As whole documents are."""
    output = Printed()

    write_pieces(output, ('{"a":"\x9b'.encode(), '\u202e"}'.encode()))

    assert output.text == '{"a":"\\u009b\\u202e"}'
