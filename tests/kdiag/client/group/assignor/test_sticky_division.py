"""Which algorithm divides, and what a leader remembers."""

import json
from typing import Any

import pytest

from folders import DATA
from group_stories import assignor_judge
from kdiag.client.group.assignor.assignor import MemberSubscription
from kdiag.client.group.assignor.consumer_protocol import decode_assignment
from kdiag.client.group.assignor.owned_partitions import MemberData
from kdiag.client.group.assignor.sticky_division import StickyDivision

ENDLESS = DATA / "assignors" / "endless.json"


def divide(division: StickyDivision, **members: MemberSubscription) -> dict[str, list[int]]:
    """Return the partitions of `t`, of which there are four."""
    where = {"t": [frozenset[str]()] * 4, "u": [frozenset[str]()], "empty": []}
    assigned = division.divide(where, members).assignments
    return {name: [key.partition for key in each] for name, each in assigned.items()}


def stated(subscription: MemberSubscription) -> MemberData:
    """Return what a subscription says itself."""
    return MemberData(subscription.owned_partitions, subscription.generation)


def test_only_members_with_the_same_topics_tell_what_is_transferred() -> None:
    """Otherwise it must be found by comparing."""
    division = StickyDivision(stated)
    where = {"t": [frozenset[str]()], "u": [frozenset[str]()]}
    same = {name: MemberSubscription(("t",)) for name in "mn"}
    assert division.divide(where, same).transferred == {}
    other = {**same, "o": MemberSubscription(("u",))}
    assert division.divide(where, other).transferred is None


def test_topics_that_nobody_wants_do_not_count() -> None:
    """Shares are shares of what is wanted."""
    whole = divide(StickyDivision(stated), m=MemberSubscription(("t", "empty")))
    assert whole == {"m": [0, 1, 2, 3]}


def test_a_leader_remembers_the_latest_generation_it_has_seen() -> None:
    """As Java's does, though the group may have begun again with generation 1."""
    division = StickyDivision(stated)
    divide(division, m=MemberSubscription(("t",), generation=9))
    divide(division, m=MemberSubscription(("t",), generation=1))
    assert division._max_generation == 9


@pytest.mark.timeout(30)
def test_an_assignment_ends_where_that_of_java_never_does() -> None:
    """Every partition that is assigned has one member."""
    shape: dict[str, Any] = json.loads(ENDLESS.read_text())
    last = assignor_judge.play(shape)[-1]["assignments"].values()
    assigned = [key for each in last for key in decode_assignment(bytes.fromhex(each)).partitions]
    assert len(assigned) == len(set(assigned)) > 0
