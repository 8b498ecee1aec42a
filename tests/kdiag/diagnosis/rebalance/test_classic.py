from typing import Any

import msgspec
import pytest

from group_stories.story import MS, GroupStory, S, client_of, share
from kdiag.diagnosis.rebalance.classic import ClassicGroup
from kdiag.diagnosis.rebalance.events import (
    Beat,
    CoordinatorFound,
    FetchBegan,
    FetchesPaused,
    JoinAsked,
    PartitionsSeen,
    Subscription,
)
from kdiag.diagnosis.rebalance.model import (
    CauseKind,
    Confidence,
    EvidencePlace,
    GroupHistory,
    Rebalance,
)


def history_of(story: GroupStory) -> GroupHistory:
    """Return what the state machine makes of a story."""
    group = ClassicGroup(story.group, "capture")
    for event in story.events:
        group.take(event)
    return group.finish()


def causes(rebalance: Rebalance) -> list[tuple[str, str, str | None]]:
    """Return the causes of a rebalance: what, how sure, who."""
    return [(each.cause, each.confidence, each.member_id) for each in rebalance.causes]


def two_members() -> GroupStory:
    """Return a group whose generation 4 has two members, of which nothing before was seen."""
    story = GroupStory()
    story.form(4, "a", "b")
    story.beat("a", 4)
    story.beat("b", 4)
    return story


def last_of(story: GroupStory) -> Rebalance:
    """Return the last rebalance of a story."""
    return history_of(story).rebalances[-1]


def test_a_new_member_is_known_by_its_first_join() -> None:
    """It has no id yet; who was told to join again is no cause."""
    story = two_members()
    new = story.ask("")
    story.beat("a", 4, error="REBALANCE_IN_PROGRESS")
    again = [story.ask("a"), story.ask("b")]
    story.answer(again[0], 5, members=dict.fromkeys(["a", "b", "c"]))
    story.answer(again[1], 5)
    story.answer(new, 5, member_id="c")
    story.sync(5, {"a": share(0, 3), "b": share(1, 4), "c": share(2, 5)})

    rebalance = last_of(story)

    assert causes(rebalance) == [("member_joined", "certain", "c")]
    assert (rebalance.generation, rebalance.previous, rebalance.member_count) == (5, 4, 3)
    assert rebalance.started_ns == new.at_ns
    assert rebalance.ended_ns == story.now_ns
    assert rebalance.moved is not None
    moves = [(each.partition, each.source, each.target) for each in rebalance.moved.moves]
    assert moves == [(2, "a", "c"), (3, "b", "a"), (4, "a", "b"), (5, "b", "c")]


def test_a_member_with_an_id_of_the_coordinators_is_new() -> None:
    """KIP-394: it is given an id, and joins with it."""
    story = two_members()
    story.answer(story.ask(""), -1, error="MEMBER_ID_REQUIRED", member_id="c")
    asked = story.ask("c")
    story.answer(asked, 5)

    assert causes(last_of(story)) == [("member_joined", "certain", "c")]


def test_a_join_whose_answer_is_missing_is_not_certain() -> None:
    """Another generation may have come of it."""
    story = two_members()
    story.answer(story.ask(""), -1, error="MEMBER_ID_REQUIRED", member_id="c")
    story.ask("c")
    story.beat("a", 5)

    assert causes(last_of(story)) == [("member_joined", "likely", "c")]


def test_a_join_belongs_to_the_generation_that_it_is_told() -> None:
    """It was sent before generation 5 was told to others, and made 6."""
    story = two_members()
    story.leave("b")
    story.answer(story.ask(""), -1, error="MEMBER_ID_REQUIRED", member_id="c")
    late = story.ask("c")
    story.answer(story.ask("a"), 5, members={"a": None})
    story.answer(story.ask("a"), 6, members={"a": None, "c": None})
    story.answer(late, 6)

    *_, fifth, sixth = history_of(story).rebalances

    assert causes(fifth) == [("member_left", "certain", "b")]
    assert causes(sixth) == [("member_joined", "certain", "c")]


