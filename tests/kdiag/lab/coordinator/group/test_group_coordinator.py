import pytest

from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.group_coordinator import GroupCoordinator
from kdiag.lab.coordinator.group.offsets.offset_requests import Committer, OffsetToCommit
from kdiag.lab.coordinator.group.offsets.offset_store import PartitionOfTopic
from kdiag.lab.coordinator.runtime.coordinator_topic import GROUP_TOPIC
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from lab_ends.one_coordinator import GROUP, OneCoordinator
from lab_ends.several.stepped_lab import SteppedLab


def test_groups_that_are_being_read_have_to_wait(coordinator: OneCoordinator) -> None:
    """But heartbeats are answered: what the group is will be known soon."""
    one, _ = coordinator.stable()
    node = coordinator.node
    coordinator.groups = GroupCoordinator(node.replicas, node.clock)
    coordinator.groups.handle_image(node.controller.image)
    assert coordinator.groups.runtime.is_loading
    assert one.heartbeat() == "NONE"
    one.sync()
    assert one.sync_error == "COORDINATOR_LOAD_IN_PROGRESS"
    assert coordinator.commit(5, one.committer) == "COORDINATOR_LOAD_IN_PROGRESS"
    assert coordinator.groups.advance() is not None
    assert one.heartbeat() == "NONE"
    assert coordinator.commit(5, one.committer) == "NONE"


def test_groups_that_another_node_coordinates_are_refused(coordinator: OneCoordinator) -> None:
    """Heartbeats, too."""
    one, _ = coordinator.stable()
    coordinator.node.controller.delete_topic("__consumer_offsets")
    assert one.heartbeat() == "NOT_COORDINATOR"
    assert coordinator.commit(5, one.committer) == "NOT_COORDINATOR"
    with pytest.raises(RequestRefusedError, match="NOT_COORDINATOR"):
        coordinator.groups.leave(GROUP, [])


def test_offsets_that_cannot_be_written_are_not_committed(coordinator: OneCoordinator) -> None:
    """The member is told to ask again."""
    coordinator.node.lack_replicas("__consumer_offsets")
    assert coordinator.commit(5) == "COORDINATOR_NOT_AVAILABLE"
    assert len(coordinator.groups.shard_of(GROUP).offsets) == 0


def test_what_waits_is_told_by_kind(coordinator: OneCoordinator) -> None:
    """For whoever watches the lab."""
    coordinator.member().join()
    waiting = {each.name: each.delayed_count for each in coordinator.groups.waiting}
    assert waiting == {"Rebalance": 1, "Heartbeat": 1}
    assert "GroupCoordinator of 1" in repr(coordinator.groups)


def test_the_next_leader_coordinates_with_what_was_committed() -> None:
    """Once it has read the partition; who led it before sends clients there."""
    key = TopicPartitionOperationKey(GROUP_TOPIC.name, 0)
    with SteppedLab(NewTopic("orders", 1, 3), NewTopic(GROUP_TOPIC.name, 1, 3)) as lab:
        lab.turn(2)
        codes: list[int] = []
        orders = PartitionOfTopic("orders", 0)
        before = lab.leader(key)
        before.groups.commit(
            Committer(GROUP, "", None, -1, 8),
            [OffsetToCommit(orders, 7, -1, "")],
            lambda told: codes.extend(told.values()),
        )
        assert codes == []
        lab.until(lambda: codes)
        assert codes == [0]
        lab.stop_node(before.node_id)
        after = lab.leader(key)
        with pytest.raises(RequestRefusedError, match="COORDINATOR_LOAD_IN_PROGRESS"):
            after.groups.shard_of(GROUP)
        lab.turn(2)
        found = after.groups.shard_of(GROUP).offsets.get(GROUP, *orders)
        assert found is not None
        assert found.offset == 7
        again = lab.start_node(before.node_id)
        with pytest.raises(RequestRefusedError, match="NOT_COORDINATOR"):
            again.groups.shard_of(GROUP)
