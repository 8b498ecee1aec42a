from collections.abc import Sequence

from kdiag.wire.records.record import ControlType, Record
from kdiag_cli.commands.tail.text_columns import TextColumns, safe_lines
from kdiag_cli.commands.tail.value_format import ValueFormat
from made_values.record_run_maker import marker, run_of, valued
from tiers.cases import for_each

PIPE = TextColumns()
OFFSET_KEY = bytes.fromhex("0001 0001 67 0001 74 00000002")
"""The key of an offset commit: group g, topic t, partition 2."""
OFFSET_VALUE = bytes.fromhex("0001 0000000000000007 0000") + bytes(16)


def pieces(found: Sequence[bytes | list[bytes]]) -> list[bytes]:
    """Return the only piece of a column."""
    (piece,) = found
    return piece if isinstance(piece, list) else [piece]


def test_bytes_are_themselves_in_a_pipe() -> None:
    """Null is nothing there."""
    run = run_of([Record(0, 0, b"\xff", None), Record(1, 0, None, b"\x1b[31m")])
    assert pieces(PIPE.key(run)) == [b"\xff", b""]
    assert pieces(PIPE.value(run)) == [b"", b"\x1b[31m"]


def test_bytes_are_harmless_on_a_terminal() -> None:
    """Line feeds and tabs stay: a format string may want them."""
    screen = TextColumns(is_terminal=True)
    assert pieces(screen.value(valued(b"\x1b[31m\ta\nb"))) == [b"\\x1b[31m\ta\nb"]


@for_each(
    ("data", "text"),
    [
        (b"plain", "plain"),
        ("grün".encode(), "grün"),
        (b"\xff", "\\xff"),
        ("\x9b1m".encode(), "\\x9b1m"),
        ("\u202eabc".encode(), "\\u202eabc"),
        (b"a\r\nb", "a\\x0d\nb"),
    ],
)
def test_what_could_do_something_to_a_terminal_is_an_escape(data: bytes, text: str) -> None:
    """What it could only show stays."""
    assert safe_lines(data).decode() == text


def test_headers_are_written_as_kcat_does() -> None:
    """With commas; null is NULL."""
    run = run_of([Record(0, 0, headers=((b"a", b"1"), (b"b", None))), Record(1)])
    assert pieces(PIPE.headers(run)) == [b"a=1,b=NULL", b""]
    assert pieces(PIPE.headers(valued(b"1", b"2"))) == [b""]


def test_marks_tell_what_is_unlike_other_records() -> None:
    """Aborted records and what ends transactions."""
    aborted = run_of([Record(0)], is_aborted=True)
    assert pieces(PIPE.mark(aborted)) == [b"aborted"]
    assert pieces(PIPE.mark(valued(b""))) == [b"-"]
    assert pieces(PIPE.mark(marker(ControlType.ABORT))) == [b"ABORT"]


def test_a_control_record_shows_what_is_in_it() -> None:
    """Its key only says what it is."""
    assert pieces(PIPE.key(marker())) == [b""]
    assert pieces(PIPE.value(marker())) == [b'{"coordinatorEpoch":3}']


def test_records_of_kafkas_own_topics_are_decoded() -> None:
    """Unless another format is asked for; what cannot be read stays as it is."""
    records = [Record(0, 0, OFFSET_KEY, OFFSET_VALUE), Record(1, 0, b"\x00\x63", b"?")]
    run = run_of(records, "__consumer_offsets")
    key, odd_key = pieces(PIPE.key(run))
    value, odd_value = pieces(PIPE.value(run))
    assert key == b'OffsetCommit {"group":"g","topic":"t","partition":2}'
    assert value.startswith(b'{"offset":7,')
    assert (odd_key, odd_value) == (b"\x00\x63", b"?")
    raw = TextColumns(key_format=ValueFormat.HEX, value_format=ValueFormat.HEX)
    assert pieces(raw.key(run))[0] == OFFSET_KEY.hex().encode()
    assert pieces(raw.value(run))[1] == b"3f"
