from group_stories.record_story import RecordStory, shared, topic_name
from group_stories.story import S
from kdiag.diagnosis.rebalance.histories import RecordedGroups
from kdiag_cli.commands.rebalance.fresh import FreshRebalances


def test_an_epoch_is_handed_out_when_it_is_over() -> None:
    """Or when the next one comes, or when that takes too long."""
    story = RecordStory()
    story.member("a")
    story.epoch(1)
    story.wait()
    story.takes_up("a", 1)
    made, _, over = story.records[0:2], None, story.records[2:]
    groups, fresh = RecordedGroups(topic_name), FreshRebalances()

    def handed_out(now_ns: int) -> list[int]:
        return [each.generation for _, each in fresh.take(groups.histories, now_ns)]

    for record in made:
        groups.take(record)
    assert handed_out(0) == []
    for record in over:
        groups.take(record)
    assert handed_out(S) == [1]
    assert handed_out(2 * S) == []

    story.records.clear()
    story.member("b")
    story.epoch(2)
    for record in story.records:
        groups.take(record)
    assert handed_out(3 * S) == []
    assert handed_out(8 * S) == [2]


def test_a_group_that_all_have_left_is_over_at_once() -> None:
    """Nobody is there who could take it up."""
    story = RecordStory()
    story.member("a")
    story.epoch(1)
    story.gone("a")
    story.epoch(2)
    groups, fresh = RecordedGroups(topic_name), FreshRebalances()
    for record in story.records:
        groups.take(record)

    assert [each.generation for _, each in fresh.take(groups.histories, 0)] == [1, 2]


def test_what_was_before_is_passed_over() -> None:
    """Whatever its state is."""
    story = RecordStory()
    story.classic(1, shared("a"))
    groups, fresh = RecordedGroups(topic_name), FreshRebalances()
    groups.take(story.records[0])
    fresh.pass_over(groups.histories)

    assert list(fresh.take(groups.histories, 0)) == []
