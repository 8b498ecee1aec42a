from typing import Any

from kdiag.lab.scenario.judgement import judge, text_of
from kdiag.lab.scenario.looks import Told
from kdiag.lab.scenario.scenario import EvidenceBound, WantedFinding

SLOW = Told("KD3303", {"client": "reader-2", "wait_s": 3.2, "hosts": ["a", "b"]}, "waited 3.2 s")
JOINED = Told("member_joined", {"client_id": "reader-1", "generation": 1}, "billing: reader-1")


def wanted(**evidence: EvidenceBound | str | float) -> WantedFinding:
    """Return that a slow member must be found."""
    return WantedFinding(by="rebalance", finding="KD3303", evidence=evidence)


def test_a_finding_must_have_the_evidence() -> None:
    """Equal values, numbers within bounds, both included, and parts of texts and lists."""
    fits: list[dict[str, Any]] = [
        {},
        {"client": "reader-2"},
        {"wait_s": EvidenceBound(min=3.2, max=3.2)},
        {"client": EvidenceBound(has="reader"), "hosts": EvidenceBound(has="b")},
    ]
    fails: list[dict[str, Any]] = [
        {"client": "reader-1"},
        {"wait_s": EvidenceBound(min=3.3)},
        {"wait_s": EvidenceBound(max=3)},
        {"client": EvidenceBound(min=0)},
        {"absent": EvidenceBound(has="x")},
    ]
    for evidence in fits:
        assert judge(wanted(**evidence), [JOINED, SLOW], is_disturbed=True).is_right, evidence
    for evidence in fails:
        assert not judge(wanted(**evidence), [JOINED, SLOW], is_disturbed=True).is_right, evidence


def test_without_disturbance_the_id_must_not_be_there() -> None:
    """Whatever its evidence is; a cause only if its evidence is the wanted one."""
    told = [JOINED, SLOW]
    assert not judge(wanted(client="reader-1"), told, is_disturbed=False).is_right
    assert judge(wanted(), [JOINED], is_disturbed=False).is_right
    for who, is_right in (("reader-1", False), ("reader-2", True)):
        cause = WantedFinding(by="rebalance", cause="member_joined", evidence={"client_id": who})
        assert judge(cause, told, is_disturbed=False).is_right is is_right, who


def test_what_there_was_instead_is_evidence() -> None:
    """Of the same id first, and not all of it."""
    assert judge(wanted(wait_s=9), [JOINED, SLOW], is_disturbed=True).evidence == (
        "KD3303: waited 3.2 s",
    )
    many = judge(wanted(), [JOINED] * 7, is_disturbed=True).evidence
    assert (len(many), many[-1]) == (6, "and 2 more")


def test_bounds_are_told_in_words() -> None:
    """As people read them."""
    text = text_of(wanted(wait_s=EvidenceBound(min=3, max=5), client=EvidenceBound(has="reader")))
    assert text == "rebalance: KD3303 (wait_s at least 3 and at most 5, client with reader)"