def test_a_leaving_member_is_the_cause() -> None:
    """Its reason is kept; a reason of Java's that its poll timed out is a cause of its own."""
    for reason, kind in (
        (None, "member_left"),
        ("consumer poll timeout has expired.", "poll_timeout"),
    ):
        story = two_members()
        story.leave("b", reason=reason)
        story.join(5, "a")

        rebalance = last_of(story)

        assert causes(rebalance) == [(kind, "certain", "b")]
        assert rebalance.cause.reason == reason
        assert rebalance.cause.client_host == client_of("b").host


def test_a_refused_leave_is_no_cause() -> None:
    """The member was none any more."""
    story = two_members()
    story.leave("b", is_confirmed=False, refusal="UNKNOWN_MEMBER_ID")
    story.join(5, "a", everybody=False)

    assert causes(last_of(story)) == [("unknown", "unknown", None)]


def test_the_last_member_leaves_an_empty_group() -> None:
    """The coordinator makes a generation of nobody."""
    story = GroupStory()
    story.form(1, "a")
    story.leave("a")

    rebalance = last_of(story)

    assert [cause for cause, *_ in causes(rebalance)] == ["member_left", "group_emptied"]
    assert (rebalance.generation, rebalance.member_count) == (2, 0)


def test_a_silent_member_that_is_gone_has_failed() -> None:
    """Likely, where it was silent for its session timeout; else nothing is said of it."""
    for silent_s, expected in (
        (12, ("member_failed", "likely", "b")),
        (2, ("unknown", "unknown", "b")),
    ):
        story = two_members()
        story.wait(silent_s)
        story.beat("a", 4, error="REBALANCE_IN_PROGRESS")
        story.join(5, "a")

        rebalance = last_of(story)

        assert causes(rebalance) == [expected]
        assert rebalance.cause.evidence == (EvidencePlace("packet", None, 10),)


def test_a_member_that_asks_to_join_and_dies_has_failed() -> None:
    """Its request, which nobody asked for, is not the cause."""
    story = two_members()
    story.ask("b")
    story.wait(12)
    story.beat("a", 4, error="REBALANCE_IN_PROGRESS")
    story.join(5, "a")

    assert causes(last_of(story)) == [("member_failed", "likely", "b")]


def test_what_a_member_wants_otherwise_is_a_cause() -> None:
    """Other topics, or other assignors."""
    changes: dict[CauseKind, Subscription] = {
        CauseKind.SUBSCRIPTION_CHANGED: Subscription(frozenset({"clicks", "views"}), ("range",)),
        CauseKind.ASSIGNOR_CHANGED: Subscription(frozenset({"clicks"}), ("sticky", "range")),
    }
    for kind, wanted in changes.items():
        story = two_members()
        story.answer(story.ask("b", subscription=wanted), 5)

        assert causes(last_of(story)) == [(kind, "certain", "b")]


def test_the_words_of_a_client_are_a_cause() -> None:
    """Java's say why they join again (KIP-800)."""
    story = two_members()
    reason = "cached metadata has changed from (version=1) at the beginning of the rebalance"
    story.answer(story.ask("a", reason=reason), 5)

    assert causes(last_of(story)) == [("partitions_changed", "certain", "a")]


def test_new_partitions_are_a_likely_cause_of_a_silent_join() -> None:
    """So is a coordinator that went away; without either nobody knows."""
    story = two_members()
    evidence = EvidencePlace("packet", None, 1)
    story.events.append(PartitionsSeen(story.now_ns, "", evidence, "clicks", 6, 8))
    story.join(5, "a", "b")
    assert causes(last_of(story)) == [("partitions_changed", "likely", "a")]

    story = two_members()
    story.beat("a", 4, error="NOT_COORDINATOR")
    story.join(5, "a", "b")
    assert causes(last_of(story))[0] == ("coordinator_moved", "likely", "a")

    story = two_members()
    story.join(5, "a", "b")
    assert causes(last_of(story)) == [("member_rejoined", "likely", "a")]


