from typing import Any

import pytest

from group_stories.story import GroupStory, S, share
from kdiag.diagnosis.rebalance.epochs import EpochGroup
from kdiag.diagnosis.rebalance.events import EpochBeat, PartitionsSeen
from kdiag.diagnosis.rebalance.model import GroupHistory, GroupType, Rebalance

CLICKS = frozenset({"clicks"})


def history_of(story: GroupStory, kind: GroupType = GroupType.CONSUMER) -> GroupHistory:
    """Return what the state machine makes of a story."""
    group = EpochGroup(story.group, kind, "capture")
    for event in story.events:
        group.take(event)
    return group.finish()


def told(story: GroupStory) -> dict[int, list[tuple[str, str, str | None]]]:
    """Return the causes of each epoch: what, how sure, who."""
    return {
        each.generation: [(cause.cause, cause.confidence, cause.member_id) for cause in each.causes]
        for each in history_of(story).rebalances
    }


def last_of(story: GroupStory) -> Rebalance:
    """Return the last rebalance of a story."""
    return history_of(story).rebalances[-1]


def two_members() -> GroupStory:
    """Return a group, seen from its first epoch, with two members."""
    story = GroupStory()
    story.epoch("a", 0, 1, topics=CLICKS, assigned=share(0, 1))
    story.epoch("b", 0, 2, topics=CLICKS, assigned=frozenset())
    story.epoch("a", 1, 2, assigned=share(0))
    story.epoch("b", 2, 2, assigned=share(1))
    return story


def test_who_joins_makes_the_epoch_that_it_is_told() -> None:
    """The partitions that it takes over moved."""
    story = two_members()

    assert told(story) == {
        1: [("member_joined", "certain", "a")],
        2: [("member_joined", "certain", "b")],
    }
    moved = last_of(story).moved
    assert moved is not None
    assert [(each.partition, each.source, each.target) for each in moved.moves] == [(1, "a", "b")]
    assert (moved.partition_count, last_of(story).member_count) == (2, 2)


def test_who_leaves_makes_the_next_epoch() -> None:
    """The others are told it with their next heartbeat, and have its partitions."""
    story = two_members()
    story.epoch("b", -1, -1)
    story.epoch("a", 2, 3, assigned=share(0, 1))
    moved = last_of(story).moved

    assert told(story)[3] == [("member_left", "certain", "b")]
    assert moved is not None
    assert [(each.partition, each.source, each.target) for each in moved.moves] == [(1, "b", "a")]


def test_a_leave_that_nobody_saw_answered_is_likely() -> None:
    """The coordinator may not have had it."""
    story = two_members()
    story.epoch("b", -1, None)
    story.epoch("a", 2, 3)

    assert told(story)[3] == [("member_left", "likely", "b")]


def test_the_last_epoch_may_be_told_to_nobody() -> None:
    """All have left, so it is listed from what made it, and likely."""
    story = two_members()
    story.epoch("b", -1, -1)
    story.epoch("a", 2, 3)
    story.epoch("a", -1, -1)

    assert told(story)[4] == [("member_left", "likely", "a")]


def test_a_member_that_is_fenced_was_removed_before() -> None:
    """Its session had expired."""
    story = two_members()
    story.epoch("a", 2, 3, assigned=share(0, 1))
    story.epoch("b", 2, None, error="FENCED_MEMBER_EPOCH")

    (cause,) = history_of(story).rebalances[-1].causes

    assert (cause.cause, cause.confidence, cause.member_id) == ("member_failed", "likely", "b")


def test_a_new_subscription_is_said_in_bytes() -> None:
    """So is another assignor."""
    story = two_members()
    story.epoch("a", 2, 3, topics=CLICKS | {"ads"})
    story.epoch("a", 3, 3, assignor="range")
    story.epoch("a", 3, 4, assignor="uniform")

    assert told(story)[3] == [("subscription_changed", "certain", "a")]
    assert told(story)[4] == [("assignor_changed", "certain", "a")]


def test_topics_that_were_not_seen_before_are_likely_to_be_others() -> None:
    """Members tell their topics when they join, and then when these have changed."""
    story = GroupStory()
    story.epoch("a", 7, 7, assigned=share(0))
    story.epoch("a", 7, 8, topics=CLICKS)
    assert told(story)[8] == [("subscription_changed", "likely", "a")]


def test_more_partitions_make_an_epoch() -> None:
    """Seen in metadata; of a topic that nobody wants they make none."""
    for topic, cause in (("clicks", "partitions_changed"), ("ads", "unknown")):
        story = two_members()
        story.events.append(PartitionsSeen(story.now_ns, "", story.events[0].evidence, topic, 2, 4))
        story.epoch("a", 2, 3)
        assert last_of(story).cause.cause == cause


def test_a_static_member_comes_back() -> None:
    """Under another id, with its instance id."""
    story = GroupStory()
    story.epoch("a", 0, 1, instance_id="pod-1", topics=CLICKS)
    story.epoch("a", -2, -2, instance_id="pod-1")
    story.epoch("a2", 0, 2, instance_id="pod-1", topics=CLICKS)

    assert told(story)[2] == [("static_member_returned", "certain", "a2")]


