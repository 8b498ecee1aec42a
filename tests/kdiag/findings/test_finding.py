import re
from string import Formatter

import msgspec
import pytest

from folders import ROOT
from kdiag.findings import (
    buffers,
    clients,
    clusters,
    connections,
    coordinators,
    latency,
    tcp,
    traffic,
)
from kdiag.findings.finding import RULES, Finding, found, worst
from kdiag.findings.rule import Rule, Severity
from tiers.cases import for_each


def test_a_finding_has_the_shape_of_the_contract() -> None:
    """The keys come in the order in which people read them."""
    finding = found("KD1101", address="10.0.0.7:9092")

    assert msgspec.json.decode(msgspec.json.encode(finding)) == {
        "id": "KD1101",
        "severity": "error",
        "title": "nothing listens on 10.0.0.7:9092",
        "evidence": {"address": "10.0.0.7:9092"},
        "fix": RULES["KD1101"].fix,
    }


def test_evidence_is_put_into_title_and_fix() -> None:
    """What is not mentioned is still kept."""
    finding = found("KD1501", node_id=2, address="{b}:9092", why="refused")

    assert finding.title.startswith("broker 2 advertises {b}:9092,")
    assert "advertised.listeners of broker 2 " in finding.fix
    assert finding.evidence == {"node_id": 2, "address": "{b}:9092", "why": "refused"}


def test_a_finding_of_an_unknown_kind_or_without_its_evidence_is_a_bug() -> None:
    """It does not come to be half told."""
    with pytest.raises(KeyError, match="KD9999"):
        found("KD9999")
    with pytest.raises(KeyError, match="address"):
        found("KD1101")


def test_the_worst_of_several_counts() -> None:
    """Without findings there is no severity."""
    findings = [made(Severity.INFO), made(Severity.ERROR), made(Severity.WARNING)]

    assert worst(findings) is Severity.ERROR
    assert worst(findings[:1]) is Severity.INFO
    assert worst([]) is None


@for_each(
    ("rules", "prefix"),
    [
        (buffers.RULES, "KD60[12]"),
        (clients.RULES, "KD[45]0"),
        (clusters.RULES, "KD2"),
        (connections.RULES, "KD1"),
        (coordinators.RULES, "KD3"),
        (latency.RULES, "KD7"),
        (tcp.RULES, "KD6(00|1)"),
        (traffic.RULES, "KD(4[1-5]|51)"),
    ],
)
def test_the_first_digits_tell_what_a_finding_is_about(rules: dict[str, Rule], prefix: str) -> None:
    """Each module has the ids of its own subject, in ascending order."""
    assert [each for each in rules if not re.match(prefix, each)] == []
    assert list(rules) == sorted(rules)


@pytest.mark.thorough
def test_every_rule_has_a_diagnosis_that_finds_it() -> None:
    """What nobody raises would only be read in the help."""
    sources = [*(ROOT / "kdiag").rglob("*.py"), *(ROOT / "cmd/kdiag_cli").rglob("*.py")]
    raised = {
        rule_id
        for path in sources
        if path.parent.name != "findings"
        for rule_id in re.findall(r'"(KD\d{4})"', path.read_text())
    }
    assert raised == set(RULES)


def test_every_rule_is_told_whole() -> None:
    """Ids are KD and four digits; a title is no sentence, what explains it and what helps are."""
    for rule_id, rule in RULES.items():
        assert re.fullmatch(r"KD[1-7]\d{3}", rule_id)
        assert rule.title
        assert not rule.title.endswith(".")
        assert rule.explanation.endswith(".")
        assert rule.fix.endswith(".")
        names = {name for _, name, _, _ in Formatter().parse(rule.title + rule.fix) if name}
        assert found(rule_id, **dict.fromkeys(names, 1)).severity is rule.severity
    assert len({rule.title for rule in RULES.values()}) == len(RULES)
    assert list(RULES) == sorted(RULES)


def made(severity: Severity) -> Finding:
    """Return a finding of this severity."""
    return Finding(id="KD1101", severity=severity, title="t", evidence={}, fix="f")