def test_a_join_that_nobody_asked_for_says_little_if_the_list_of_members_is_missing() -> None:
    """Others may have come or gone."""
    story = two_members()
    story.join(5, "a", "b", everybody=False)

    assert causes(last_of(story)) == [("unknown", "unknown", None)]


def test_a_join_that_nobody_asked_for_begins_what_others_only_came_upon() -> None:
    """The coordinator was rebalancing when a member left; one that left before is the cause."""
    story = two_members()
    asked = story.ask("a")
    story.leave("b")
    story.answer(asked, 5, members={"a": None})

    assert causes(last_of(story)) == [
        ("member_rejoined", "likely", "a"),
        ("member_left", "certain", "b"),
    ]

    story = two_members()
    story.leave("b")
    story.answer(story.ask("a"), 5, members={"a": None})

    assert causes(last_of(story)) == [("member_left", "certain", "b")]


def test_a_leave_that_is_confirmed_behind_the_generation_without_its_member_made_that_one() -> None:
    """The coordinator took both in order, and answered the leave last."""
    story = two_members()
    story.answer(story.ask("a"), 5, members={"a": None})
    story.leave("b")
    story.join(6, "a")
    fifth, sixth = history_of(story).rebalances[-2:]

    assert causes(fifth) == [("member_rejoined", "likely", "a"), ("member_left", "certain", "b")]
    assert causes(sixth) == [("member_rejoined", "likely", "a")]

    story = two_members()
    story.answer(story.ask("a"), 5, members={"a": None})
    story.leave("b", is_confirmed=False)
    story.join(6, "a")

    assert causes(history_of(story).rebalances[-2]) == [("unknown", "unknown", "b")]

    story = two_members()
    story.wait(11)
    story.beat("a", 4)
    story.answer(story.ask("a"), 5, members={"a": None})
    story.leave("b")

    assert ("member_left", "certain", "b") in causes(last_of(story))


def test_who_came_unseen_is_told_from_the_leaders_list() -> None:
    """Its connection was not captured."""
    story = two_members()
    story.answer(story.ask("a"), 5, members=dict.fromkeys(["a", "b", "c"]))

    rebalance = last_of(story)

    assert causes(rebalance) == [("member_joined", "likely", "c")]
    assert rebalance.cause.note == "it is not among the 2 members of generation 4"


def static(story: GroupStory, generation: int, member_id: str) -> None:
    """A static member without an id joins."""
    story.answer(story.ask("", instance_id="i-1"), generation, member_id=member_id)


def test_a_static_member_that_comes_back_makes_no_generation() -> None:
    """And where it does, it is called so, not a new member."""
    story = GroupStory()
    asked = story.ask("", instance_id="i-1")
    story.answer(asked, 1, members={"x": "i-1"}, member_id="x")
    static(story, 1, "y")
    assert len(history_of(story).rebalances) == 1

    static(story, 2, "z")
    assert causes(last_of(story)) == [("static_member_returned", "certain", "z")]


def test_a_static_member_seen_first_may_have_been_there() -> None:
    """Its coming makes no generation then; that it made this one was not seen."""
    story = GroupStory()
    static(story, 7, "x")

    assert causes(last_of(story)) == [("unknown", "unknown", None)]


def test_a_member_of_the_same_place_as_one_that_is_gone_was_restarted() -> None:
    """Likely so: the same client id and host, another member id."""
    story = two_members()
    story.wait(12)
    story.beat("a", 4, error="REBALANCE_IN_PROGRESS")
    story.join(5, "a")
    asked = story.ask("", client=client_of("b")._replace(connection="tcp-new"))
    story.answer(story.ask("a"), 6, members=dict.fromkeys(["a", "b2"]))
    story.answer(asked, 6, member_id="b2")

    assert causes(last_of(story)) == [("member_restarted", "likely", "b2")]


