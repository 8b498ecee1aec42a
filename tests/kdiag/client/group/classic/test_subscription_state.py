import pytest

from kdiag.client.group.classic.subscription_state import SubscriptionState
from kdiag.client.group.member import TopicSubscription
from kdiag.client.network.metadata import Broker, Cluster, Partition, Topic
from kdiag.client.network.metadata_updater import FollowingMetadataUpdater
from kdiag.errors import ConfigError
from scripted_kafka.consumer_cluster import keys


@pytest.fixture
def updater() -> FollowingMetadataUpdater:
    """Return an updater that has not been answered yet."""
    return FollowingMetadataUpdater()


def answer(updater: FollowingMetadataUpdater, *brokers: Broker, **counts: int) -> None:
    """Give the updater so many partitions of each topic; those of `__x` are Kafka's own."""
    topics = {
        name: Topic(
            name,
            bytes(16),
            name.startswith("__"),
            tuple(Partition(name, at, 1, 0, (1,), (1,), ()) for at in range(count)),
        )
        for name, count in counts.items()
    }
    updater.cluster = Cluster({each.id: each for each in brokers}, topics)
    updater.update_count += 1


def of(
    updater: FollowingMetadataUpdater, *topics: str, rack: str | None = None
) -> SubscriptionState:
    """Return the state of a member that wants some topics."""
    return SubscriptionState(TopicSubscription.of(*topics), updater, rack)


def test_a_list_is_wanted_and_followed(updater: FollowingMetadataUpdater) -> None:
    """With the topics of others as long as the member leads."""
    state = of(updater, "orders")
    state.subscribe(TopicSubscription.of("orders", "bills"))
    assert state.topics == {"orders", "bills"}
    assert updater.topics == ["bills", "orders"]
    state.group_subscribe(["cards"])
    assert updater.topics == ["bills", "cards", "orders"]
    state.group_subscribe(())
    assert updater.topics == ["bills", "orders"]


def test_a_pattern_needs_all_topics(updater: FollowingMetadataUpdater) -> None:
    """It stands for those that it matches at the moment, and for none of Kafka's own."""
    state = SubscriptionState(TopicSubscription(pattern=".*s"), updater, None)
    state.subscribe(state.wanted)
    assert updater.topics is None
    assert state.topics == frozenset()
    answer(updater, orders=1, bills=1, other=1, __offsets=1)
    state.update()
    assert state.topics == {"orders", "bills"}
    answer(updater, orders=1)
    state.update()
    assert state.topics == {"orders"}


def test_a_wrong_pattern_changes_nothing(updater: FollowingMetadataUpdater) -> None:
    """The member goes on with what it had."""
    state = of(updater, "orders")
    with pytest.raises(ConfigError):
        state.subscribe(TopicSubscription(pattern="("))
    assert state.wanted == TopicSubscription.of("orders")
    assert state.topics == {"orders"}


def test_a_snapshot_changes_with_the_partitions(updater: FollowingMetadataUpdater) -> None:
    """Not with every answer; a topic that is not there has none."""
    state = of(updater, "orders", "bills")
    answer(updater, orders=1)
    state.update()
    first = state.snapshot
    assert {name: len(each) for name, each in first.partitions.items()} == {"bills": 0, "orders": 1}
    answer(updater, orders=1, other=5)
    state.update()
    assert state.snapshot.version > first.version
    assert first.matches(state.snapshot)
    answer(updater, orders=2)
    state.update()
    assert not first.matches(state.snapshot)


def test_snapshots_of_the_same_answer_are_alike(updater: FollowingMetadataUpdater) -> None:
    """Though one has the topics of the whole group."""
    answer(updater, orders=1, bills=1)
    state = of(updater, "orders")
    before = state.snapshot
    state.group_subscribe(["bills"])
    assert set(state.snapshot.partitions) == {"bills", "orders"}
    assert before.matches(state.snapshot)


def test_racks_are_looked_at_by_members_that_have_one(updater: FollowingMetadataUpdater) -> None:
    """Others need not care where replicas are."""
    plain, racked = of(updater, "orders"), of(updater, "orders", rack="a")
    snapshots = []
    for rack in ("a", "b"):
        answer(updater, Broker(1, "h", 1, rack), orders=1)
        for state in (plain, racked):
            state.update()
        snapshots.append((plain.snapshot, racked.snapshot))
    assert snapshots[0][0].matches(snapshots[1][0])
    assert not snapshots[0][1].matches(snapshots[1][1])


def test_an_assignment_must_be_of_wanted_topics(updater: FollowingMetadataUpdater) -> None:
    """By name or by pattern, whether the member has heard of them or not."""
    state = of(updater, "orders")
    assert state.fits(keys(0, 1))
    assert state.fits(())
    assert not state.fits(keys(0, topic="bills"))
    state.subscribe(TopicSubscription(pattern="ord.*"))
    assert state.fits(keys(0, topic="ordinary"))
    assert not state.fits([*keys(0), *keys(0, topic="bills")])


def test_topics_that_the_leader_found_first_are_added(updater: FollowingMetadataUpdater) -> None:
    """To a pattern alone; a change meanwhile is not forgotten."""
    state = SubscriptionState(TopicSubscription(pattern="ord.*"), updater, None)
    joined = frozenset({"ordinary"})
    assert state.add_matching(keys(0), joined) == joined | {"orders"}
    assert state.topics == {"orders"}
    named = of(updater, "orders")
    assert named.add_matching(keys(0, topic="bills"), named.topics) == named.topics
    assert named.topics == {"orders"}


def test_an_assignment_ends_what_was_pending(updater: FollowingMetadataUpdater) -> None:
    """Partitions are owned, or they are not."""
    state = of(updater, "orders")
    state.pending_revocation = frozenset(keys(0))
    state.assign(keys(1))
    assert state.assignment == {*keys(1)}
    assert state.pending_revocation == frozenset()
