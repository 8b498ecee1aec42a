from group_stories.look_story import LookStory, consumer_group
from kdiag.diagnosis.rebalance.model import GroupType

TWO = {"a": (0, 1), "b": (2, 3)}


def causes(story: LookStory) -> list[tuple[str, str, str | None]]:
    """Return the causes of the last rebalance: what, how sure, who."""
    last = story.history.rebalances[-1]
    return [(each.cause, each.confidence, each.member_id) for each in last.causes]


def test_who_came_is_told_by_two_looks() -> None:
    """With what moved, and the number of the look; what was before is not known."""
    story = LookStory()
    story.classic({"a": (0, 1, 2, 3)})
    story.classic(TWO)
    first, second = story.history.rebalances

    assert (first.cause.cause, first.cause.note) == ("unknown", "it was so at the first look")
    assert causes(story) == [("member_joined", "certain", "b")]
    assert second.moved is not None
    assert [each.partition for each in second.moved.moves] == [2, 3]
    assert [(each.kind, each.at) for each in second.cause.evidence] == [("look", 2)]
    assert not second.is_told
    assert story.history.source == "describe"


def test_a_quiet_group_makes_no_records() -> None:
    """Whatever the order in which its coordinator lists the members."""
    story = LookStory()
    story.classic(TWO)
    story.records.clear()
    story.classic(dict(reversed(TWO.items())))
    story.classic({}, state="PreparingRebalance")

    assert story.records == []
    assert story.groups.is_any_under_way


def test_a_rebalance_that_changes_nothing_is_seen_by_its_state() -> None:
    """The same members share the same partitions again."""
    story = LookStory()
    story.classic(TWO)
    story.classic(TWO, state="CompletingRebalance")
    story.classic(TWO)

    assert causes(story) == [("member_rejoined", "likely", None)]
    assert not story.groups.is_any_under_way


def test_who_came_and_went_while_the_group_rebalanced_is_told() -> None:
    """It is not taken for a rebalance that changed nothing, in which somebody rejoined."""
    story = LookStory()
    story.classic({"a": (0, 1, 2, 3)})
    story.classic(TWO, state="PreparingRebalance")
    story.classic(TWO, state="CompletingRebalance")
    story.classic({"a": (0, 1, 2, 3)})
    last = story.history.rebalances[-1]

    assert causes(story) == [("member_joined", "certain", "b"), ("unknown", "unknown", "b")]
    assert "coordinators do not tell" in (last.causes[1].note or "")
    assert [each.at for each in last.cause.evidence] == [2]
    story.classic(TWO, state="PreparingRebalance")
    story.classic(TWO)
    assert causes(story) == [("member_joined", "certain", "b")]


def test_who_is_gone_may_have_left_or_failed() -> None:
    """Coordinators do not tell, so nobody is blamed."""
    story = LookStory()
    story.classic(TWO)
    story.classic({"a": (0, 1, 2, 3)})
    story.classic({}, state="Empty", protocol="")

    assert [each.cause.cause for each in story.history.rebalances[1:]] == ["unknown", "unknown"]
    assert "coordinators do not tell" in (story.history.rebalances[1].cause.note or "")
    assert story.history.rebalances[-1].causes[-1].cause == "group_emptied"


def test_a_group_that_comes_between_looks_is_new() -> None:
    """Its members have joined; one that is removed and comes again is new again."""
    story = LookStory(is_new=True)
    story.classic({"a": (0,)})
    assert causes(story) == [("member_joined", "certain", "a")]
    story.look(GroupType.CLASSIC, None)
    story.look(GroupType.CLASSIC, None)
    story.classic({"b": (0,)})

    assert story.records[1].value is None
    assert causes(story) == [("member_joined", "certain", "b")]


def test_a_new_group_may_be_empty_again_before_it_settles() -> None:
    """Who came is told, though nothing was ever assigned; a group that nobody joined is none."""
    story = LookStory(is_new=True)
    story.classic({}, state="Empty", protocol="")
    assert story.records[-1].value.generation == 0
    story.classic({"a": ()}, state="PreparingRebalance", protocol="")
    story.classic({}, state="Empty", protocol="")
    (only,) = story.history.rebalances

    assert [each.cause for each in only.causes] == ["member_joined", "unknown", "group_emptied"]


def test_epochs_are_told_with_who_came_and_what_moved() -> None:
    """Of members that have taken them up."""
    story = LookStory()
    story.consumer(4, {"a": (0, 1, 2, 3)})
    story.consumer(5, TWO)
    last = story.history.rebalances[-1]

    assert causes(story) == [("member_joined", "certain", "b")]
    assert (last.generation, last.previous, last.is_told) == (5, 4, True)
    assert last.moved is not None
    assert [each.topic for each in last.moved.moves] == ["clicks", "clicks"]
    assert last.ended_ns is not None
    story.records.clear()
    story.consumer(5, TWO)
    assert story.records == []


def test_epochs_between_two_looks_are_listed() -> None:
    """Nothing is known of them, and what was seen may belong to any."""
    story = LookStory()
    story.consumer(4, TWO)
    story.consumer(7, {"a": (0, 1, 2, 3)})
    unseen = story.history.rebalances[1:-1]

    assert [(each.generation, each.cause.note) for each in unseen] == [
        (5, "it came and went between two looks"),
        (6, "it came and went between two looks"),
    ]


def test_an_epoch_is_open_while_a_member_has_another() -> None:
    """The target assignment is there before all have taken it up."""
    story = LookStory()
    story.consumer(4, {"a": (0, 1, 2, 3)})
    behind = consumer_group(5, TWO)
    behind.members[0].member_epoch = 4
    story.look(GroupType.CONSUMER, behind)
    assert story.history.rebalances[-1].ended_ns is None
    story.consumer(5, TWO)

    assert story.history.rebalances[-1].ended_ns is not None
