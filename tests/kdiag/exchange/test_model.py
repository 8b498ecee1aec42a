from kdiag.exchange.model import Gap, Protocol
from recordings.exchange_maker import make_connection


def test_a_new_connection_has_carried_nothing() -> None:
    """What is counted starts at zero, what is found out is unknown."""
    connection = make_connection(protocol=Protocol.UNKNOWN)

    assert connection.requests == connection.responses == 0
    assert connection.request_bytes == connection.response_bytes == 0
    assert connection.duplicates == connection.gaps == connection.gap_bytes == 0
    assert connection.tls_version is connection.sni is connection.close_reason is None
    assert connection.client_software is None


def test_protocols_are_written_as_in_the_output() -> None:
    """Scripts compare with these texts."""
    assert [each.value for each in Protocol] == [
        "unknown",
        "kafka",
        "tls",
        "http",
        "redis",
        "empty",
    ]


def test_a_gap_belongs_to_its_connection() -> None:
    """What is learnt of the connection later holds for the gap as well."""
    connection = make_connection()
    gap = Gap(
        connection=connection, direction="response", time_ns=5, offset=0, size=9, reason="lost"
    )

    connection.number = 7

    assert gap.connection.number == 7
