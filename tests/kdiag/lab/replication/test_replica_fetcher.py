"""A follower's fetches, in a lab whose brokers act when the test says so.

Intents of Kafka's AbstractFetcherThreadTest and ReplicaFetcherThreadTest that are held elsewhere:
truncation by epochs in `test_replica_partition`. Left out: fetcher threads that are added, removed
and rebalanced (a node has one fetcher), the truncation by OffsetForLeaderEpoch of releases before
2.7, throttled replicas, and tiered storage.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kdiag.clock import NS_PER_S
from kdiag.lab.broker.lab_cluster import LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from lab_ends.one_node import batch
from lab_ends.several.stepped_lab import SteppedLab

ORDERS = TopicPartitionOperationKey("orders", 0)


@pytest.fixture
def lab() -> Iterator[SteppedLab]:
    """Return three brokers that have a partition; the first leads it."""
    with SteppedLab(NewTopic("orders", assignments={0: (1, 2, 3)})) as running:
        yield running


def test_followers_have_what_the_leader_has_and_that_answers_acks_all(lab: SteppedLab) -> None:
    """The high watermark of the leader is theirs, too, one fetch later."""
    lab.produce(ORDERS, batch(3))
    assert lab.answers == []
    assert lab.ends(ORDERS) == [(0, 3), (0, 0), (0, 0)]
    lab.until(lambda: lab.answers)
    assert lab.answers == ["NONE"]
    assert lab.ends(ORDERS)[0] == (3, 3)
    lab.advance(NS_PER_S)
    assert lab.ends(ORDERS) == [(3, 3)] * 3
    assert lab.contents(ORDERS) == [[(0, 0)]] * 3


def test_a_partition_that_is_new_is_followed_and_one_that_is_gone_is_not(lab: SteppedLab) -> None:
    """Others go on."""
    fetcher = lab.node(2).replicas.fetcher
    assert fetcher.following_count == 1
    lab.controller.create_topic(NewTopic("more", assignments={0: (3, 2), 1: (2, 3)}))
    assert fetcher.following_count == 2
    lab.controller.delete_topic("orders")
    assert fetcher.following_count == 1
    lab.produce(TopicPartitionOperationKey("more", 0), batch())
    lab.advance(NS_PER_S)
    assert lab.answers == ["NONE"]
    assert repr(fetcher) == "<ReplicaFetcher of broker 2: 1 partitions>"


def test_a_follower_that_was_away_catches_up(lab: SteppedLab) -> None:
    """And is in sync again when it has everything that is replicated."""
    lab.stop_node(3)
    assert lab.registration(ORDERS).isr == (1, 2)
    for _ in range(3):
        lab.produce(ORDERS, batch())
    lab.until(lambda: len(lab.answers) == 3)
    lab.start_node(3)
    assert lab.registration(ORDERS).isr == (1, 2)
    lab.until(lambda: lab.registration(ORDERS).isr == (1, 2, 3))
    assert lab.contents(ORDERS) == [[(0, 0), (1, 0), (2, 0)]] * 3


@pytest.mark.thorough
def test_a_follower_whose_offsets_are_deleted_begins_where_the_leader_does(
    lab: SteppedLab,
) -> None:
    """Its log has the leader's start."""
    lab.stop_node(3)
    lab.produce(ORDERS, batch(5))
    lab.until(lambda: lab.answers)
    leader = lab.replica(ORDERS, 1)
    leader.log.roll()
    assert leader.delete_records(4) == 4
    lab.produce(ORDERS, batch(2))
    lab.until(lambda: len(lab.answers) == 2)
    first, *_ = leader.log.segments
    leader.log.delete_segment(first)
    leader.log.increment_log_start(5)
    lab.start_node(3)
    lab.until(lambda: lab.registration(ORDERS).isr == (1, 2, 3))
    follower = lab.replica(ORDERS, 3)
    assert (follower.log.log_start_offset, follower.log.log_end_offset) == (5, 7)
    lab.advance(NS_PER_S)
    assert {each.log.log_start_offset for each in lab.replicas(ORDERS)} == {5}


