from kdiag.diagnosis.tcp.request_cycles import RequestCycles
from kdiag_cli.commands.report.page.tcp_limits import ConnectionLimitRows
from kdiag_cli.output.pages.parts import SortableTable
from made_values.limited_connection import MS, QUIET, SPAN_MS, connection_of, direction, facts_of
from recordings.exchange_maker import make_connection


def test_connections_have_rows_by_what_tcp_did() -> None:
    """A window that is always full makes a row with the limit and its share of the time."""
    rows = ConnectionLimitRows()
    full = facts_of(direction(window_full_ns=SPAN_MS * MS))
    rows.add(make_connection(), RequestCycles())
    rows.add(connection_of(facts_of(direction(**QUIET))), RequestCycles())
    assert list(rows.parts()) == [], "nothing limits what carries little"
    rows.add(connection_of(full), RequestCycles(client_id="app"))

    (table,) = rows.parts()
    assert isinstance(table, SortableTable)
    (row,) = table.rows
    assert row[1:5] == ("app", "10.0.0.2:9092", "requests", "receive buffer")
    assert row[table.headers.index("retransmits")] == 0
    assert (table.left_out, table.more) == (0, "kdiag tune-buffers CAPTURE")
