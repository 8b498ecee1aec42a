from group_stories.story import GroupStory, S, client_of
from kdiag.diagnosis.rebalance.events import Leaving
from kdiag.diagnosis.rebalance.roster import Roster


def leaving(member: str, reason: str | None = None) -> Leaving:
    """Return how a member leaves."""
    story = GroupStory()
    story.leave(member, reason=reason)
    (event,) = story.events
    assert isinstance(event, Leaving)
    return event


def test_a_list_of_its_leader_makes_a_group_complete() -> None:
    """Until then those seen may be some of many."""
    roster = Roster({})
    roster.add("a", None)
    states = [roster.is_complete]

    roster.settle({"a": None, "b": None})

    assert [*states, roster.is_complete] == [False, True]
    assert roster.is_present("b")


def test_only_a_group_of_known_members_is_known_to_be_empty() -> None:
    """Somebody unseen may still be there otherwise."""
    for complete, empty in ((True, True), (False, False)):
        roster = Roster({})
        roster.add("a", None)
        if complete:
            roster.settle({"a": None})
        roster.leaves("a", leaving("a"))
        assert roster.is_empty is empty


def test_an_id_of_the_coordinators_is_used_once() -> None:
    """Whoever joins with it a second time is no new member (KIP-394)."""
    roster = Roster({})
    roster.give("a")

    assert [roster.is_given("a"), roster.is_given("a")] == [True, False]


def test_a_static_member_keeps_its_place_under_another_id() -> None:
    """Its instance id says who it is."""
    roster = Roster({})
    roster.add("a-1", "pod-1")

    assert roster.former("pod-1", "a-2") == "a-1"
    roster.replace("a-1", "a-2", "pod-1")

    assert roster.id_of_instance("pod-1") == "a-2"
    assert roster.former("pod-1", "a-2") is None
    assert not roster.is_present("a-1")


def test_who_is_gone_without_leaving_may_have_been_restarted() -> None:
    """One of the same client and host that left said good-bye, and is another matter."""
    roster = Roster({})
    client = client_of("a")
    roster.seen("a-1", client, S)
    roster.settle({"a-1": None})
    assert roster.predecessor(client, "a-2") is None

    roster.settle({})

    assert roster.predecessor(client, "a-2") == "a-1"
    assert roster.predecessor(client_of("b"), "b-1") is None
    roster.leaves("a-1", leaving("a"))
    assert roster.predecessor(client, "a-2") is None


def test_who_left_is_known_by_its_connection() -> None:
    """Unless it gave a reason, which says all there is to say."""
    for reason, known in ((None, True), ("the consumer is being closed", False)):
        roster = Roster({})
        roster.seen("a", client_of("a"), S)
        roster.leaves("a", leaving("a", reason))
        assert (roster.left_on(client_of("a"), {"a"}) is not None) is known
        assert roster.left_on(client_of("b"), {"a"}) is None


def test_what_is_told_of_members_is_kept() -> None:
    """From the first sign of life to the last one."""
    roster = Roster({})
    member = roster.seen("a", client_of("a"), S)
    roster.seen("a", client_of("a")._replace(software="librdkafka 2.3"), 5 * S)

    assert (member.info.first_ns, member.info.last_ns) == (S, 5 * S)
    assert member.info.client_host == client_of("a").host
    assert member.info.software == "librdkafka 2.3"


def test_a_generation_remembers_the_members_before_it_only_if_they_were_all() -> None:
    """Else nobody can be said to have come or gone."""
    roster = Roster({})
    roster.add("a", None)
    roster.turn()
    before = [roster.complete_before]
    roster.settle({"a": None})
    roster.turn()
    before.append(roster.complete_before)
    roster.forget()
    before.append(roster.complete_before)

    assert before == [None, {"a": None}, None]
    assert not roster.is_complete
