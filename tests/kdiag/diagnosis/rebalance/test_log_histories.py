import pytest

from group_stories.recorded_groups import histories_of_lines
from kdiag.diagnosis.rebalance.model import GroupHistory, Rebalance

CLASSIC = (
    "Preparing to rebalance group orders in state Stable with old generation 3 (reason: {reason}).",
    "Stabilized group orders generation 4 with 2 members.",
    "Assignment received from leader a for group orders for generation 4. The group has 2 members",
)


def at(second: int, text: str) -> str:
    """Return a line of a log."""
    return f"[2026-11-21 10:40:{second:02},000] INFO [GroupCoordinator id=1] {text}"


def history_of(*texts: str) -> GroupHistory:
    """Return what some lines, a second apart, tell of one group."""
    (history,) = histories_of_lines([at(second, text) for second, text in enumerate(texts)])
    return history


def causes(rebalance: Rebalance) -> list[tuple[str, str, str | None]]:
    """Return the causes of a rebalance: what, how sure, who."""
    return [(each.cause, each.confidence, each.member_id) for each in rebalance.causes]


def test_the_coordinator_says_why() -> None:
    """From the first line about a rebalance to the assignment."""
    prepared, *others = CLASSIC
    history = history_of(
        prepared.format(reason="removing member b on heartbeat expiration"), *others
    )
    (rebalance,) = history.rebalances

    assert causes(rebalance) == [("member_failed", "certain", "b")]
    assert (rebalance.previous, rebalance.generation, rebalance.member_count) == (3, 4, 2)
    assert rebalance.duration_ns == 2_000_000_000
    assert [each.at for each in rebalance.cause.evidence] == [1]
    assert set(history.members) == {"a", "b"}


def test_a_reason_that_is_not_known_is_told_as_it_is() -> None:
    """It is an unknown cause, not a wrong one."""
    (rebalance,) = history_of(CLASSIC[0].format(reason="the moon was full")).rebalances

    assert causes(rebalance) == [("unknown", "unknown", None)]
    assert rebalance.cause.reason == "the moon was full"


def test_who_left_gave_the_reason_in_another_line() -> None:
    """Before the rebalance or behind it."""
    prepared = CLASSIC[0].format(reason="explicit `LeaveGroup` request for (b) members.")
    left = (
        "[Group orders] Dynamic member b has left group through explicit `LeaveGroup` request; "
        "client reason: consumer poll timeout has expired."
    )
    for lines in ((left, prepared), (prepared, left)):
        (rebalance,) = history_of(*lines).rebalances
        assert causes(rebalance) == [("poll_timeout", "certain", "b")]
        assert rebalance.cause.reason == "consumer poll timeout has expired."


def test_the_last_member_leaves_an_empty_group() -> None:
    """That is told beside who left."""
    prepared = CLASSIC[0].format(reason="explicit `LeaveGroup` request for (b) members.")
    (rebalance,) = history_of(prepared, "Group orders with generation 4 is now empty").rebalances

    assert causes(rebalance) == [
        ("member_left", "certain", "b"),
        ("group_emptied", "certain", None),
    ]
    assert rebalance.member_count == 0


def test_a_member_that_fails_meanwhile_is_a_further_cause() -> None:
    """The rebalance was on its way."""
    prepared, stabilized, _ = CLASSIC
    failed = "Member c in group orders has failed, removing it from the group."
    (rebalance,) = history_of(
        prepared.format(reason="removing member b on heartbeat expiration"), failed, stabilized
    ).rebalances

    assert causes(rebalance)[1:] == [("member_failed", "certain", "c")]


def test_a_log_that_begins_late_says_so() -> None:
    """The generation is there, its beginning is not."""
    (rebalance,) = history_of(*CLASSIC[1:]).rebalances

    assert causes(rebalance) == [("unknown", "unknown", None)]
    assert rebalance.cause.note == "it began before the log"
    assert rebalance.started_ns is None


def test_lines_of_several_brokers_are_put_in_order() -> None:
    """The group moved from one to the other; a line that is in two files counts once."""
    prepared, stabilized, _ = CLASSIC
    first = at(1, prepared.format(reason="removing member b on heartbeat expiration"))
    (history,) = histories_of_lines([at(2, stabilized), first, first])

    (rebalance,) = history.rebalances
    assert rebalance.duration_ns == 1_000_000_000


