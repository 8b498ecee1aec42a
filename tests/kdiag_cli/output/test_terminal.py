import fcntl
import io
import os
import pty
import struct
import sys
import termios
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag_cli.ending import close_quietly
from kdiag_cli.output.terminal import (
    BOLD,
    RED,
    Output,
    can_write_over,
    choose_colour,
    clipped,
    columns_of,
    harmless,
    padded,
    print_paragraph,
    readable,
    require_reader,
    say,
    table,
    widen,
    width_of,
    write_over,
)
from programs.kdiag_program import Printed, Screen
from tiers.cases import for_each


@for_each(
    ("text", "shown"),
    [
        ("order-writer", "order-writer"),
        ("naïve 注文", "naïve 注文"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\r\nb\tc", "a\\x0d\\x0ab\\x09c"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202eevil", "\\u202eevil"),
        ("\U000e0041", "\\U000e0041"),
        ("\udcff", "\\xff"),
        ("é\x00", "é\\x00"),
    ],
)
def test_control_characters_from_the_wire_are_shown_as_escapes(text: str, shown: str) -> None:
    """A client id cannot move the cursor, change colours or the direction of writing."""
    assert shown == harmless(text)


@given(st.text(st.characters(codec=None)))
def test_whatever_is_made_harmless_is_printable_and_stays_so(text: str) -> None:
    """There is no way around it, and doing it twice changes nothing."""
    shown = harmless(text)

    assert shown.isprintable()
    assert harmless(shown) == shown


def test_a_pipe_has_neither_width_nor_colour() -> None:
    """Lines for other programs are whole and plain."""
    output = Output(Screen(is_terminal=False))

    assert output.width is None
    assert not output.has_colour
    assert output.paint("text", RED, BOLD) == "text"


def test_a_terminal_has_the_width_that_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """`COLUMNS` is what shells tell programs."""
    monkeypatch.setenv("COLUMNS", "77")

    assert Output(Screen(is_terminal=True)).width == 77


def test_a_stream_is_asked_for_its_own_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of stderr it counts where stdout is a file; a serial line does not know its own."""
    monkeypatch.delenv("COLUMNS", raising=False)
    master, slave = pty.openpty()
    with os.fdopen(master), os.fdopen(slave, "w", encoding="utf-8") as stream:
        assert width_of(stream) == 100
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 66, 0, 0))
        assert width_of(stream) == 66
    assert width_of(Screen(is_terminal=True)) == 100


def test_a_terminal_has_colours_unless_they_are_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """The convention is that of no-color.org: any value but the empty one forbids."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Output(Screen(is_terminal=True)).paint("x", BOLD, RED) == "\x1b[1;31mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "")
    assert Output(Screen(is_terminal=True)).has_colour

    monkeypatch.setenv("NO_COLOR", "1")

    assert Output(Screen(is_terminal=True)).paint("x", RED) == "x"


def test_a_dumb_terminal_has_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor can lines be written over there."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "dumb")
    screen = Screen(is_terminal=True)

    assert not Output(screen).has_colour
    assert not can_write_over(screen)


def test_the_environment_can_force_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a pipe and on a dumb terminal; who forbids them has the last word."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    assert Output(Screen(is_terminal=False)).has_colour
    assert Output(Screen(is_terminal=True)).has_colour
    monkeypatch.setenv("NO_COLOR", "1")
    assert not Output(Screen(is_terminal=True)).has_colour


def test_what_is_chosen_counts_more_than_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until something else is chosen."""
    monkeypatch.setenv("NO_COLOR", "1")
    choose_colour(choice=True)
    assert Output(Screen(is_terminal=False)).has_colour
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    choose_colour(choice=False)
    assert not Output(Screen(is_terminal=True)).has_colour
    choose_colour(None)
    assert Output(Screen(is_terminal=True)).has_colour


def test_an_empty_text_is_not_painted() -> None:
    """An empty cell leaves no codes in the line."""
    assert Printed(80, has_colour=True).paint("", RED) == ""


def test_an_encoding_without_arrows_gets_plain_ones() -> None:
    """A terminal of old that knows ASCII alone still shows every line."""
    output = Printed(encoding="ascii")

    output.line("1 µs a → b … 注")

    assert output.text == "1 us a -> b .. \\u6ce8\n"
    assert readable("━━╸ • 1", "ascii") == "--- * 1"
    assert readable("├─ a └─ b", "ascii") == "|- a `- b"
    assert readable("━━╸ • 1", "utf-8") == "━━╸ • 1"


def test_what_is_written_stays_until_it_is_flushed_or_much() -> None:
    """Small writes are handed over together."""
    screen = Screen(is_terminal=False)
    output = Output(screen)
    output.write(b"a")
    assert screen._bytes.getvalue() == b""

    output.write(b"b" * 70_000)

    assert len(screen._bytes.getvalue()) == 70_001
    output.line("end")
    output.flush()
    assert screen._bytes.getvalue().endswith(b"bend\n")


def test_the_standard_output_is_what_is_written_to(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """Without a stream it is that of the process."""
    output = Output()

    output.line("here")
    output.flush()

    assert capsysbinary.readouterr().out == b"here\n"


def test_what_is_said_goes_to_stderr_and_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    """Data and remarks do not mix; a file name may hold anything."""
    say("one", "two\x1b[0m")

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "kdiag: one\nkdiag: two\\x1b[0m\n"


def test_what_is_said_on_a_terminal_fits_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes on stands below the text, not below the name of the program."""
    screen = Screen(is_terminal=True)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "24")

    say("one two three four five", "  six")

    assert screen.text.splitlines() == [
        "kdiag: one two three",
        "       four five",
        "kdiag:   six",
    ]


