"""No line on a terminal is wider than it is, and a pipe pays nothing for terminals."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag.diagnosis.buffers.facts import LoadDirection
from kdiag.diagnosis.buffers.findings import Measured
from kdiag.diagnosis.buffers.report import report as buffer_report
from kdiag.diagnosis.check.report import NOT_COME_TO, CheckRow, CheckStage, CheckStatus
from kdiag.report.sql_report import report_names
from kdiag_cli.commands.check.text import print_rows
from kdiag_cli.commands.help.topics import topic_titles
from kdiag_cli.commands.latency.text import print_results
from kdiag_cli.commands.tune_buffers.text import print_reports as print_buffers
from kdiag_cli.output.terminal import columns_of
from made_values.buffer_cases import GBIT, KERNEL, KIB, LIMITS, make_path, make_run
from made_values.latency_run_maker import made_results
from programs.kdiag_program import COMMAND, Done, Printed, kdiag, kdiag_on_terminal
from scripted_kafka.coordinating_cluster import coordinating_cluster
from tiers.cases import for_each

WIDTHS = (80, 100, 120)
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


@pytest.mark.sampled(9)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", report_names())
def test_reports_fit(name: str, width: int, tables: Path) -> None:
    """With all columns, too."""
    for options in ((), ("--wide",)):
        done = kdiag_on_terminal(width, "report", name, tables, *options)
        assert (done.code, too_wide(done, width)) == (0, [])


@pytest.mark.sampled(5)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("sql", QUERIES)
def test_answers_to_queries_fit(sql: str, width: int, tables: Path) -> None:
    """Of any number of columns, with wide characters and words without an end."""
    for options in ((), ("-w",)):
        done = kdiag_on_terminal(width, "query", tables, sql, *options)
        assert (done.code, too_wide(done, width)) == (0, [])


@pytest.mark.sampled(30)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "arguments",
    [
        ("decode", *FILES, "--summary"),
        ("decode", *FILES, "--summary", "--tcp"),
        ("decode", *FILES, "--tcp"),
        ("tune-buffers", *FILES),
        ("rebalance", "explain", *FILES),
        ("rebalance", "explain", *FILES, "--generation", "2"),
        ("tables",),
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
        ("help",),
        *(("help", topic) for topic in topic_titles()),
    ],
    ids=lambda arguments: " ".join(str(each) for each in arguments if each not in FILES)[:40],
)
def test_what_commands_print_fits(arguments: tuple[object, ...], width: int) -> None:
    """Tables, lines, topics and what is said on stderr."""
    assert too_wide(kdiag_on_terminal(width, *arguments), width) == []


@pytest.mark.sampled(8)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "arguments",
    [
        ("find-coordinator", "orders"),
        ("find-coordinator", "orders", "clicks", "nobody", "--wide"),
        ("find-coordinator", "orders", "clicks", "x" * 200),
        ("find-coordinator", "--moves"),
        ("api-versions",),
        ("api-versions", "-w"),
        ("api-versions", "--features"),
        ("check",),
    ],
    ids=" ".join,
)
def test_what_live_commands_print_fits(arguments: tuple[str, ...], width: int) -> None:
    """Of brokers that answer, and one that does not."""
    with coordinating_cluster() as cluster:
        cluster.brokers[3].stop()
        done = kdiag_on_terminal(width, *arguments, "-b", cluster.bootstrap)

    assert too_wide(done, width) == []


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
    yield CheckRow(stage=CheckStage.ACLS, status=CheckStatus.SKIPPED, detail=NOT_COME_TO)
