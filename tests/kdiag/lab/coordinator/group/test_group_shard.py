from pathlib import Path

import pytest

from kdiag.clock import NS_PER_S
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from kdiag.lab.coordinator.group.offsets.offset_requests import Committer
from kdiag.lab.coordinator.runtime.coordinator_runtime import ProducerOfRecords
from lab_ends.one_coordinator import GROUP, ORDERS, SESSION_MS, OneCoordinator

SHORT = GroupCoordinatorConfig(
    offsets_retention_minutes=1, offsets_retention_check_interval_ms=1000
)


def test_a_group_is_read_again_with_its_members(coordinator: OneCoordinator) -> None:
    """Who is heard of stays a member; the others go."""
    one, two = coordinator.stable()
    coordinator.commit(5, one.committer)
    coordinator.restart()
    assert (coordinator.group.state, coordinator.group.generation_id) == ("Stable", 1)
    assert one.heartbeat() == "NONE"
    one.sync()
    assert one.synced.assignment == f"for {one.member_id}".encode()
    coordinator.advance(SESSION_MS * 1_000_000 * 6 // 10)
    assert one.heartbeat() == "NONE"
    coordinator.advance(SESSION_MS * 1_000_000 * 6 // 10)
    assert one.heartbeat() == "REBALANCE_IN_PROGRESS"
    assert two.heartbeat() == "UNKNOWN_MEMBER_ID"


def test_a_deleted_group_is_not_there_after_a_restart(coordinator: OneCoordinator) -> None:
    """Nor are its offsets."""
    coordinator.commit(5)
    shard = coordinator.groups.shard_of(GROUP)
    coordinator.groups.write(shard, shard.tombstones(GROUP), lambda _: None)
    for _ in range(2):
        shard = coordinator.groups.shard_of(GROUP)
        assert (shard.groups, len(shard.offsets)) == ({}, 0)
        coordinator.restart()


def test_offsets_of_a_group_without_members_expire(tmp_path: Path) -> None:
    """And the group with the last of them; a tombstone says so."""
    coordinator = OneCoordinator(tmp_path, SHORT)
    coordinator.commit(5)
    coordinator.advance(50 * NS_PER_S)
    assert GROUP in coordinator.groups.shard_of(GROUP).groups
    coordinator.advance(20 * NS_PER_S)
    assert GROUP not in coordinator.groups.shard_of(GROUP).groups
    assert [each.value for each in coordinator.records[-2:]] == [None, None]


def test_offsets_of_what_members_read_do_not_expire(tmp_path: Path) -> None:
    """Those of other topics do."""
    coordinator = OneCoordinator(tmp_path, SHORT)
    one, two = coordinator.stable()
    coordinator.commit(5, one.committer)
    for _ in range(20):
        coordinator.advance(5 * NS_PER_S)
        one.heartbeat()
        two.heartbeat()
    shard = coordinator.groups.shard_of(GROUP)
    assert shard.offsets.get(GROUP, *ORDERS) is not None
    coordinator.group.subscribed_topics = frozenset({"other"})
    coordinator.advance(NS_PER_S)
    assert shard.offsets.get(GROUP, *ORDERS) is None
    assert coordinator.group.state == "Stable"


@pytest.mark.thorough
def test_offsets_in_a_transaction_do_not_expire(tmp_path: Path) -> None:
    """Nor does the group."""
    coordinator = OneCoordinator(tmp_path, SHORT)
    coordinator.commit(5)
    who = Committer(GROUP, "", None, -1, 3, is_transactional=True)
    coordinator.commit(9, who, producer=ProducerOfRecords(17, 0))
    coordinator.advance(120 * NS_PER_S)
    assert coordinator.groups.shard_of(GROUP).offsets.get(GROUP, *ORDERS) is not None


def test_offsets_of_a_deleted_topic_are_forgotten(coordinator: OneCoordinator) -> None:
    """One of the same name that comes later has none."""
    coordinator.commit(5)
    coordinator.node.controller.delete_topic("orders")
    assert coordinator.groups.shard_of(GROUP).offsets.get(GROUP, *ORDERS) is None
    assert coordinator.records[-1].value is None
