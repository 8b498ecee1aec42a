import shlex
from string import Formatter
from typing import Any

import pytest

from folders import CAPTURES
from kdiag.findings.finding import RULES, Finding, found
from kdiag_cli.captures.more import _CHOICES, _REPORTS, command_for
from programs.kdiag_program import kdiag
from tiers.cases import for_each

EVERYTHING: dict[str, Any] = {
    name: name
    for rule in RULES.values()
    for text in (rule.title, rule.fix)
    for _, name, _, _ in Formatter().parse(text)
    if name
} | {
    "late_ms": 1,
    "median_ms": 1,
    "error": "NOT_LEADER_OR_FOLLOWER",
    "kind": "topic",
    "subject": "it's",
    "first_time": "2026-11-28T22:52:50.369000000Z",
    "last_time": "2026-11-28T22:53:03.379000000Z",
    "client_id": "app",
}


def finding(rule_id: str, **evidence: object) -> Finding:
    """Return a finding that was made in the first exchange."""
    return found(rule_id, **EVERYTHING | {"exchange": 1} | evidence)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder of tables."""
    folder = str(tmp_path_factory.mktemp("made") / "tables")
    kdiag("decode", CAPTURES / "produce_consume_group.pcap", "-o", "parquet", "--out", folder)
    return folder


@pytest.mark.thorough
@for_each("rule_id", [each for each in RULES if each in {*_CHOICES, *_REPORTS, "KD1101"}])
def test_the_command_for_a_finding_runs(rule_id: str, tables: str) -> None:
    """On the capture or the tables that it is from."""
    capture = str(CAPTURES / "produce_consume_group.pcap")
    for command in (
        command_for(finding(rule_id), [capture]),
        command_for(finding(rule_id), [], tables),
    ):
        words = shlex.split(command)
        assert words[0] == "kdiag"
        assert kdiag(*words[1:]).code == 0, command


def test_the_command_names_what_it_is_about() -> None:
    """Names with spaces or signs of a shell are quoted."""
    hot = finding("KD4106", topic="a b; rm")

    assert command_for(hot, ["x.pcap"]) == "kdiag report hot x.pcap -p 'topic=a b; rm'"
    assert command_for(finding("KD4303"), ["x.pcap"]) == (
        "kdiag decode x.pcap --status unanswered --broker broker --client app"
    )
    assert command_for(finding("KD4501", kind="group", subject="it's"), ["x.pcap"]) == (
        """kdiag decode x.pcap --error NOT_LEADER_OR_FOLLOWER --group 'it'"'"'s'"""
    )
    assert command_for(finding("KD4501"), [], "made tables").endswith(
        "WHERE error = 'NOT_LEADER_OR_FOLLOWER' AND list_contains(topics, 'it''s') "
        'ORDER BY time_ns"'
    )
    assert command_for(found("KD1101", address="b:1"), ["x.pcap"]) == (
        "kdiag decode x.pcap --all --errors --broker b:1"
    )
    errors = {"commits": "1 commit", "errors": "X 1", "error": "X"}
    assert command_for(found("KD3307", group="a b", **errors), ["x.pcap"]) == (
        "kdiag rebalance explain x.pcap --group 'a b'"
    )
    late = found("KD3311", **EVERYTHING | {"host": "h", "wait_s": 1, "generation": 7})
    assert command_for(late, ["x.pcap"]).endswith("--group group --generation 7")


@pytest.mark.parametrize("files", [[], ["-"], ["a", "b", "c", "d"]])
def test_what_cannot_be_read_again_is_explained(files: list[str]) -> None:
    """Nor does anybody want a command of a thousand files."""
    assert command_for(finding("KD4106"), files) == "kdiag help KD4106"


def test_every_report_that_is_named_exists() -> None:
    """With the parameter that it gets."""
    assert set(_REPORTS) <= set(RULES)


@pytest.mark.thorough
def test_findings_come_before_the_tables_each_with_its_command() -> None:
    """On stdout; `--fail-on` makes an exit code of them."""
    capture = CAPTURES / "old_versions.pcap"
    done = kdiag("decode", capture, "--summary")
    lines = done.out.splitlines()

    assert (done.code, done.err) == (0, "")
    more = lines.index(f"  more: kdiag report compat {capture}")
    assert more < next(place for place, line in enumerate(lines) if line.startswith("API "))
    assert kdiag("decode", capture, "--summary", "--fail-on", "warning").code == 1
    assert kdiag("decode", capture, "--summary", "--fail-on", "error").code == 0
    refused = kdiag("decode", capture, "--fail-on", "error")
    assert (refused.code, "is for --summary" in refused.err) == (2, True)