@pytest.mark.parametrize(
    ("kind", "joins", "bumped"),
    [
        ("consumer", "[GroupId g] Member a joins the consumer group", "group"),
        ("share", "[GroupId g] Member a joins the share group", "group"),
        ("streams", "[GroupId g][MemberId a] Member joins the streams group", "streams group"),
    ],
)
def test_epochs_have_the_causes_before_them(kind: str, joins: str, bumped: str) -> None:
    """A subscription that comes with a join is no cause of its own."""
    history = history_of(
        f"{joins} using the {kind} protocol.",
        "[GroupId g] Member a updated its subscribed topics to: [clicks].",
        f"[GroupId g] Bumped {bumped} epoch to 2 with metadata hash 24.",
        "[GroupId g] Member a new assignment state: epoch=2, previousEpoch=0, state=STABLE, x.",
    )
    (rebalance,) = history.rebalances

    assert history.type == kind
    assert causes(rebalance) == [("member_joined", "certain", "a")]
    assert (rebalance.generation, rebalance.duration_ns) == (2, 3_000_000_000)


def test_a_new_hash_without_a_cause_is_of_the_topics() -> None:
    """The coordinator does not say what changed, so it is likely."""
    (rebalance,) = history_of(
        "[GroupId g] Computed new metadata hash: 12.",
        "[GroupId g] Bumped group epoch to 5 with metadata hash 12.",
    ).rebalances

    assert causes(rebalance) == [("partitions_changed", "likely", None)]


def test_a_fenced_member_failed() -> None:
    """The reason is the coordinator's."""
    (rebalance,) = history_of(
        "[GroupId g] Member a fenced from the group because its session expired.",
        "[GroupId g] Bumped group epoch to 5 with metadata hash 12.",
    ).rebalances

    assert causes(rebalance) == [("member_failed", "certain", "a")]
    assert rebalance.cause.reason == "its session expired"


def test_an_epoch_is_told_with_its_assignment() -> None:
    """As that after a crash is; one that a line told before is not told twice."""
    first, second = history_of(
        "[GroupId g][MemberId a] Member joins the streams group using the streams protocol.",
        "[GroupId g] Bumped streams group epoch to 2 with metadata hash 12.",
        "[GroupId g] Computed a new target assignment for epoch 2 with 'sticky' assignor in 1ms.",
        "[GroupId g] Streams member a fenced from the group because its session expired.",
        "[GroupId g] Computed a new target assignment for epoch 3 with 'sticky' assignor in 1ms.",
    ).rebalances

    assert (first.generation, causes(first)) == (2, [("member_joined", "certain", "a")])
    assert (second.generation, causes(second)) == (3, [("member_failed", "certain", "a")])
    assert (second.previous, second.is_told) == (2, True)


def test_epochs_that_no_line_tells_of_have_a_cause_each() -> None:
    """Which is likely: their order is that of the lines, and nothing says which made which."""
    texts = (
        "[GroupId g] Bumped group epoch to 2 with metadata hash 12.",
        "[GroupId g] Member a fenced from the group because its session expired.",
        "[GroupId g] Member b joins the consumer group using the consumer protocol.",
    )
    _, third, fourth = history_of(
        *texts, "[GroupId g] Bumped group epoch to 4 with metadata hash 12."
    ).rebalances
    assert (third.generation, causes(third)) == (3, [("member_failed", "likely", "a")])
    assert (fourth.generation, causes(fourth)) == (4, [("member_joined", "certain", "b")])

    _, far = history_of(
        *texts, "[GroupId g] Bumped group epoch to 7 with metadata hash 12."
    ).rebalances
    assert [each[1] for each in causes(far)] == ["likely", "likely"]


def test_what_waits_at_the_end_made_the_next_epoch() -> None:
    """The log of the coordinator does not tell the epoch of an empty group."""
    *_, last = history_of(
        "[GroupId g] Member a joins the consumer group using the consumer protocol.",
        "[GroupId g] Bumped group epoch to 2 with metadata hash 12.",
        "[GroupId g] Member a left the consumer group.",
    ).rebalances

    assert (last.generation, causes(last)) == (3, [("member_left", "likely", "a")])
