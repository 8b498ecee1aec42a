import json
import shlex
from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag_cli.commands.report.report import EXAMPLES
from programs.kdiag_program import kdiag
from tiers.cases import for_each
from tiers.sampling import sample

OLD = CAPTURES / "old_versions.pcap"


@pytest.mark.thorough
def test_a_report_answers_its_question() -> None:
    """The clients of Kafka 0.9 and 0.10 break, in every release of Kafka 4."""
    done = kdiag("report", "compat", OLD, "-p", "target=4.1", "-o", "json")
    document = json.loads(done.out)

    assert (done.code, done.err, document["command"]) == (0, "", "report compat")
    assert [row["client_id"] for row in document["data"] if row["verdict"] == "breaks"] == [
        "reader-0.10.2",
        "reader-0.9",
        "writer-0.10.2",
        "writer-0.9",
    ]


@pytest.mark.thorough
def test_a_parameter_changes_the_answer() -> None:
    """Nobody breaks on Kafka 3.9."""
    done = kdiag("report", "compat", OLD, "-p", "target=3.9", "-o", "jsonl")

    assert {json.loads(line)["verdict"] for line in done.out.splitlines()} == {"works"}


@pytest.mark.thorough
def test_a_report_of_a_folder_is_that_of_its_captures(tmp_path: Path) -> None:
    """Tables that were written without bodies are enough."""
    kdiag("decode", OLD, "-o", "parquet", "--no-bodies", "--out", tmp_path)

    names = ("clients", "errors", "latency", "splits", "throughput")
    for name in sample("reports of a folder", names, 2):
        assert kdiag("report", name, tmp_path).out == kdiag("report", name, OLD).out


@for_each(
    ("arguments", "why"),
    [
        ((), "name a report, or --list them"),
        (("clients",), "give captures or a folder of tables"),
        (("none", OLD), "there is no such report"),
        (("clients", OLD, "-p", "who=me"), "has no parameter who (has client)"),
        (("compat", OLD, "-p", "target=new"), "expected a version such as 4.1"),
        (("compat", OLD, "-p", "target"), "'target' is not key=value"),
    ],
)
def test_wrong_usage_is_told(arguments: tuple[object, ...], why: str) -> None:
    """Before anything is read."""
    done = kdiag("report", *arguments)

    assert (done.code, done.out) == (2, "")
    assert why in done.err


@pytest.mark.thorough
@pytest.mark.usefixtures("cached")
def test_the_examples_in_the_help_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are typed as they stand, one after the other."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traffic.pcap").write_bytes(OLD.read_bytes())
    kdiag("decode", OLD, "-o", "parquet", "--out", tmp_path / "tables")
    lines = [line.strip() for line in EXAMPLES.splitlines() if line.startswith("  kdiag ")]

    assert len(lines) >= 6
    for line in lines:
        done = kdiag(*shlex.split(line)[1:])
        assert (done.code, done.err.startswith("kdiag: wrote ") or not done.err) == (0, True), line
