from typing import Any

from group_stories.record_story import RecordStory, topic_name
from kdiag.diagnosis.rebalance.histories import histories_of_records
from kdiag.diagnosis.rebalance.model import GroupHistory, GroupType, Rebalance


def history_of(story: RecordStory) -> GroupHistory:
    """Return what the records of a story tell."""
    (history,) = histories_of_records(story.records, topic_name)
    return history


def last_of(story: RecordStory) -> Rebalance:
    """Return the last rebalance of a story."""
    return history_of(story).rebalances[-1]


def causes(rebalance: Rebalance) -> list[tuple[str, str, str | None]]:
    """Return the causes of a rebalance: what, how sure, who."""
    return [(each.cause, each.confidence, each.member_id) for each in rebalance.causes]


def pair() -> RecordStory:
    """Return a group with two members, seen from its beginning."""
    story = RecordStory()
    story.member("a")
    story.epoch(1)
    story.target(1, a=(0, 1))
    story.takes_up("a", 1)
    story.wait()
    story.member("b")
    story.epoch(2)
    story.target(2, a=(0,), b=(1,))
    story.takes_up("a", 2)
    story.wait()
    story.takes_up("b", 2)
    story.wait()
    return story


def test_who_comes_is_written_with_the_epoch() -> None:
    """It is over when all have taken it up."""
    first, second = history_of(pair()).rebalances

    assert causes(first) == [("member_joined", "certain", "a")]
    assert causes(second) == [("member_joined", "certain", "b")]
    assert second.duration_ns == 1_000_000_000
    assert (second.previous, second.member_count) == (1, 2)
    assert second.moved is not None
    assert [(each.topic, each.source, each.target) for each in second.moved.moves] == [
        ("clicks", "a", "b")
    ]
    assert history_of(pair()).members["a"].generations == [1, 2]


def test_who_is_gone_may_have_left_or_been_fenced() -> None:
    """The records do not tell, so nobody is blamed."""
    story = pair()
    story.gone("b")
    story.epoch(3)

    assert causes(last_of(story)) == [("unknown", "unknown", "b")]
    assert last_of(story).member_count == 1


def test_what_a_member_wants_otherwise_is_in_its_record() -> None:
    """Topics, a pattern, or an assignor."""
    wanted: tuple[tuple[dict[str, Any], str], ...] = (
        ({"topics": ("clicks", "ads")}, "subscription_changed"),
        ({"subscribed_topic_regex": "c.*"}, "subscription_changed"),
        ({"server_assignor": "range"}, "assignor_changed"),
    )
    for changes, kind in wanted:
        story = pair()
        story.member("b", **changes)
        story.epoch(3)
        assert causes(last_of(story)) == [(kind, "certain", "b")]


def test_a_static_member_comes_back_under_another_id() -> None:
    """As it was it makes no epoch, so that it is not the cause of the next one."""
    story = pair()
    story.member("c", instance_id="pod-1")
    story.epoch(3)
    story.wait()
    story.gone("c")
    story.member("c2", instance_id="pod-1")
    assert len(history_of(story).rebalances) == 3

    story.wait()
    story.gone("b")
    story.epoch(4)
    assert causes(last_of(story)) == [("unknown", "unknown", "b")]

    story.gone("c2")
    story.member("c3", instance_id="pod-1", topics=("ads",))
    story.epoch(5)
    assert causes(last_of(story)) == [("static_member_returned", "certain", "c3")]


def test_more_partitions_make_an_epoch() -> None:
    """Kafka up to 4.0 wrote their number; later ones write a hash, which may mean other things."""
    story = pair()
    story.counts("clicks", 4)
    story.counts("clicks", 8)
    story.epoch(3)
    assert causes(last_of(story)) == [("partitions_changed", "certain", None)]

    story = pair()
    story.epoch(3, metadata_hash=2)
    assert causes(last_of(story)) == [("partitions_changed", "likely", None)]

    story = pair()
    story.epoch(3)
    assert causes(last_of(story)) == [("unknown", "unknown", None)]


def test_what_was_written_before_an_epoch_may_not_be_its_cause() -> None:
    """Only what was written in the same moment is certain."""
    story = pair()
    story.gone("b")
    story.member("c")
    story.wait()
    story.epoch(3)

    assert causes(last_of(story)) == [
        ("unknown", "unknown", "b"),
        ("member_joined", "likely", "c"),
    ]


def test_epochs_that_compaction_removed_are_listed() -> None:
    """So is the first one that is left, without a cause."""
    story = pair()
    story.member("c")
    story.epoch(5)
    assert [each.generation for each in history_of(story).rebalances] == [1, 2, 3, 4, 5]

    story = RecordStory()
    story.epoch(41)
    assert last_of(story).cause.note == "this is the oldest record that is left"


def test_a_group_that_was_removed_begins_anew() -> None:
    """Nobody of before is in it."""
    story = pair()
    story.ended()
    story.wait()
    story.member("a")
    story.epoch(1)

    assert [each.generation for each in history_of(story).rebalances] == [1, 2, 1]
    assert causes(last_of(story)) == [("member_joined", "certain", "a")]
    assert last_of(story).member_count == 1


def test_share_groups_are_written_alike() -> None:
    """Under names of their own."""
    story = RecordStory("Share")
    story.member("a")
    story.epoch(1)

    assert history_of(story).type is GroupType.SHARE
    assert causes(last_of(story)) == [("member_joined", "certain", "a")]
