"""No line on a terminal is wider than it is, and a pipe pays nothing for terminals."""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag.clock import ManualClock
from kdiag.diagnosis.buffers.facts import LoadDirection
from kdiag.diagnosis.buffers.findings import Measured
from kdiag.diagnosis.buffers.report import report as buffer_report
from kdiag.diagnosis.check.report import NOT_REACHED, CheckRow, CheckStage, CheckStatus
from kdiag.lab.fault.control.control_port import ControlPort
from kdiag.lab.fault.fault_book import FaultBook
from kdiag.report.sql_report import report_names
from kdiag_cli.commands.check.text import print_rows
from kdiag_cli.commands.latency.text import print_results
from kdiag_cli.commands.tune_buffers.text import print_reports as print_buffers
from kdiag_cli.output.terminal import columns_of
from made_values.buffer_cases import GBIT, KERNEL, KIB, LIMITS, make_path, make_run
from made_values.latency_run_maker import made_results
from programs.kdiag_program import COMMAND, Done, Printed, kdiag, kdiag_on_terminal
from scripted_kafka.coordinating_cluster import coordinating_cluster
from scripted_kafka.group_cluster import TOPIC, GroupCluster
from scripted_kafka.transacting_cluster import transacting_cluster
from tiers.cases import for_each
from tiers.sampling import sample

WIDTHS = (80, 100, 200)
FILES = sorted(CAPTURES.glob("*.pcap"))
LONG = "SELECT client_id || repeat('注文', 40) AS 注, repeat(api, 30), * FROM exchanges LIMIT 3"
QUERIES = (
    "SELECT * FROM exchanges LIMIT 3",
    "SELECT api, client_id, broker, count(*) AS n FROM exchanges GROUP BY ALL ORDER BY ALL",
    LONG,
)
PIPED = (
    ("--help",),
    ("report", "--help"),
    ("help", "exit-codes"),
    ("help", "KD1203"),
    ("errcode",),
    ("errcode", "15", "-o", "json"),
    ("tables",),
    ("decode", FILES[0]),
    ("decode", FILES[0], "--summary", "--tcp"),
    ("decode", FILES[0], "-o", "jsonl"),
    ("tune-buffers", FILES[0]),
    ("rebalance", "explain", FILES[0]),
    ("report", "clients", FILES[0]),
    ("config", "show", "-b", "h:1"),
    ("check", "-b", "localhost:1"),
    ("decode", "no such file"),
)


