from kdiag.report.tables.connections import CONNECTIONS, GAPS


def test_a_gap_says_whose_it_is_in_the_words_of_connections() -> None:
    """A join is not needed to know client and broker."""
    connections = {column.name: column.type for column in CONNECTIONS.columns}
    gaps = {column.name: column.type for column in GAPS.columns}
    ends = ("connection", "connection_id", "client", "client_host", "broker")

    assert [gaps[name] for name in ends] == [connections[name] for name in ends]
