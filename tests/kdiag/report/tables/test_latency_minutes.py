from kdiag.report.tables.latency_counts import MINUTE_NS
from recordings.capture_tables import tables_of_items
from recordings.exchange_maker import START_NS, make_heartbeat


def test_a_row_says_what_answers_have_in_common() -> None:
    """The minute in which they began, who asked whom for what, the bounds, and how many."""
    heartbeats = map(make_heartbeat, (1_000_000, 1_000_100, 5))
    rows = tables_of_items(*heartbeats)["latency_minutes"].to_pylist()
    short, long = sorted(rows, key=lambda row: row["answers"])

    assert long["time_ns"] == START_NS // MINUTE_NS * MINUTE_NS
    assert long["time"].timestamp() * 1_000_000_000 == long["time_ns"]
    assert (long["api"], long["api_key"], long["answers"]) == ("Heartbeat", 12, 2)
    assert (long["from_ns"], long["below_ns"]) == (999_424, 1_007_616)
    assert (short["from_ns"], short["below_ns"], short["answers"]) == (5, 6, 1)
    assert long["client_host"] in make_heartbeat(5).connection.client
