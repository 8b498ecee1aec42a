from kdiag.diagnosis.tcp.worst_connections import WorstConnections, badness
from kdiag.exchange.tcp_facts import TcpFacts
from made_values.limited_connection import MS, SPAN_MS, connection_of, direction, facts_of
from recordings.exchange_maker import make_connection

ALL_NS = SPAN_MS * MS


def judged(*facts: TcpFacts | None) -> WorstConnections:
    """Return what judged connections with these facts, from number 1 on."""
    paths = WorstConnections()
    for number, each in enumerate(facts, 1):
        connection = make_connection(number) if each is None else connection_of(each)
        connection.number = number
        paths.end(connection)
    return paths


def slow_reader(retransmits: int = 0) -> TcpFacts:
    """Return the facts of a connection whose reader keeps its window closed."""
    return facts_of(direction(window_closed_ns=ALL_NS, retransmits=retransmits))


def test_a_problem_of_many_connections_is_one_finding() -> None:
    """The worst of them, with how many there are."""
    paths = judged(*[slow_reader()] * 2, slow_reader(40), *[slow_reader()] * 327)
    found = {each.id: each for each in paths.findings()}
    finding = found["KD6003"]

    assert finding.evidence["subjects"] == 330
    assert finding.evidence["connection"] == 3
    assert finding.title.startswith("connection 3: the broker is slow to read")
    assert finding.title.endswith("(the worst of 330)")
    assert badness(finding)[0] == 40


def test_a_problem_of_one_connection_is_told_without_a_count() -> None:
    """And a connection without facts has none."""
    (finding,) = judged(None, slow_reader()).findings()

    assert (finding.id, finding.evidence["connection"]) == ("KD6003", 2)
    assert "worst" not in finding.title
    assert list(judged(None).findings()) == []
