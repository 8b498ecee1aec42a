import shlex

import pytest

from folders import CAPTURES
from kdiag.findings.finding import RULES, Finding, found
from kdiag_cli.captures.more import _REPORTS, command_for
from programs.kdiag_program import kdiag
from tiers.cases import for_each

EVERYTHING = {
    name: name
    for name in (
        *("client", "records", "requests", "per_s", "bytes_per_batch", "megabytes", "saved_pct"),
        *("topic", "largest_bytes", "partition", "share_pct", "times_mean", "partitions"),
        *("broker", "full", "fetches", "group", "busiest", "count", "total_ms", "waited_ms"),
        *("api", "clients", "late_ms", "old_requests", "address", "why", "apis"),
    )
}


def finding(rule_id: str) -> Finding:
    """Return a finding that was made in the first exchange."""
    return found(rule_id, **EVERYTHING, exchange=1)


@pytest.mark.thorough
@for_each("rule_id", [each for each in RULES if each[:4] in {"KD41", "KD42", "KD51"}])
def test_the_command_for_a_finding_runs(rule_id: str) -> None:
    """On the capture that it is from."""
    capture = str(CAPTURES / "produce_consume_group.pcap")
    words = shlex.split(command_for(finding(rule_id), [capture]))

    assert words[0] == "kdiag"
    assert kdiag(*words[1:]).code == 0


def test_the_command_names_what_it_is_about() -> None:
    """Names with spaces or signs of a shell are quoted."""
    hot = found("KD4106", **EVERYTHING | {"topic": "a b; rm"})

    assert command_for(hot, ["x.pcap"]) == "kdiag report hot x.pcap -p 'topic=a b; rm'"
    assert command_for(finding("KD4303"), ["x.pcap"]) == "kdiag decode x.pcap --show 1"
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