def test_a_capture_that_begins_late_does_not_guess_who_was_first() -> None:
    """The epoch at its beginning is known; only the next one is a rebalance."""
    story = GroupStory()
    story.epoch("a", 7, 7)
    story.epoch("c", 0, 8, topics=CLICKS)

    assert told(story) == {8: [("member_joined", "certain", "c")]}


def test_causes_are_less_sure_where_epochs_passed_without_one() -> None:
    """Either of two epochs may be the one that the leave made."""
    story = two_members()
    story.epoch("b", -1, -1)
    story.epoch("a", 2, 4)

    causes = [cause for each in (3, 4) for cause in told(story)[each]]

    assert ("member_left", "likely", "b") in causes
    assert ("unknown", "unknown", None) in causes


def test_far_epochs_are_not_listed_one_by_one() -> None:
    """A capture with a long gap stays readable."""
    story = two_members()
    story.epoch("a", 2, 1_000_000)

    assert [each.generation for each in history_of(story).rebalances] == [1, 2, 1_000_000]


def test_members_settle_one_after_another() -> None:
    """The phases tell when each was told the epoch, and when it had its partitions."""
    story = two_members()
    story.wait(3)
    story.epoch("b", 2, 2, assigned=share(1))

    phases = last_of(story).phases

    assert list(phases) == ["b", "a"]
    assert phases["b"].joined_ns is not None
    assert phases["b"].synced_ns == story.now_ns
    assert last_of(story).ended_ns == story.now_ns
    assert story.now_ns > 4 * S


def test_a_streams_group_waits_with_its_first_tasks() -> None:
    """Its first member is told the epoch before the one which its coming makes (KIP-1071)."""
    story = GroupStory()
    facts = {"type": GroupType.STREAMS, "topics": CLICKS}
    story.epoch("a", 0, 1, **facts, assigned=frozenset())
    story.epoch("a", 1, 2, type=GroupType.STREAMS, assigned=share(0, topic="0"))

    rebalances = history_of(story, GroupType.STREAMS).rebalances

    assert [each.generation for each in rebalances] == [2]
    assert rebalances[0].cause.member_id == "a"


def evicted(
    *, silent_s: float = 7, taken: tuple[int, ...] = (0, 1), interval_s: float = 2
) -> GroupStory:
    """Return a group of which `b` says nothing for a while, and `a` is told another epoch."""
    story = GroupStory()
    facts = {"interval_ns": int(interval_s * S)}
    story.epoch("a", 0, 1, topics=CLICKS, assigned=share(0, 1), **facts)
    story.epoch("b", 0, 2, topics=CLICKS, assigned=share(1), **facts)
    story.epoch("a", 1, 2, assigned=share(0), **facts)
    story.wait(silent_s)
    story.epoch("a", 2, 3, assigned=share(*taken), **facts)
    return story


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({}, "member_failed"),
        ({"silent_s": 4}, "unknown"),
        ({"taken": (0,)}, "unknown"),
        ({"interval_s": 0}, "unknown"),
        ({"interval_s": 5}, "unknown"),
    ],
)
def test_a_member_that_is_silent_while_others_get_its_partitions_failed(
    facts: dict[str, Any], kind: str
) -> None:
    """The coordinator has removed it; how often it was to send heartbeats is in every answer."""
    (cause,) = last_of(evicted(**facts)).causes

    assert cause.cause == kind
    if kind == "member_failed":
        assert (cause.member_id, cause.confidence) == ("b", "likely")
        assert cause.silent_ns is not None


def test_members_of_a_share_group_have_the_same_partitions() -> None:
    """That others have them proves nothing."""
    story = evicted()
    story.events = [
        each._replace(type=GroupType.SHARE) for each in story.events if isinstance(each, EpochBeat)
    ]

    assert history_of(story, GroupType.SHARE).rebalances[-1].cause.cause == "unknown"


def test_a_member_that_is_fenced_was_lost_by_the_epoch_before() -> None:
    """Not by the next one: it is told so when it comes back."""
    story = evicted(taken=(0,))
    story.epoch("b", 2, None, error="FENCED_MEMBER_EPOCH")
    story.epoch("b", 0, 4, topics=CLICKS, assigned=share(1))

    assert told(story)[3] == [("member_failed", "likely", "b")]
    assert told(story)[4] == [("member_joined", "certain", "b")]
    assert history_of(story).members["b"].back_ns is not None


def test_a_topic_that_was_not_assigned_before_is_named() -> None:
    """A pattern matches a topic that was made anew."""
    story = two_members()
    story.epoch("a", 2, 3, assigned=share(0) | share(0, topic="ads"))

    (cause,) = last_of(story).causes
    assert (cause.cause, cause.confidence) == ("partitions_changed", "likely")
    assert cause.note == "topic ads is assigned for the first time"
