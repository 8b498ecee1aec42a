import json
import shlex
from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag_cli.commands.report.query import EXAMPLES
from programs.kdiag_program import kdiag
from tiers.cases import for_each

CAPTURE = CAPTURES / "produce_consume_group.pcap"


@pytest.mark.thorough
def test_a_question_about_a_capture_is_answered() -> None:
    """In a pipe with tabs."""
    sql = "SELECT api, count(*) AS n FROM exchanges GROUP BY api ORDER BY n DESC, api LIMIT 2"
    done = kdiag("query", CAPTURE, sql)

    assert (done.code, done.err) == (0, "")
    assert done.out == "API\tN\nMetadata\t7\nApiVersions\t5\n"


@pytest.mark.thorough
def test_several_captures_are_one_recording() -> None:
    """The last argument is the question."""
    sql = "SELECT count(DISTINCT client_id) AS n FROM exchanges"
    one = json.loads(kdiag("query", "-o", "jsonl", CAPTURE, sql).out)["n"]
    both = json.loads(kdiag("query", "-o", "jsonl", CAPTURE, CAPTURES / "acks.pcap", sql).out)["n"]

    assert both > one


@pytest.mark.thorough
def test_records_are_there_when_asked_for() -> None:
    """Else the error says how."""
    sql = "SELECT count(*) AS n FROM records"

    assert kdiag("query", "--values", CAPTURE, sql, "--no-headers").out == "60\n"
    done = kdiag("query", CAPTURE, sql)
    assert (done.code, done.out) == (2, "")
    assert "--values" in done.err


@pytest.mark.thorough
def test_bodies_can_be_left_out() -> None:
    """They take time."""
    sql = "SELECT count(request_body) AS n FROM exchanges"

    assert kdiag("query", CAPTURE, sql, "--no-headers").out == "32\n"
    assert kdiag("query", "--no-bodies", CAPTURE, sql, "--no-headers").out == "0\n"


@pytest.mark.thorough
def test_topic_ids_may_be_named(tmp_path: Path) -> None:
    """By a file, as in decode."""
    topic_id = "AAECAwQFBgcICQoLDA0ODw"
    (tmp_path / "ids").write_text(f"{topic_id} orders\n")
    done = kdiag("query", CAPTURE, "SELECT 1 AS one", "--topic-ids", tmp_path / "ids")

    assert (done.code, done.out) == (0, "ONE\n1\n")


@pytest.mark.thorough
@for_each(
    ("arguments", "why"),
    [
        ((CAPTURE,), "give captures and then a SELECT"),
        ((CAPTURE, "SELEC 1"), "syntax error"),
        ((CAPTURE, "DELETE FROM exchanges"), "expected one SELECT"),
        ((CAPTURES / "nowhere.pcap", "SELECT 1"), "nowhere.pcap"),
    ],
)
def test_wrong_usage_is_told(arguments: tuple[object, ...], why: str) -> None:
    """Nothing is printed for programs."""
    done = kdiag("query", *arguments)

    assert (done.code, done.out) == (2, "")
    assert why in done.err


def example_lines() -> list[str]:
    """Return the examples in the help."""
    return [line.strip() for line in EXAMPLES.splitlines() if line.startswith("  kdiag ")]


@pytest.mark.thorough
def test_the_examples_in_the_help_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are typed as they stand, one after the other."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traffic.pcap").write_bytes(CAPTURE.read_bytes())
    lines = example_lines()

    assert len(lines) >= 5
    for line in lines:
        done = kdiag(*shlex.split(line)[1:])
        said = "kdiag: wrote " if "parquet" in line else ""
        assert (done.code, done.err[: len("kdiag: wrote ")]) == (0, said), line
