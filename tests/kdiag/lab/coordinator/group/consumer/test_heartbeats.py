import pytest

from kdiag.clock import NS_PER_S
from lab_ends.epoch_member import EpochMember, epoch_group, settle
from lab_ends.one_coordinator import GROUP, OneCoordinator


@pytest.fixture
def members(coordinator: OneCoordinator) -> tuple[EpochMember, EpochMember]:
    """Return two members of a group, of which only the first has joined."""
    coordinator.node.controller.create_partitions("orders", 4, [[1]] * 3)
    one, two = (EpochMember(coordinator, each, "orders") for each in ("one", "two"))
    one.join()
    return one, two


def test_who_is_not_heard_of_is_fenced(
    coordinator: OneCoordinator, members: tuple[EpochMember, EpochMember]
) -> None:
    """After the session timeout; the others get what it had."""
    one, two = members
    two.join()
    settle(one, two)
    for _ in range(5):
        coordinator.advance(10 * NS_PER_S)
        two.beat()
    settle(two)
    assert two.has == {0, 1, 2, 3}
    one.beat()
    assert one.error == "UNKNOWN_MEMBER_ID"


@pytest.mark.thorough
def test_who_does_not_give_up_its_partitions_is_fenced(
    coordinator: OneCoordinator, members: tuple[EpochMember, EpochMember]
) -> None:
    """After its rebalance timeout, though it is heard of."""
    one, two = members
    two.join()
    for _ in range(7):
        one.ask()
        two.beat()
        coordinator.advance(10 * NS_PER_S)
    one.ask()
    assert one.error == "UNKNOWN_MEMBER_ID"
    settle(two)
    assert two.has == {0, 1, 2, 3}


@pytest.mark.thorough
def test_who_gives_them_up_in_time_stays(
    coordinator: OneCoordinator, members: tuple[EpochMember, EpochMember]
) -> None:
    """However long it stays then."""
    one, two = members
    two.join()
    for _ in range(10):
        settle(one, two)
        coordinator.advance(10 * NS_PER_S)
    assert (one.error, two.error) == ("NONE", "NONE")


def test_a_group_is_read_again_with_its_members(
    coordinator: OneCoordinator, members: tuple[EpochMember, EpochMember]
) -> None:
    """What they have is theirs; who is not heard of is fenced."""
    one, two = members
    two.join()
    settle(one, two)
    before = epoch_group(coordinator).members
    coordinator.restart()
    assert epoch_group(coordinator).members == before
    assert epoch_group(coordinator).state == "Stable"
    two.beat()
    assert (two.error, two.epoch) == ("NONE", 3)
    for _ in range(5):
        coordinator.advance(10 * NS_PER_S)
        two.beat()
    settle(two)
    assert two.has == {0, 1, 2, 3}


def test_an_empty_classic_group_becomes_a_consumer_group_and_back(
    coordinator: OneCoordinator,
) -> None:
    """Its offsets stay; also after a restart."""
    coordinator.commit(5)
    one = EpochMember(coordinator, "one", "orders")
    one.join()
    assert one.error == "NONE"
    assert coordinator.commit(6, one.committer) == "NONE"
    assert coordinator.commit(7) == "UNKNOWN_MEMBER_ID"
    coordinator.restart()
    assert epoch_group(coordinator).epoch == 2
    one.leave()
    classic = coordinator.member()
    classic.join()
    assert coordinator.group.state == "PreparingRebalance"
    offset = coordinator.groups.shard_of(GROUP).offsets.get(GROUP, "orders", 0)
    assert offset is not None
    assert offset.offset == 6


def test_a_group_that_has_members_does_not_become_another(coordinator: OneCoordinator) -> None:
    """Each is told."""
    classic, _ = coordinator.stable()
    one = EpochMember(coordinator, "one", "orders")
    one.join()
    assert one.error == "GROUP_ID_NOT_FOUND"
    assert classic.heartbeat() == "NONE"
    for member in (classic, _):
        member.leave()
    one.join()
    assert one.error == "NONE"
    classic.join()
    assert classic.join_error == "INCONSISTENT_GROUP_PROTOCOL"
    assert classic.heartbeat(1) == "UNKNOWN_MEMBER_ID"
    assert classic.leave() == "UNKNOWN_MEMBER_ID"


def test_a_heartbeat_that_cannot_be_written_changes_nothing(coordinator: OneCoordinator) -> None:
    """The member asks again."""
    coordinator.node.lack_replicas("__consumer_offsets")
    one = EpochMember(coordinator, "one", "orders")
    one.join()
    assert one.error == "COORDINATOR_NOT_AVAILABLE"
    assert coordinator.groups.shard_of(GROUP).groups == {}


def test_a_group_that_is_coordinated_elsewhere_expects_nobody(
    coordinator: OneCoordinator, members: tuple[EpochMember, EpochMember]
) -> None:
    """NOT_COORDINATOR."""
    one, _ = members
    coordinator.node.controller.delete_topic("__consumer_offsets")
    assert coordinator.groups.purgatories.heartbeats.delayed_count == 0
    one.beat()
    assert one.error == "NOT_COORDINATOR"