def removed() -> GroupStory:
    """Return a group of which `b` fell silent for its session timeout, and was removed."""
    story = two_members()
    story.wait(12)
    story.beat("a", 4, error="REBALANCE_IN_PROGRESS")
    story.join(5, "a")
    return story


@pytest.mark.parametrize(
    ("asks", "connection", "kind"),
    [
        (None, "tcp-b", "member_rejoined"),
        ("", "tcp-b", "member_rejoined"),
        ("b", "tcp-b", "member_rejoined"),
        ("b", "tcp-new", "member_rejoined"),
        ("", "tcp-new", "member_rejoined"),
        (None, "tcp-new", "member_restarted"),
    ],
)
def test_a_member_that_was_removed_and_lives_is_not_restarted(
    asks: str | None, connection: str, kind: str
) -> None:
    """It keeps its connection, or asks as a member first, with its id (Java, kafka-python) or not.

    A process that was started anew knows nothing of a membership.
    """
    story = removed()
    client = client_of("b")._replace(connection=connection)
    back_ns = story.now_ns
    if asks is not None:
        story.beat(asks, 4, error="UNKNOWN_MEMBER_ID", client=client, asked_ns=back_ns)
    asked = story.ask("", client=client)
    story.answer(story.ask("a"), 6, members=dict.fromkeys(["a", "b2"]))
    story.answer(asked, 6, member_id="b2")
    history = history_of(story)

    assert [cause for cause, _, _ in causes(history.rebalances[-1])] == [kind]
    (failed,) = history.rebalances[-2].causes
    assert (failed.cause, failed.member_id) == ("member_failed", "b")
    is_back = kind == "member_rejoined"
    since_ns = back_ns if asks is not None else asked.at_ns
    assert history.members["b"].back_ns == (since_ns if is_back else None)


def test_two_programs_of_one_client_id_behind_one_address_are_two() -> None:
    """Who joins while another of them is there may be a third one: that is not known."""
    story = removed()
    place = client_of("b")
    story.beat("a", 5, client=place._replace(connection="tcp-a"))
    history_before = history_of(story)
    assert history_before.rebalances[-1].cause.cause == "member_failed"
    story.events = [
        each._replace(client=place._replace(connection=each.client.connection))
        if isinstance(each, Beat | JoinAsked)
        else each
        for each in story.events
    ]
    asked = story.ask("", client=place._replace(connection="tcp-c"))
    story.answer(story.ask("a"), 6, members=dict.fromkeys(["a", "c"]))
    story.answer(asked, 6, member_id="c")

    assert causes(last_of(story)) == [("member_joined", "certain", "c")]


def test_the_last_fetch_of_a_member_is_a_sign_of_its_life() -> None:
    """Other programs of its client id and host go on fetching, which tells nothing of it."""
    story = two_members()
    heard_ns = story.now_ns
    for from_s, until_s in ((2, 14), (3, None), (4, 9)):
        story.events.append(
            FetchesPaused(
                heard_ns + from_s * S,
                story.group,
                EvidencePlace("packet", None, 1),
                client_of("b"),
                None if until_s is None else heard_ns + until_s * S,
            )
        )
    story.wait(12)
    story.beat("a", 4, error="REBALANCE_IN_PROGRESS")
    story.join(5, "a")

    assert last_of(story).cause.silent_ns == heard_ns + 3 * S


def test_a_client_that_leaves_and_joins_on_one_connection_did_not_poll() -> None:
    """Likely so, if its poll interval had passed: clients without KIP-800 do not say it."""
    story = GroupStory()
    story.join(1, "a")
    story.events.clear()
    asked = [story.ask("a", rebalance_timeout_ns=6 * S), story.ask("b", rebalance_timeout_ns=6 * S)]
    story.answer(asked[0], 1, members=dict.fromkeys("ab"))
    story.answer(asked[1], 1)
    story.sync(1, {"a": share(0), "b": share(1)})
    story.wait(7)
    story.leave("b")
    story.join(2, "a")
    story.ask("", client=client_of("b"))

    assert causes(last_of(story)) == [("poll_timeout", "likely", "b")]


