"""`kdiag rebalance explain`: what it takes, and what it says."""

import gzip
import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from group_stories.recorded_groups import write_group
from kdiag_cli.commands.rebalance.command import EXAMPLES
from programs.kdiag_program import kdiag
from tiers.cases import for_each


def examples_of(text: str) -> Iterator[list[str]]:
    """Yield the arguments of the commands in a help."""
    for line in text.splitlines():
        words = shlex.split(line) if line.startswith("  kdiag ") else []
        if words and "-b" not in words:  # tests/interop has a cluster
            yield words[1:]


STATIC = "reb_static_java"


@for_each(
    ("arguments", "why"),
    [
        ([], "give captures, --broker-log or -b"),
        (["a.pcap", "--log-zone", "Mars"], "unknown zone 'Mars'"),
        (["a.pcap", "--generation", "-1"], "--generation"),
        (["a.pcap", "--fail-on", "never ever"], "--fail-on"),
    ],
)
def test_wrong_usage_is_said(arguments: list[str], why: str) -> None:
    """Exit code 2, and the message says what would be right."""
    done = kdiag("rebalance", "explain", *arguments)

    assert done.code == 2
    assert why in done.err


def test_a_capture_alone_tells_a_table(tmp_path: Path) -> None:
    """In a pipe one line for each rebalance, with tabs between its columns."""
    capture, _ = write_group("reb_crash_confluent", tmp_path)
    done = kdiag("rebalance", "explain", capture)
    header, *rows = [line.split("\t") for line in done.out.splitlines()]

    assert done.code == 0
    assert header[:3] == ["GROUP", "TYPE", "GENERATION"]
    assert {len(row) for row in rows} == {len(header)}
    causes = [dict(zip(header, row, strict=True))["CAUSE"] for row in rows]
    assert causes == ["member joined", "member joined", "member failed", "member left, empty"]


def test_a_log_alone_tells_a_table(tmp_path: Path) -> None:
    """It knows no members' clients, and every cause for certain."""
    _, log = write_group("reb_crash_confluent", tmp_path)
    done = kdiag("rebalance", "explain", "--broker-log", log, "-o", "json")
    (group,) = json.loads(done.out)["data"]

    assert done.code == 0
    assert group["source"] == "log"
    assert {each["confidence"] for each in group["rebalances"]} == {"certain"}


def test_both_together_are_one_timeline(tmp_path: Path) -> None:
    """What the capture concluded becomes certain, and keeps the client and host."""
    capture, log = write_group("reb_crash_confluent", tmp_path)
    done = kdiag("rebalance", "explain", capture, "--broker-log", log, "-o", "json")
    (group,) = json.loads(done.out)["data"]
    crash = group["rebalances"][2]

    assert group["source"] == "capture, log"
    assert (crash["cause"], crash["confidence"]) == ("member_failed", "certain")
    assert crash["causes"][0]["client_host"] == "127.0.0.1"
    assert {each["kind"] for each in crash["evidence"]} == {"packet", "line"}
    assert not any("says" in each for each in json.loads(done.out)["warnings"])


def test_one_rebalance_is_shown_in_full(tmp_path: Path) -> None:
    """Its causes with their evidence, a bar for each member, and what moved."""
    capture, _ = write_group("reb_crash_confluent", tmp_path)
    done = kdiag("rebalance", "explain", capture, "--generation", "3")

    assert done.code == 0
    assert "generation 3 after 2" in done.out
    assert "member failed (likely)" in done.out
    assert "█" in done.out
    assert "moved    2 of 4 partitions" in done.out


def test_findings_set_the_exit_code(tmp_path: Path) -> None:
    """From the severity on that is asked for."""
    failing, healthy = (write_group(name, tmp_path)[0] for name in (STATIC, "share_java"))
    done = kdiag("rebalance", "explain", failing)

    assert done.code == 1
    assert "error KD3304" in done.err
    assert kdiag("rebalance", "explain", healthy, "--fail-on", "info").code == 0


@pytest.mark.thorough
@pytest.mark.parametrize("arguments", [*examples_of(EXAMPLES)], ids=" ".join)
def test_the_examples_in_the_help_run(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are typed as they stand by whoever reads them."""
    monkeypatch.chdir(tmp_path)
    capture, log = write_group("reb_crash_confluent", tmp_path)
    capture.rename("traffic.pcap")
    (tmp_path / "server.log.2.gz").write_bytes(gzip.compress(log.read_bytes()))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "server.log").write_bytes(log.read_bytes())
    log.rename("server.log")
    done = kdiag(*arguments)

    assert done.code == 0
    assert "Error" not in done.err
