from typing import get_args

from kdiag.diagnosis.rebalance.events import EpochBeat, Event, PartitionsSeen
from kdiag.diagnosis.rebalance.histories import histories_of
from kdiag.diagnosis.rebalance.model import EvidencePlace, GroupType


def test_every_event_says_when_where_and_of_which_group() -> None:
    """The first three fields of each kind are the same."""
    for kind in get_args(Event):
        assert kind._fields[:3] == ("at_ns", "group", "evidence"), kind


def test_what_concerns_all_groups_names_none() -> None:
    """It makes no group by itself."""
    assert (
        histories_of(
            [PartitionsSeen(7, "", EvidencePlace("packet", None, 3), "clicks", 1, 2)], "capture"
        )
        == []
    )


def test_an_epochs_heartbeat_names_the_kind_of_its_group() -> None:
    """So a share group is never taken for another one."""
    assert "type" in EpochBeat._fields
    assert set(GroupType) == {"classic", "consumer", "share", "streams"}