def test_a_leader_that_does_not_answer_is_asked_again(lab: SteppedLab) -> None:
    """A moment later, not at once."""
    lab.turn(5)
    lab.node(2).processor.remove_client("internal-1-fetch")
    lab.node(2).peers.handle_connection_end("internal-1-fetch")
    lab.produce(ORDERS, batch())
    lab.turn(20)
    assert lab.answers == []
    lab.advance(NS_PER_S)
    assert lab.answers == ["NONE"]


@pytest.mark.thorough
def test_what_a_leader_had_alone_is_dropped_when_it_follows(lab: SteppedLab) -> None:
    """It is told where its log parts from the new leader's, and all have the same again."""
    lab.produce(ORDERS, batch())
    lab.until(lambda: lab.answers)
    lab.paused = {2, 3}
    lab.produce(ORDERS, batch(), acks=1)
    lab.produce(ORDERS, batch(), acks=1)
    lab.stop_node(1, is_clean=False)
    lab.paused = set()
    lab.until_elected(1)
    assert lab.registration(ORDERS).leader == 2
    for _ in range(3):
        lab.produce(ORDERS, batch())
        lab.until(lambda: len(lab.answers) > 3)
        lab.answers.pop()
    lab.start_node(1)
    lab.until(lambda: lab.registration(ORDERS).isr == (1, 2, 3))
    assert lab.contents(ORDERS) == [[(0, 0), (1, 1), (2, 1), (3, 1)]] * 3


@pytest.mark.thorough
def test_leaders_that_wrote_one_after_the_other_leave_one_log(lab: SteppedLab) -> None:
    """Each epoch in which somebody wrote alone is found and cut, one after the other."""
    for leader, others in ((1, {2, 3}), (2, {1, 3})):
        lab.paused = others
        assert lab.registration(ORDERS).leader == leader
        lab.produce(ORDERS, batch(2), acks=1)
        lab.stop_node(leader, is_clean=False)
        lab.paused = set()
        lab.until_elected(leader)
        if leader == 1:
            lab.start_node(1)
            lab.until(lambda: lab.registration(ORDERS).isr == (1, 2, 3))
    new = lab.registration(ORDERS).leader
    assert new in {1, 3}
    lab.produce(ORDERS, batch())
    lab.start_node(2)
    lab.until(lambda: lab.registration(ORDERS).isr == (1, 2, 3))
    lab.advance(NS_PER_S)
    first, second, third = lab.contents(ORDERS)
    assert first == second == third


@pytest.mark.thorough
def test_an_unclean_leader_has_others_drop_what_it_lacks(lab: SteppedLab) -> None:
    """Even what was replicated: that is what its setting allows."""
    lab.controller.set_topic_configs("orders", {"unclean.leader.election.enable": "true"})
    lab.stop_node(3)
    lab.produce(ORDERS, batch(3))
    lab.until(lambda: lab.answers)
    lab.stop_node(2)
    lab.start_node(3)
    lab.stop_node(1, is_clean=False)
    lab.until_elected(1)
    assert (lab.registration(ORDERS).leader, lab.registration(ORDERS).isr) == (3, (3,))
    lab.produce(ORDERS, batch())
    lab.start_node(1)
    lab.start_node(2)
    lab.until(lambda: lab.registration(ORDERS).isr == (1, 2, 3))
    first, second, third = lab.contents(ORDERS)
    assert first == second == third
    assert len(first) == 1


@pytest.mark.thorough
def test_a_restart_of_all_goes_on_with_what_is_on_disk(tmp_path: Path) -> None:
    """Another leader epoch begins, so that what a follower has too much is known."""
    settings = LabSettings(node_count=3, folder=tmp_path)
    new = NewTopic("orders", assignments={0: (1, 2, 3)})
    with SteppedLab(new, settings=settings) as lab:
        lab.produce(ORDERS, batch(2))
        lab.until(lambda: lab.answers)
        lab.paused = {1}
        for node in lab.nodes[1:]:
            node.replicas.partitions[ORDERS].log.append_as_leader(batch(), 0)
    with SteppedLab(new, settings=settings) as again:
        assert again.registration(ORDERS).leader_epoch > 0
        assert again.registration(ORDERS).isr == (1, 2, 3)
        again.produce(ORDERS, batch())
        again.until(lambda: again.answers)
        again.advance(NS_PER_S)
        first, second, third = again.contents(ORDERS)
        assert first == second == third
        assert [offset for offset, _ in first] == [0, 2]
