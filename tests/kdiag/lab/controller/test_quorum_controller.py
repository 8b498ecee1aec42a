from pathlib import Path
from typing import Any

import pytest

from kdiag.lab.controller.broker_sessions import BrokerSessions
from kdiag.lab.controller.cluster_image import (
    BrokerRegistration,
    ClusterImage,
    PartitionRegistration,
)
from kdiag.lab.controller.quorum_controller import (
    BALANCE_INTERVAL_NS,
    IsrChange,
    NewTopic,
    QuorumController,
)
from kdiag.lab.controller.refusal import RequestRefusedError


@pytest.fixture
def controller() -> QuorumController:
    """Return a cluster of three brokers without topics."""
    return with_brokers(QuorumController(), 1, 2, 3)


def with_brokers(controller: QuorumController, *ids: int) -> QuorumController:
    """Return a controller after some brokers have registered."""
    for each in ids:
        controller.register_broker(BrokerRegistration(each, "localhost", 9090 + each))
    return controller


def test_a_topic_is_created_with_what_was_asked_for(controller: QuorumController) -> None:
    """The first replica of each partition leads it, all are in sync."""
    topic = controller.create_topic(NewTopic("orders", 3, 2, configs={"flush.ms": "5"}))
    assert controller.image.topics == {"orders": topic}
    assert len(topic.topic_id) == 16
    assert topic.configs == {"flush.ms": "5"}
    for partition in topic.partitions:
        assert partition.isr == partition.replicas
        assert partition.leader == partition.replicas[0]
        assert len(set(partition.replicas)) == 2
    assert {partition.leader for partition in topic.partitions} == {1, 2, 3}


def test_a_topic_has_one_partition_and_one_replica_by_default(
    controller: QuorumController,
) -> None:
    """And two topics of one partition begin at different brokers."""
    first = controller.create_topic(NewTopic("a"))
    second = controller.create_topic(NewTopic("b"))
    assert len(first.partitions) == len(first.partitions[0].replicas) == 1
    assert first.partitions[0].leader != second.partitions[0].leader
    assert first.topic_id != second.topic_id


def test_replicas_may_be_given(controller: QuorumController) -> None:
    """For each partition; then nothing else is said of their numbers."""
    topic = controller.create_topic(NewTopic("a", assignments={1: [3], 0: [2, 1]}))
    assert [partition.replicas for partition in topic.partitions] == [(2, 1), (3,)]


@pytest.mark.parametrize(
    ("new", "error"),
    [
        (NewTopic(""), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic("there"), "TOPIC_ALREADY_EXISTS"),
        (NewTopic("is.there"), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic("a", 0), "INVALID_PARTITIONS"),
        (NewTopic("a", 10_001), "INVALID_PARTITIONS"),
        (NewTopic("a", 1, 4), "INVALID_REPLICATION_FACTOR"),
        (NewTopic("a", 1, assignments={0: [1]}), "INVALID_REQUEST"),
        (NewTopic("a", assignments={1: [1]}), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("a", assignments={0: [1, 1]}), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("a", assignments={0: []}), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("a", assignments={0: [9]}), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("a", configs={"x": "y"}), "INVALID_CONFIG"),
    ],
)
def test_what_cannot_be_created_is_refused(
    controller: QuorumController, new: NewTopic, error: str
) -> None:
    """And nothing has changed."""
    controller.create_topic(NewTopic("there"))
    controller.create_topic(NewTopic("is_there"))
    before = controller.image
    with pytest.raises(RequestRefusedError) as caught:
        controller.create_topic(new)
    assert caught.value.error == error
    assert controller.image is before


def test_a_topic_can_be_checked_only(controller: QuorumController) -> None:
    """Nothing is created, more partitions are not added, and settings stay."""
    before = controller.image
    controller.create_topic(NewTopic("a"), is_only_checked=True)
    assert controller.image is before
    controller.create_topic(NewTopic("a"))
    before = controller.image
    controller.create_partitions("a", 5, is_only_checked=True)
    controller.set_topic_configs("a", {"flush.ms": "1"}, is_only_checked=True)
    assert controller.image is before