def test_a_paragraph_is_one_line_in_a_pipe_and_fits_a_terminal() -> None:
    """What stands before its lines is up to whoever prints it."""
    text = "注文 two three"
    shown = []
    for width in (None, 16, 15):
        output = Printed(width)
        print_paragraph(output, text, "# ", "# ")
        shown.append(output.lines)

    assert shown == [[f"# {text}"], [f"# {text}"], ["# 注文 two", "# three"]]


@for_each(("width", "shown"), [(8, "12345678"), (7, "123456…"), (1, "…"), (0, "")])
def test_a_text_is_cut_to_a_width(width: int, shown: str) -> None:
    """An ellipsis says that something is left out."""
    assert shown == clipped("12345678", width)


def test_a_table_has_aligned_columns_and_no_blanks_at_the_end() -> None:
    """Each column is as wide as its widest cell."""
    rows = [("NAME", "COUNT"), ("a", "1"), ("longer", "")]

    assert table(rows) == ["NAME    COUNT", "a       1", "longer"]


def test_after_the_reader_has_gone_nothing_complains(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is still written to the broken pipe disappears."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "w", encoding="utf-8") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        os.close(reading)

        close_quietly()

        stdout.write("lost")
        stdout.flush()
        assert os.fstat(stdout.fileno()).st_rdev == Path(os.devnull).stat().st_rdev


@for_each(
    ("text", "columns"), [("", 0), ("plain", 5), ("注文", 4), ("e\u0301", 1), ("→…", 2), ("ｱ", 1)]
)
def test_columns_are_counted_as_terminals_do(text: str, columns: int) -> None:
    """A wide character takes two, an accent none of its own."""
    assert columns_of(text) == columns
    assert columns_of(padded(text, 9)) == 9


@pytest.mark.thorough
@given(st.text(st.characters(codec="utf-8")), st.integers(-1, 30))
def test_a_clipped_text_fits(text: str, width: int) -> None:
    """Whatever its characters are; what fits stays."""
    shown = clipped(harmless(text), width)

    assert columns_of(shown) <= max(width, 0)
    if columns_of(harmless(text)) <= width:
        assert shown == harmless(text)


def test_a_wide_character_is_not_cut_in_two() -> None:
    """What has no room for it ends before."""
    assert [clipped("注文書", width) for width in (6, 5, 4, 3, 1, 0)] == [
        "注文書",
        "注文…",
        "注…",
        "注…",
        "…",
        "",
    ]


def test_tables_count_columns() -> None:
    """Cells with wide characters line up with others."""
    assert table([("注文", "1"), ("plain", "2")]) == ["注文   1", "plain  2"]


def test_a_line_is_written_in_place_of_the_last(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty one removes it."""
    write_over("half")
    write_over()

    assert capsys.readouterr().err == "\r\x1b[Khalf\r\x1b[K"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can change the size of a pipe")
def test_a_pipe_takes_a_megabyte() -> None:
    """Its writer need not wait for that long."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb"), os.fdopen(writer, "w", encoding="utf-8") as stream:
        widen(stream)
        assert fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ) == 1 << 20


def test_what_is_no_pipe_stays_as_it_is(tmp_path: Path) -> None:
    """A file, or no file at all."""
    with (tmp_path / "file").open("w", encoding="utf-8") as stream:
        widen(stream)
    widen(io.StringIO())


def test_a_pipe_without_a_reader_is_told(tmp_path: Path) -> None:
    """Before anything is written; all other streams may be read by somebody, at some time."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        require_reader(stream)
        os.close(reader)
        with pytest.raises(BrokenPipeError):
            require_reader(stream)
    with (tmp_path / "file").open("w", encoding="utf-8") as stream:
        require_reader(stream)
    require_reader(io.StringIO())
