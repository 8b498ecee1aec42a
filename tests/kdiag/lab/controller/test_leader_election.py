import pytest

from kdiag.lab.controller.cluster_image import NO_LEADER, PartitionRegistration
from kdiag.lab.controller.leader_election import changed, elected, led_by_preferred, without

BOTH = PartitionRegistration((1, 2, 3), (1, 2), 1, 4, 7)


def test_the_next_replica_in_sync_leads_when_the_leader_stops() -> None:
    """That is one change, and another leader epoch."""
    found = without(BOTH, 1, {2, 3}, is_unclean=False)
    assert found == PartitionRegistration((1, 2, 3), (2,), 2, 5, 8)


def test_a_follower_that_stops_changes_no_leader() -> None:
    """It is not in sync any more; who has no replica of it changes nothing."""
    assert without(BOTH, 2, {1, 3}, is_unclean=False) == PartitionRegistration(
        (1, 2, 3), (1,), 1, 4, 8
    )
    assert without(BOTH, 9, {1, 2, 3}, is_unclean=False) is BOTH


def test_the_last_one_in_sync_stays_so_when_it_stops() -> None:
    """Nobody leads until it is back, whoever else comes."""
    alone = PartitionRegistration((1, 2, 3), (2,), 2, 5, 8)
    stopped = without(alone, 2, {3}, is_unclean=False)
    assert stopped == PartitionRegistration((1, 2, 3), (2,), NO_LEADER, 6, 9)
    assert elected(stopped, {1, 3}) is stopped
    assert elected(stopped, {1, 2, 3}) == PartitionRegistration((1, 2, 3), (2,), 2, 7, 10)


@pytest.mark.parametrize("running", [{3}, {3, 1}])
def test_an_unclean_leader_is_alone_in_sync(running: set[int]) -> None:
    """The first replica that runs is taken; without one there is no leader."""
    alone = PartitionRegistration((1, 2, 3), (2,), 2, 5, 8)
    found = without(alone, 2, running, is_unclean=True)
    leader = min(running)
    assert found == PartitionRegistration((1, 2, 3), (leader,), leader, 6, 9)
    assert without(alone, 2, set(), is_unclean=True).leader == NO_LEADER


def test_a_leader_that_runs_stays() -> None:
    """Though another one is preferred; and what does not change has no new epoch."""
    moved = PartitionRegistration((1, 2), (1, 2), 2, 1, 1)
    assert elected(moved, {1, 2}) is moved
    assert changed(moved, (1, 2), 2) is moved


def test_the_preferred_replica_leads_if_it_runs_and_is_in_sync() -> None:
    """Else whoever leads goes on."""
    moved = PartitionRegistration((1, 2), (1, 2), 2, 1, 1)
    assert led_by_preferred(moved, {1, 2}) == PartitionRegistration((1, 2), (1, 2), 1, 2, 2)
    assert led_by_preferred(moved, {2}) is moved
    behind = PartitionRegistration((1, 2), (2,), 2, 1, 1)
    assert led_by_preferred(behind, {1, 2}) is behind