def test_a_topic_gets_more_partitions(controller: QuorumController) -> None:
    """With as many replicas as those it has, or with given ones."""
    controller.create_topic(NewTopic("a", 2, 2))
    controller.create_partitions("a", 3)
    controller.create_partitions("a", 4, [[3]])
    partitions = controller.image.topics["a"].partitions
    assert [len(partition.replicas) for partition in partitions] == [2, 2, 2, 1]
    assert partitions[3].replicas == (3,)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("b", 5), "UNKNOWN_TOPIC_OR_PARTITION"),
        (("a", 2), "INVALID_PARTITIONS"),
        (("a", 1), "INVALID_PARTITIONS"),
        (("a", 20_000), "INVALID_PARTITIONS"),
        (("a", 4, [[1]]), "INVALID_REPLICA_ASSIGNMENT"),
        (("a", 3, [[7]]), "INVALID_REPLICA_ASSIGNMENT"),
    ],
)
def test_partitions_that_cannot_be_added_are_refused(
    controller: QuorumController, arguments: Any, error: str
) -> None:
    """A topic never gets fewer."""
    controller.create_topic(NewTopic("a", 2))
    with pytest.raises(RequestRefusedError) as caught:
        controller.create_partitions(*arguments)
    assert caught.value.error == error


def test_a_topic_is_deleted_and_its_settings_replaced(controller: QuorumController) -> None:
    """One that is not there is refused."""
    controller.create_topic(NewTopic("a", configs={"flush.ms": "5"}))
    controller.set_topic_configs("a", {"retention.ms": "7"})
    assert controller.image.topics["a"].configs == {"retention.ms": "7"}
    controller.delete_topic("a")
    assert controller.image.topics == {}
    with pytest.raises(RequestRefusedError, match="there is no topic 'a'"):
        controller.delete_topic("a")
    with pytest.raises(RequestRefusedError, match="there is no topic 'a'"):
        controller.set_topic_configs("a", {})


def test_producer_ids_are_given_once_also_after_a_restart(tmp_path: Path) -> None:
    """A block that was begun is not given again."""
    first = QuorumController(tmp_path)
    assert first.allocate_producer_ids() == range(1000)
    assert first.allocate_producer_ids() == range(1000, 2000)
    assert QuorumController(tmp_path).allocate_producer_ids() == range(2000, 3000)


def test_topics_and_the_id_of_the_cluster_survive(tmp_path: Path) -> None:
    """In a folder, without leaders; without one there is another cluster each time."""
    first = with_brokers(QuorumController(tmp_path), 1)
    first.create_topic(NewTopic("a", 2))
    again = QuorumController(tmp_path)
    before, after = first.image.topics["a"], again.image.topics["a"]
    assert (after.topic_id, after.configs) == (before.topic_id, before.configs)
    assert [each.isr for each in after.partitions] == [(1,), (1,)]
    assert {(each.leader, each.leader_epoch) for each in after.partitions} == {(-1, 1)}
    assert again.image.cluster_id == first.image.cluster_id
    assert len(again.image.cluster_id) == 22
    assert QuorumController().image.cluster_id != again.image.cluster_id
    assert repr(again) == "<QuorumController of 1 topics>"


def test_everybody_hears_of_every_change_in_order(controller: QuorumController) -> None:
    """First of the state as it is."""
    images: list[ClusterImage] = []
    controller.subscribe(images.append)
    controller.create_topic(NewTopic("a"))
    controller.delete_topic("a")
    assert [sorted(image.topics) for image in images] == [[], ["a"], []]
    assert [image.version for image in images] == [3, 4, 5]
    assert images[-1] is controller.image


def test_a_partition_whose_leader_does_not_run_is_led_by_another_that_is_in_sync(
    tmp_path: Path,
) -> None:
    """Each change has its epoch; one of which nobody runs has no leader."""
    first = with_brokers(QuorumController(tmp_path), 1, 2)
    first.create_topic(NewTopic("both", assignments={0: [1, 2]}))
    first.create_topic(NewTopic("one", assignments={0: [1]}))
    again = with_brokers(QuorumController(tmp_path), 2)
    both, one = (again.image.topics[name].partitions[0] for name in ("both", "one"))
    assert (both.leader, both.leader_epoch, both.partition_epoch) == (2, 2, 2)
    assert (one.leader, one.leader_epoch) == (-1, 1)
    with_brokers(again, 1)
    one = again.image.topics["one"].partitions[0]
    assert (one.leader, one.leader_epoch) == (1, 2)


def partition_of(controller: QuorumController, topic: str = "orders") -> PartitionRegistration:
    """Return the first partition of a topic."""
    return controller.image.topics[topic].partitions[0]


