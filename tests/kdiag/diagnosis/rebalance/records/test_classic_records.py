from group_stories.record_story import RecordStory, shared, topic_name
from group_stories.story import client_of
from kdiag.diagnosis.rebalance.histories import histories_of_records
from kdiag.diagnosis.rebalance.model import GroupHistory, Rebalance


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
    """Return a group whose generation 2 has two members, seen from its beginning."""
    story = RecordStory()
    story.classic(0, {})
    story.classic(1, shared("a"))
    story.classic(2, shared("a", "b"))
    return story


def test_two_records_tell_who_came_and_what_moved() -> None:
    """The empty generation 0, with which a group begins, is no rebalance."""
    first, second = history_of(pair()).rebalances

    assert causes(first) == [("member_joined", "certain", "a")]
    assert causes(second) == [("member_joined", "certain", "b")]
    assert (second.generation, second.previous, second.member_count) == (2, 1, 2)
    assert second.moved is not None
    assert [(each.partition, each.source, each.target) for each in second.moved.moves] == [
        (1, "a", "b"),
        (3, "a", "b"),
    ]
    (place,) = second.cause.evidence
    assert (place.kind, place.file, place.at) == ("offset", "__consumer_offsets[3]", 2)


def test_who_is_gone_may_have_left_or_failed() -> None:
    """The records do not tell, so nobody is blamed."""
    story = pair()
    story.classic(3, shared("a"))

    assert causes(last_of(story)) == [("unknown", "unknown", "b")]
    assert "left or failed" in (last_of(story).cause.note or "")


def test_the_last_member_leaves_an_empty_group() -> None:
    """That is certain; how it went is not."""
    story = pair()
    story.classic(3, {}, protocol=None)

    assert causes(last_of(story)) == [
        ("unknown", "unknown", "a"),
        ("unknown", "unknown", "b"),
        ("group_emptied", "certain", None),
    ]


def test_a_member_in_the_place_of_another_was_restarted() -> None:
    """Likely so: the same client id and host."""
    story = RecordStory()
    same = {"client_id": "app", "host": "10.0.0.7"}
    story.classic(1, shared("a"), **same)
    story.classic(2, shared("a2"), **same)

    assert causes(last_of(story)) == [
        ("unknown", "unknown", "a"),
        ("member_restarted", "likely", "a2"),
    ]


def test_a_static_member_keeps_its_place() -> None:
    """Under another id in the same generation it makes no rebalance; in the next one it does."""
    story = RecordStory()
    story.classic(1, shared("a"), instance_id="pod-1")
    story.classic(1, shared("a2"), instance_id="pod-1")
    assert len(history_of(story).rebalances) == 1

    story.classic(2, shared("a3"), instance_id="pod-1")
    assert causes(last_of(story)) == [("static_member_returned", "certain", "a3")]
    assert history_of(story).members["a3"].instance_id == "pod-1"


def test_what_a_member_wants_otherwise_is_in_its_subscription() -> None:
    """So is another assignor in the group's protocol."""
    story = pair()
    story.classic(3, shared("a", "b"), topics=["clicks", "ads"])
    assert causes(last_of(story))[0] == ("subscription_changed", "certain", "a")

    story = pair()
    story.classic(3, shared("a", "b"), protocol="sticky")
    assert causes(last_of(story)) == [("assignor_changed", "certain", None)]


def test_partitions_that_were_never_assigned_are_new() -> None:
    """Those that a cooperative member gave up for a while are not."""
    story = pair()
    story.classic(3, shared("a", "b", count=6))
    assert causes(last_of(story)) == [("partitions_changed", "likely", None)]

    story = pair()
    story.classic(3, shared("a", "b", count=2))
    story.classic(4, shared("a", "b", count=4))
    assert causes(last_of(story)) == [("member_rejoined", "likely", None)]


def test_generations_without_a_record_are_listed() -> None:
    """What follows may belong to one of them."""
    story = pair()
    story.classic(5, shared("a", "b", "c"))
    *_, third, fourth, fifth = history_of(story).rebalances

    assert [each.generation for each in (third, fourth, fifth)] == [3, 4, 5]
    assert {*causes(third), *causes(fourth)} == {("unknown", "unknown", None)}
    assert causes(fifth) == [("member_joined", "likely", "c")]


def test_the_oldest_record_that_is_left_tells_no_cause() -> None:
    """Compaction removed those before."""
    story = RecordStory()
    story.classic(41, shared("a"))

    assert causes(last_of(story)) == [("unknown", "unknown", None)]
    assert last_of(story).cause.note == "this is the oldest record that is left"


def test_a_group_that_was_removed_begins_anew() -> None:
    """With or without the record that says so."""
    for says_so in (True, False):
        story = pair()
        if says_so:
            story.removed()
        story.classic(1, shared("z"))
        rebalances = history_of(story).rebalances
        assert [each.generation for each in rebalances] == [1, 2, 1]
        assert causes(rebalances[-1]) == [("member_joined", "certain", "z")]


def test_members_are_told_with_their_generations() -> None:
    """Java's addresses lose their slash."""
    member = history_of(pair()).members["a"]

    assert member.generations == [1, 2]
    assert member.client_host == client_of("a").host
    assert member.session_timeout_ns == 10_000_000_000
