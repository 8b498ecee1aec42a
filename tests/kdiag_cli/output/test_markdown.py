from hypothesis import given
from hypothesis import strategies as st

from kdiag_cli.output.markdown import markdown_lines
from kdiag_cli.output.terminal import columns_of
from programs.kdiag_program import Printed
from tiers.cases import for_each

PLAIN, COLOURED = Printed(80), Printed(80, has_colour=True)


def lines(text: str, width: int = 40) -> list[str]:
    """Return a text as it is shown without colours."""
    return list(markdown_lines(text, PLAIN, width))


def test_headings_lose_their_marks_and_are_bold() -> None:
    """Of any level, on the left; an empty line is around them."""
    assert lines("# One\n\n### two\ntext") == ["One", "", "two", "", "text"]
    assert list(markdown_lines("# One", COLOURED, 40)) == ["\x1b[1mOne\x1b[0m"]


def test_paragraphs_are_wrapped_anew() -> None:
    """Where the lines ended in the file does not matter; words with hyphens stay whole."""
    text = "one two\nthree four five six seven well-known"

    assert lines(text, 24) == ["one two three four five", "six seven well-known"]
    assert lines(text, 16) == ["one two three", "four five six", "seven well-known"]


def test_items_of_lists_stand_below_each_other() -> None:
    """What goes on stands below the text of its item."""
    text = "- one\n- two three\n  four five\n\n1. six"

    assert lines(text, 13) == [" • one", " • two three", "   four five", "", " 1 six"]


def test_code_stays_as_it_is() -> None:
    """With empty lines and marks in it; only a narrow terminal has two lines of one."""
    code = "a  `b`\n\n# " + "x" * 60

    assert lines(f"```\n{code}\n```\n\nend", 64) == [
        "  a  `b`",
        "",
        "  # " + "x" * 60,
        "",
        "end",
    ]
    assert lines("```sh\nls\n```") == ["  ls"]
    assert lines("```sh\nls one two\n```", 10) == ["  ls one", "  two"]


def test_a_table_is_aligned() -> None:
    """The rule below its head is not shown, a bar in a cell is."""
    text = "| a | long head |\n|---|:--:|\n| `x\\|y` | 1 |\n| z | |"

    assert lines(text) == ["a      long head", "`x|y`  1", "z"]
    assert list(markdown_lines(text, COLOURED, 40)) == [
        "\x1b[1ma    long head\x1b[0m",
        "x|y  1",
        "z",
    ]


def test_the_cells_of_a_wide_table_are_wrapped() -> None:
    """As long as enough of the column is left."""
    text = f"| code | meaning |\n|---|---|\n| 8 | {'word ' * 10}|\n| 9 | x |"

    assert lines(text, 36) == [
        "code  meaning",
        "8     word word word word word word",
        "      word word word word",
        "9     x",
    ]


def test_a_table_that_cannot_fit_becomes_blocks() -> None:
    """One for each row."""
    words = "word " * 10
    text = f"| fault | says | do |\n|---|---|---|\n| it fails | {words}| {words}|\n| b | c | d |"

    assert lines(text, 40) == [
        "fault  it fails",
        "says   word word word word word word",
        "       word word word word",
        "do     word word word word word word",
        "       word word word word",
        "",
        "fault  b",
        "says   c",
        "do     d",
    ]


def test_marked_words_are_painted_where_there_are_colours() -> None:
    """Also those that begin on one line and end on the next; else code keeps its marks."""
    text = "say `one two` and **three**"

    assert lines(text) == ["say `one two` and three"]
    assert list(markdown_lines(text, COLOURED, 10)) == [
        "say \x1b[36mone\x1b[0m",
        "\x1b[36mtwo\x1b[0m and",
        "\x1b[1mthree\x1b[0m",
    ]


def test_names_in_angle_brackets_are_no_html() -> None:
    """The titles of findings have them."""
    assert lines("- the certificate of <address> is **for** <names>", 80) == [
        " • the certificate of <address> is for <names>"
    ]


@for_each("text", ["", "\n\n", "```", "```\n", "#", "| a", "- ", "|a|\n|-|"])
def test_what_is_no_markdown_does_no_harm(text: str) -> None:
    """Something is shown, or nothing."""
    assert max(map(len, lines(text)), default=0) <= 40


@given(words=st.lists(st.text("abc`*|注<>", min_size=1, max_size=9), min_size=1, max_size=40))
def test_no_line_of_text_is_wider_than_asked_for(words: list[str]) -> None:
    """Whatever is in it."""
    text = "text " + " ".join(words)

    assert max(map(columns_of, lines(text, 30))) <= 30