def test_a_broker_that_is_removed_leads_nothing_and_is_in_sync_nowhere(
    controller: QuorumController,
) -> None:
    """Who has nothing to do with it stays; unclean elections have to be allowed."""
    controller.create_topic(NewTopic("orders", assignments={0: [1, 2]}))
    unclean = {"unclean.leader.election.enable": "true"}
    controller.create_topic(NewTopic("lossy", assignments={0: [1, 2]}, configs=unclean))
    controller.create_topic(NewTopic("others", assignments={0: [3]}))
    others = controller.image.topics["others"]
    controller.remove_broker(1)
    assert sorted(controller.image.brokers) == [2, 3]
    assert partition_of(controller).isr == (2,)
    controller.register_broker(BrokerRegistration(1, "localhost", 9091))
    controller.remove_broker(2)
    assert (partition_of(controller).leader, partition_of(controller).isr) == (-1, (2,))
    assert (partition_of(controller, "lossy").leader, partition_of(controller, "lossy").isr) == (
        1,
        (1,),
    )
    assert controller.image.topics["others"] is others
    before = controller.image
    controller.remove_broker(2)
    assert controller.image is before


def test_a_leader_says_which_replicas_are_in_sync(controller: QuorumController) -> None:
    """As long as it leads, and knows the last change; brokers have to run, and be the same."""
    controller.create_topic(NewTopic("orders", assignments={0: [1, 2, 3]}))
    epoch_of_two = controller.image.brokers[2].epoch

    def alter(leader: int, isr: dict[int, int], leader_epoch: int = 0, epoch: int = 0) -> None:
        controller.alter_partitions(leader, [IsrChange("orders", 0, leader_epoch, epoch, isr)])

    alter(1, {1: -1, 3: -1})
    assert partition_of(controller).isr == (1, 3)
    alter(1, {1: -1})
    assert partition_of(controller).isr == (1, 3), "of a state that was overtaken"
    alter(3, {3: -1}, epoch=1)
    alter(1, {3: -1}, epoch=1)
    alter(1, {1: -1}, leader_epoch=1, epoch=1)
    alter(1, {1: -1, 2: epoch_of_two + 100, 3: -1}, epoch=1)
    alter(1, {1: -1, 9: -1}, epoch=1)
    controller.alter_partitions(1, [IsrChange("gone", 0, 0, 0, {1: -1})])
    assert partition_of(controller).isr == (1, 3)
    alter(1, {3: -1, 2: epoch_of_two, 1: -1}, epoch=1)
    assert partition_of(controller).isr == (1, 2, 3)


def test_a_silent_broker_is_removed_by_the_heartbeat_of_another(
    controller: QuorumController,
) -> None:
    """One that comes back has to register; one that has sent none yet has as much time."""
    session_ns = 9 * 10**9
    assert controller.heartbeat(1, 0)
    assert controller.heartbeat(3, 1)
    assert controller.heartbeat(2, session_ns)
    assert sorted(controller.image.brokers) == [1, 2, 3]
    assert controller.heartbeat(2, session_ns + 1)
    assert sorted(controller.image.brokers) == [2, 3]
    assert not controller.heartbeat(1, session_ns + 2)


def test_a_change_that_somebody_makes_when_he_is_told_is_told_after_it(
    controller: QuorumController,
) -> None:
    """So that all hear of the changes in the same order."""
    heard: list[int] = []

    def answer(image: ClusterImage) -> None:
        if "first" in image.topics and "second" not in image.topics:
            controller.create_topic(NewTopic("second"))

    def note(image: ClusterImage) -> None:
        heard.append(image.version)

    controller.subscribe(answer)
    controller.subscribe(note)
    controller.create_topic(NewTopic("first"))
    assert heard == sorted(heard)
    assert len(controller.image.topics) == 2
    controller.unsubscribe(note)
    controller.delete_topic("first")
    assert len(heard) == 3


def test_preferred_replicas_lead_again_after_a_while(controller: QuorumController) -> None:
    """Those that run and are in sync; the first heartbeat begins the time."""
    controller.create_topic(NewTopic("orders", assignments={0: [1, 2]}))
    controller.remove_broker(1)
    controller.register_broker(BrokerRegistration(1, "localhost", 9091))
    known = partition_of(controller)
    change = IsrChange("orders", 0, known.leader_epoch, known.partition_epoch, {1: -1, 2: -1})
    controller.alter_partitions(2, [change])
    for now_ns in (0, BALANCE_INTERVAL_NS - 1):
        for node_id in (1, 2, 3):
            controller.heartbeat(node_id, now_ns)
        if not now_ns:
            controller.sessions = BrokerSessions(10 * BALANCE_INTERVAL_NS)
    assert partition_of(controller).leader == 2
    controller.heartbeat(3, BALANCE_INTERVAL_NS)
    assert (partition_of(controller).leader, partition_of(controller).leader_epoch) == (1, 2)