def test_generations_between_are_listed_as_unseen() -> None:
    """What waited may belong to any of them."""
    story = two_members()
    story.leave("b")
    story.join(7, "a")

    fourth, *unseen, seventh = history_of(story).rebalances

    assert [each.generation for each in unseen] == [5, 6]
    assert {each.cause.note for each in unseen} == {"nobody was seen to join this generation"}
    assert causes(seventh)[0] == ("member_left", "likely", "b")
    assert (fourth.generation, seventh.previous, seventh.moved) == (4, 4, None)


def test_the_phases_of_a_member_and_who_was_slowest() -> None:
    """From its FindCoordinator to its first fetch; the last to join is the slowest."""
    story = GroupStory()
    evidence = EvidencePlace("packet", None, 1)
    found = (story.now_ns, story.group, evidence, client_of("a"))
    story.events.append(CoordinatorFound(*found, took_ns=5 * MS))
    asked = [story.ask("a")]
    story.wait(3)
    asked.append(story.ask("b"))
    story.answer(asked[0], 1, members=dict.fromkeys("ab"))
    story.answer(asked[1], 1)
    story.sync(1, {"a": share(0), "b": share(1)})
    story.beat("a", 1)
    story.events.append(FetchBegan(story.now_ns, story.group, evidence, client_of("a")))

    rebalance = last_of(story)
    phases: Any = rebalance.phases["a"]

    assert phases.find_coordinator_ns == 5 * MS
    assert phases.joined_ns - phases.asked_ns == 3 * S + 2 * MS
    assert phases.asked_ns < phases.synced_ns < phases.first_heartbeat_ns == phases.first_fetch_ns
    assert rebalance.slowest is not None
    assert (rebalance.slowest.phases.member_id, rebalance.slowest.wait_ns) == ("b", 3 * S + MS)
    assert rebalance.cause.confidence is Confidence.UNKNOWN, "who began was not seen"


def test_what_the_coordinator_refuses_is_counted() -> None:
    """Commits, static members that are fenced, members that are told that they are none."""
    story = two_members()
    story.beat("b", 3, error="ILLEGAL_GENERATION", is_heartbeat=False)
    story.beat("b", 4, error="UNKNOWN_MEMBER_ID")
    static(story, 4, "x")
    story.beat("x", 4, error="FENCED_INSTANCE_ID")

    refusals = history_of(story).refusals

    assert refusals.commits == {"ILLEGAL_GENERATION": 1}
    assert refusals.unknown == {"b": 1}
    assert refusals.fenced == {"i-1": 1}


def test_a_member_that_asks_again_changes_nothing_of_a_settled_generation() -> None:
    """A follower is answered the generation that is there, and needs its assignment once more."""
    story = two_members()
    story.leave("gone")
    story.form(5, "a", "b")
    ended_ns = story.now_ns
    before = {key: msgspec.structs.replace(each) for key, each in last_of(story).phases.items()}
    story.wait(4)
    story.answer(story.ask("b"), 5)
    story.sync(5, {"b": share(1)})

    rebalance = last_of(story)

    assert rebalance.phases == before
    assert rebalance.ended_ns == ended_ns
    story.leave("c")
    story.join(6, "a", "b")
    assert causes(last_of(story)) == [("member_left", "certain", "c")]


@pytest.mark.parametrize(
    ("shares", "kind"),
    [({"a": frozenset()}, "partitions_changed"), ({"a": share(0)}, "member_rejoined")],
)
def test_a_leader_that_knew_no_partition_joins_again(
    shares: dict[str, frozenset[tuple[str, int]]], kind: str
) -> None:
    """kafka-python joins before it has asked for the metadata of its topics."""
    story = GroupStory()
    story.join(1, "a")
    story.sync(1, shares)
    story.join(2, "a")

    (cause,) = last_of(story).causes
    assert (cause.cause, cause.confidence) == (kind, "likely")
