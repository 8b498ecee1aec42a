from kdiag.diagnosis.check.report import (
    CheckPart,
    CheckRow,
    CheckStage,
    CheckStatus,
    joined,
    listed,
    status_of,
)
from kdiag.findings.finding import found


def test_parts_become_one() -> None:
    """In order; a finding that several make is told once."""
    same = found("KD2007", node_id=3)
    row = CheckRow(stage=CheckStage.TCP, status=CheckStatus.OK)
    first = CheckPart(rows=[row], findings=[same], error_names=["A"], warnings=["w"])
    second = CheckPart(
        rows=[row], findings=[same, found("KD2007", node_id=4)], error_names=["B"], is_partial=True
    )

    whole = joined([first, second])

    assert len(whole.rows) == 2
    assert [each.evidence["node_id"] for each in whole.findings] == [3, 4]
    assert (whole.error_names, whole.warnings, whole.is_partial) == (["A", "B"], ["w"], True)
    assert (first.findings, first.error_names) == ([same], ["A"])


def test_the_worst_finding_is_the_status() -> None:
    """None at all is well."""
    warning, error = found("KD2007", node_id=3), found("KD2008", why="w", advice="a")

    assert status_of([]) is CheckStatus.OK
    assert status_of([warning]) is CheckStatus.WARNING
    assert status_of([warning, error]) is CheckStatus.ERROR


def test_long_lists_are_cut_and_counted() -> None:
    """Nobody reads a thousand names in a sentence."""
    assert listed([1, 2, 3]) == "1, 2, 3"
    assert listed(range(7), 2) == "0, 1 and 5 more"
