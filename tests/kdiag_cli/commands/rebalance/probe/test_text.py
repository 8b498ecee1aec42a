import pytest

from group_stories.probed_groups import probed_group
from kdiag.diagnosis.rebalance.model import GroupType
from kdiag.probe.rebalance.plan import CAUSES
from kdiag_cli.commands.rebalance.probe.document import ProbedGroup
from kdiag_cli.commands.rebalance.probe.options import ProbeOptions
from kdiag_cli.commands.rebalance.probe.text import print_probe
from programs.kdiag_program import Printed

GROUPS = [
    probed_group(),
    probed_group("cooperative-sticky"),
    probed_group("uniform", GroupType.CONSUMER),
]


def printed(
    width: int | None, groups: list[ProbedGroup] = GROUPS, *, shows_members: bool = False
) -> list[str]:
    """Return the lines that are printed."""
    options = ProbeOptions(
        member_count=4,
        partition_count=6,
        protocols=(),
        assignors=(),
        is_static=False,
        causes=CAUSES,
        group=None,
        shows_members=shows_members,
        has_headers=True,
    )
    output = Printed(width)
    print_probe(output, groups, options)
    return output.lines


@pytest.mark.parametrize("width", [80, 120])
def test_kinds_of_groups_stand_side_by_side(width: int) -> None:
    """With what users feel; the causes of each follow."""
    lines = printed(width)
    assert lines[1].split() == ["CAUSE", "EAGER", "COOPERATIVE", "KIP-848"]
    assert lines[2].split("  ")[0] == "member failed"
    assert lines[2].count("2 of 6, 7.00 s") == 3
    assert max(map(len, lines)) <= width
    assert "session timeout 6.00 s" in " ".join(lines)


def test_two_groups_of_one_kind_are_told_apart_by_their_assignors() -> None:
    """Which then stand above the columns."""
    lines = printed(120, [probed_group("range"), probed_group("sticky")])
    assert "RANGE (EAGER)" in lines[1]
    assert "STICKY (EAGER)" in lines[1]


def test_in_a_pipe_there_is_a_line_for_each_step() -> None:
    """With numbers as they are."""
    header, formed, failed, *others = [line.split("\t") for line in printed(None)]
    assert len(others) == 4
    assert dict(zip(header, formed, strict=True))["UNOWNED"] == "-"
    cells = dict(zip(header, failed, strict=True))
    assert (cells["PROTOCOL"], cells["ASSIGNOR"]) == ("classic", "range")
    assert (cells["SESSION-MS"], cells["SETTLED-MS"]) == ("5000.0", "7000.0")
    assert (cells["UNOWNED"], cells["LONGEST-MS"]) == ("2 of 6", "7000.0")
    assert (cells["JOIN-MS"], cells["SYNC-MS"]) == ("400.0", "100.0")


def test_each_member_has_its_phases() -> None:
    """From the question for the coordinator to its first record."""
    header, row, *_ = [line.split("\t") for line in printed(None, shows_members=True)]
    cells = dict(zip(header, row, strict=True))
    assert (cells["MEMBER"], cells["GENERATION"]) == ("probe-1", "7")
    assert (cells["COORDINATOR-MS"], cells["JOIN-MS"], cells["SYNC-MS"]) == (
        "3.0",
        "400.0",
        "100.0",
    )
    assert (cells["HEARTBEAT-MS"], cells["FETCH-MS"]) == ("2000.0", "40.0")
    assert cells["READ-MS"] == "50.0"
