from kdiag.exchange.model import Connection, Gap
from kdiag.report.tables.connections import CONNECTIONS, GAPS, connection_row, gap_row


def test_a_gap_says_whose_it_is_in_the_words_of_connections() -> None:
    """A join is not needed to know client and broker."""
    connections = {column.name: column.type for column in CONNECTIONS.columns}
    gaps = {column.name: column.type for column in GAPS.columns}
    ends = ("connection", "connection_id", "client", "client_host", "broker")

    assert [gaps[name] for name in ends] == [connections[name] for name in ends]


FACTS = {
    "number": 3,
    "connection_id": "tcp-[::1]:40000-[::1]:9092-5000001",
    "client": "[::1]:40000",
    "broker": "[::1]:9092",
    "first_ns": 5_000_001,
    "last_ns": 9_999_999,
}


def as_dict(names: list[str], row: tuple[object, ...]) -> dict[str, object]:
    """Return a row by the names of its columns."""
    return dict(zip(names, row, strict=True))


def test_a_connection_is_a_row() -> None:
    """Times are given twice: to the nanosecond, and as microseconds for a timestamp."""
    known = {"client_software": ("librdkafka", ""), "sasl_mechanism": "PLAIN", "sasl_user": "alice"}
    connection = Connection(**FACTS, **known)  # type: ignore[arg-type]
    row = as_dict([each.name for each in CONNECTIONS.columns], connection_row(connection))

    assert row["client_host"] == "::1"
    assert (row["first_time"], row["first_ns"]) == (5_000, 5_000_001)
    assert (row["last_time"], row["last_ns"]) == (9_999, 9_999_999)
    assert (row["client_software_name"], row["client_software_version"]) == ("librdkafka", None)
    assert (row["sasl_mechanism"], row["sasl_user"]) == ("PLAIN", "alice")
    assert row["protocol"] == "unknown"


def test_a_gap_is_a_row() -> None:
    """It names the connection that lost the bytes."""
    gap = Gap(
        connection=Connection(**FACTS),  # type: ignore[arg-type]
        direction="response",
        time_ns=7_000_001,
        offset=10,
        size=90,
        reason="lost",
    )
    row = as_dict([each.name for each in GAPS.columns], gap_row(gap))

    assert row == {
        "connection": 3,
        "connection_id": FACTS["connection_id"],
        "client": "[::1]:40000",
        "client_host": "::1",
        "broker": "[::1]:9092",
        "direction": "response",
        "time": 7_000,
        "time_ns": 7_000_001,
        "stream_offset": 10,
        "bytes": 90,
        "reason": "lost",
    }
