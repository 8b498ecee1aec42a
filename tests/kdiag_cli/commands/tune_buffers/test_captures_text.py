from kdiag.diagnosis.tcp import findings as tcp_limit_findings
from kdiag.diagnosis.tcp.limit import limits_of
from kdiag.exchange.tcp_facts import TcpDirection
from kdiag_cli.commands.tune_buffers.captures_text import CapturedPath, document, print_paths
from made_values.limited_connection import (
    MS,
    QUIET,
    SPAN_MS,
    connection_of,
    direction,
    facts_of,
    turns_of,
)
from programs.kdiag_program import Printed


def path_of(requests: TcpDirection) -> CapturedPath:
    """Return a connection with such requests."""
    facts, turns = facts_of(requests), turns_of(1_000_000)
    connection, limits = connection_of(facts), limits_of(facts, turns)
    findings = tcp_limit_findings.find(connection, limits, turns)
    return CapturedPath(connection, facts, turns, limits, findings)


def test_a_pipe_gets_a_row_for_each_direction_that_carries_data() -> None:
    """Cells are numbers without units, and what is not known is a dash."""
    output = Printed()
    print_paths(output, [path_of(direction(recovery_ns=SPAN_MS * MS, retransmits=20))])
    header, row = (line.split("\t") for line in output.lines)
    cells = dict(zip(header, row, strict=True))
    assert (cells["DIRECTION"], cells["LIMIT"], cells["SHARE-PCT"]) == (
        "requests",
        "network",
        "100",
    )
    assert (cells["MB/S"], cells["CEILING"], cells["RTT-MS"]) == ("3.0", "-", "20.0")
    assert (cells["CLIENT-ID"], cells["RETRANSMITS"]) == ("app", "20")


def test_a_person_gets_the_connections_first_that_moved_most() -> None:
    """A pipe gets them in the order of their numbers."""
    paths = [path_of(direction(held_ns=SPAN_MS * MS)) for _ in range(2)]
    for number, path in enumerate(paths, 1):
        path.connection.number, path.connection.request_bytes = number, number * 1000
    terminal, pipe = Printed(200), Printed()
    print_paths(terminal, paths)
    print_paths(pipe, paths)
    assert [line.split()[0] for line in terminal.lines[1:3]] == ["2", "1"]
    assert [line.split()[0] for line in pipe.lines[1:3]] == ["1", "2"]


def test_headers_can_be_left_out() -> None:
    """As for every table."""
    output = Printed()
    print_paths(output, [path_of(direction(held_ns=SPAN_MS * MS))], has_headers=False)
    assert len(output.lines) == 1
    assert "\tsend buffer\t" in output.lines[0]


def test_connections_with_too_little_have_no_row() -> None:
    """The command counts them, instead of listing them."""
    quiet = path_of(direction(**QUIET))
    output = Printed(120)
    print_paths(output, [quiet, quiet])
    assert output.lines == []
    assert not quiet.is_busy


def test_a_document_has_path_limits_and_facts() -> None:
    """The path has the keys that live measurements have too."""
    told = document(path_of(direction(window_full_ns=SPAN_MS * MS)))
    assert told["path"] == {
        "rtt_ms": 20.0,
        "mss": 1460,
        "window_scale": {"client": 7, "broker": 7},
        "congestion_control": None,
    }
    assert told["limits"]["requests"]["limit"] == "receive_buffer"
    assert told["limits"]["responses"]["limit"] == "quiet"
    assert told["tcp"]["requests"]["waits_us"]["window_full"] == SPAN_MS * 1000
