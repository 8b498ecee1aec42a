from kdiag_cli.output.table.layout import headers_of
from kdiag_cli.output.tcp_text import TCP_COLUMNS, ms_text, tcp_lines, tcp_phrase, tcp_row
from made_values.limited_connection import MS, connection_of, direction, facts_of


def test_a_row_has_a_cell_for_each_header() -> None:
    """Both directions are added up, and the vantage point is told."""
    facts = facts_of(direction(retransmits=1200, zero_windows=2, stalled_ns=1500 * MS))
    row = dict(zip(headers_of(TCP_COLUMNS), tcp_row(connection_of(facts), facts), strict=True))
    assert row["RTT-MS"] == "20.0"
    assert row["RETRANSMITS"] == "1,200"
    assert (row["ZERO-WINDOWS"], row["STALLED-MS"]) == ("2", "1,500.0")
    assert (row["WINDOW-SCALING"], row["SEEN-NEAR"]) == ("on", "between")


def test_lines_tell_each_direction_that_carries_anything() -> None:
    """A direction without segments has no line."""
    facts = facts_of(direction(), direction(segments=0))
    assert tcp_lines(facts) == (
        "RTT 20.0 ms (10.0 ms to the client, 10.0 ms to the broker), window scaling on",
        (
            "requests: 2,000 segments, 0 retransmits, 0 zero windows, stalled 0, "
            "window 1.0 MB (most 1.0 MB), in flight 60 kB (most 66 kB)"
        ),
    )


def test_a_phrase_tells_what_slows_a_connection_down() -> None:
    """Losses and stalls of both directions together."""
    facts = facts_of(direction(retransmits=1), direction(retransmits=2, stalled_ns=MS))
    assert tcp_phrase(facts) == "RTT 20.0 ms, 3 retransmits, 0 zero windows, stalled 1.00 ms"


def test_what_is_not_known_is_told() -> None:
    """Without a handshake there is no window; without answers no round trip."""
    facts = facts_of(direction(window=None))
    facts.client_rtt_ns = None
    head, requests, _ = tcp_lines(facts)
    assert head.startswith("RTT not known (not known to the client, 10.0 ms to the broker)")
    assert "window not known" in requests


def test_milliseconds_have_one_digit() -> None:
    """A dash stands for a time that is not known."""
    assert [ms_text(1_234_567_890), ms_text(0), ms_text(None)] == ["1,234.6", "0.0", "-"]
