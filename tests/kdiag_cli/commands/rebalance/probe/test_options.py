import re

import pytest
import typer

from kdiag.diagnosis.rebalance.model import CauseKind
from kdiag.probe.rebalance.plan import CAUSES
from kdiag_cli.commands.rebalance.probe.options import (
    ProbedProtocol,
    ProvokedCause,
    check_group,
    read_causes,
    read_partitions,
)
from tiers.cases import for_each


def test_each_member_has_three_partitions_unless_told() -> None:
    """One more must have any when it joins."""
    assert read_partitions(None, 4) == 12
    assert read_partitions(5, 4) == 5
    with pytest.raises(typer.BadParameter, match="must be more than --members, which are 4"):
        read_partitions(4, 4)


def test_causes_come_in_the_order_in_which_they_are_provoked() -> None:
    """Whatever the order on the command line."""
    assert read_causes(()) == list(CAUSES)
    given = [ProvokedCause.MEMBER_LEFT, ProvokedCause.MEMBER_JOINED]
    assert read_causes(given) == [CauseKind.MEMBER_JOINED, CauseKind.MEMBER_LEFT]


@for_each(
    ("group", "protocols", "is_known", "why"),
    [
        ("orders", [], False, "members of orders would rebalance with each cause"),
        ("orders", [ProbedProtocol.CLASSIC], True, "the group has its own"),
        ("", [], True, "a group has a name"),
        (None, [], True, "is for --group"),
    ],
)
def test_a_real_group_is_joined_by_those_alone_who_know(
    group: str | None, protocols: list[ProbedProtocol], *, is_known: bool, why: str
) -> None:
    """Its protocol and its assignor are what they are."""
    with pytest.raises(typer.BadParameter, match=re.escape(why)):
        check_group(group, protocols, [], is_known=is_known)


def test_a_group_of_its_own_needs_no_word() -> None:
    """Nor does a real one whose members may be disturbed."""
    check_group(None, [ProbedProtocol.CLASSIC], ["range"], is_known=False)
    check_group("orders", [], [], is_known=True)