def too_wide(done: Done, width: int) -> list[str]:
    """Return the lines that a terminal would break; there must be others."""
    lines = [*done.out.splitlines(), *done.err.splitlines()]
    assert lines
    return [line for line in lines if columns_of(line) > width]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tables of all captures."""
    folder = tmp_path_factory.mktemp("tables")
    kdiag("decode", *FILES, "--values", "--output", "parquet", "--out", folder)
    return folder


def drawn(
    name: str, commands: Iterable[Sequence[object]], count: int
) -> Sequence[tuple[Sequence[object], int]]:
    """Return some of the commands, each with the width of a terminal."""
    return sample(name, list(product(commands, WIDTHS)), count)


def check_width(arguments: Sequence[object], width: int) -> Done:
    """Assert that what a command prints fits a terminal, and return what it has printed."""
    done = kdiag_on_terminal(width, *arguments)
    shown = [each for each in arguments if each not in FILES]
    assert too_wide(done, width) == [], f"{shown} in {width} columns"
    return done


@pytest.mark.thorough
def test_reports_fit(tables: Path) -> None:
    """With all columns, too."""
    commands = [
        ("report", name, tables, *options)
        for name in report_names()
        for options in ((), ("--wide",))
    ]
    for arguments, width in drawn("reports on terminals", commands, 9):
        assert check_width(arguments, width).code == 0, arguments


@pytest.mark.thorough
def test_answers_to_queries_fit(tables: Path) -> None:
    """Of any number of columns, with wide characters and words without an end."""
    commands = [("query", tables, sql, *options) for sql in QUERIES for options in ((), ("-w",))]
    for arguments, width in drawn("queries on terminals", commands, 6):
        assert check_width(arguments, width).code == 0, arguments


@pytest.mark.thorough
def test_what_commands_print_fits() -> None:
    """Tables, lines, a topic and what is said on stderr."""
    commands: list[tuple[object, ...]] = [
        ("decode", *FILES, "--summary"),
        ("decode", *FILES, "--summary", "--tcp"),
        ("decode", *FILES, "--tcp"),
        ("diff", FILES[0], FILES[-1]),
        ("diff", FILES[0], FILES[-1], "--wide"),
        ("tune-buffers", *FILES),
        ("rebalance", "explain", *FILES),
        ("rebalance", "explain", *FILES, "--wide"),
        ("rebalance", "explain", *FILES, "--generation", "2"),
        ("tables",),
        ("tables", "exchanges"),
        ("report", "--list"),
        ("errcode",),
        ("errcode", "coordinator", "--wide"),
        ("errcode", "15"),
        (
            "errcode",
            "no such error, whatever it may be called, is known to anybody at all, or is it",
        ),
        ("config", "show", "--defaults", "--origin", "-b", "localhost:9092," * 20 + "last:1"),
        ("request", "Fetch", "--fields"),
        ("check", "-b", "localhost:1"),
        ("find-coordinator", "-b", "localhost:1", "orders"),
        ("lab", "fault", "--help"),
        ("help",),
        ("help", "output"),
    ]
    for arguments, width in drawn("commands on terminals", commands, 10):
        check_width(arguments, width)


@pytest.mark.thorough
def test_what_live_commands_print_fits() -> None:
    """Of brokers that answer, and one that does not."""
    commands = [
        ("find-coordinator", "orders"),
        ("find-coordinator", "orders", "clicks", "nobody", "--wide"),
        ("find-coordinator", "orders", "clicks", "x" * 200),
        ("find-coordinator", "--moves"),
        ("api-versions",),
        ("api-versions", "-w"),
        ("api-versions", "--features"),
        ("check",),
        ("check", "--wide"),
    ]
    with coordinating_cluster() as cluster:
        cluster.brokers[3].stop()
        for arguments, width in drawn("live commands on terminals", commands, 4):
            check_width([*arguments, "-b", cluster.bootstrap], width)


@pytest.mark.thorough
def test_groups_fit() -> None:
    """Of both protocols, with names as long as Kafka allows; all of them, or all about some."""
    commands = [
        ("groups",),
        ("groups", "--wide"),
        ("groups", "billing"),
        ("groups", "billing", "next", "--wide"),
        ("groups", "--match", "l*"),
        ("groups", "nobody"),
    ]
    with GroupCluster(2) as cluster:
        cluster.add(TOPIC, 0).append(b"a", b"b")
        cluster.add("t" * 249, 0).append(b"a", b"b")
        members = {"member-" + "x" * 60: [0], "second": []}
        cluster.add_group("billing", {(TOPIC, 0): 1}, members)
        cluster.add_group("l" * 200, {("t" * 249, 0): 1}, topic="t" * 249)
        cluster.add_new_group("next", {(TOPIC, 0): 0}, {"m-" + "y" * 70: ([0], [0])})
        for arguments, width in drawn("groups on terminals", commands, 6):
            check_width([*arguments, "-b", cluster.bootstrap], width)


@pytest.mark.thorough
def test_transactions_fit() -> None:
    """With what is known of each."""
    commands = [("txn", "list"), ("txn", "list", "--wide")]
    with transacting_cluster() as cluster:
        for arguments, width in drawn("transactions on terminals", commands, 3):
            check_width([*arguments, "-b", cluster.bootstrap], width)


@pytest.mark.thorough
def test_faults_fit(tmp_path: Path) -> None:
    """However long the rule is."""
    with ControlPort(FaultBook(ManualClock())) as port:
        (tmp_path / "token").write_text(port.token)
        place = ("--control", port.address, "--control-token", str(tmp_path / "token"))
        rule = "Fetch topic=" + "orders-" * 30 + " delay=1s p=0.1"
        kdiag("lab", "fault", "add", rule, "Produce close=after", *place)
        for width in WIDTHS:
            for command in (("list",), ("remove", "1"), ("remove", "77")):
                check_width(["lab", "fault", *command, *place], width)


@pytest.mark.thorough
@for_each("width", WIDTHS)
@for_each("is_wide", [False, True])
def test_what_is_measured_fits(width: int, *, is_wide: bool) -> None:
    """Latencies, buffers and checks, with their sentences."""
    outputs = Printed(width), Printed(width), Printed(width)
    for output in outputs:
        output.is_wide = is_wide
    runs = [make_run(each, KIB, 3.5, retransmits=2) for each in LoadDirection]
    reports = [buffer_report(Measured(make_path(send=KERNEL), runs, LIMITS, GBIT))] * 3

    print_results(outputs[0], made_results(nodes=3))
    print_buffers(outputs[1], reports)
    print_rows(outputs[2], list(_rows()))

    for output in outputs:
        assert [line for line in output.lines if columns_of(line) > width] == []


@pytest.mark.thorough
def test_a_pipe_does_not_load_rich() -> None:
    """Neither for a table, nor for help or a topic, nor for what goes wrong."""
    program = (
        "import contextlib, io, json, sys\n"
        "from kdiag_cli.app import app\n"
        "for arguments in json.loads(sys.argv[1]):\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        app(arguments, prog_name='kdiag')\n"
        "    loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "    assert not loaded & {'rich', 'markdown_it', 'pygments'}, arguments\n"
        "sys.stderr.write('none loaded')\n"
    )
    arguments = json.dumps([[str(each) for each in run] for run in PIPED])
    done = subprocess.run(
        [sys.executable, "-c", program, arguments], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "none loaded")


@pytest.mark.thorough
def test_a_terminal_gets_what_rich_draws() -> None:
    """The same program, on a terminal of its own."""
    program = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))"
    command = [sys.executable, "-c", program, *COMMAND, "errcode", "not_coordinator"]
    done = subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL)

    assert b"\x1b[1mNOT_COORDINATOR\x1b[0m" in done.stdout


def _rows() -> Iterator[CheckRow]:
    yield CheckRow(
        stage=CheckStage.DNS, status=CheckStatus.OK, target="k" * 90, took_ns=10**6, detail="::1"
    )
    for node in range(20):
        target = f"broker {node} at kafka-{node}.example.com:9092"
        why = "connection refused: the host is there, but nothing listens on this port"
        yield CheckRow(
            stage=CheckStage.LISTENERS,
            status=CheckStatus.ERROR,
            target=target,
            took_ns=9,
            detail=why,
        )
    yield CheckRow(stage=CheckStage.ACLS, status=CheckStatus.SKIPPED, detail=NOT_REACHED)
