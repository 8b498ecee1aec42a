from kdiag.client.group.membership import (
    MAX_REASON,
    NO_GENERATION,
    Generation,
    Membership,
    MemberState,
    cut_reason,
)

FIRST = Generation(1, "m-1", "range")


def stable() -> Membership:
    """Return a membership that is stable in generation 1."""
    membership = Membership()
    membership.joined(FIRST)
    membership.synced()
    return membership


def test_a_member_begins_outside_and_must_join() -> None:
    """It has no generation, and prepares first."""
    membership = Membership()
    assert (membership.state, membership.generation) == (MemberState.UNJOINED, NO_GENERATION)
    assert membership.is_rejoin_needed
    assert membership.needs_join_prepare
    assert membership.stable_generation is None
    assert not membership.is_rebalancing


def test_it_is_stable_once_both_answers_have_come() -> None:
    """Only then has it a generation that commits may name."""
    membership = Membership()
    membership.joined(FIRST)
    assert (membership.is_rebalancing, membership.stable_generation) == (True, None)
    membership.synced()
    assert (membership.is_rebalancing, membership.stable_generation) == (False, FIRST)
    assert not membership.is_rejoin_needed


def test_the_first_reason_to_join_again_counts() -> None:
    """A second one is not told, unless it must be."""
    membership = stable()
    membership.request_rejoin_if_necessary("one")
    membership.request_rejoin_if_necessary("two")
    assert membership.rejoin_reason == "one"
    membership.request_rejoin("three")
    assert membership.rejoin_reason == "three"
    membership.synced()
    assert membership.rejoin_reason == ""


def test_a_reset_forgets_the_generation() -> None:
    """What was owned in it is lost, whether the member id is still good or not."""
    membership = stable()
    membership.reset("expelled")
    assert membership.generation == NO_GENERATION
    assert membership.end_reason == membership.rejoin_reason == "expelled"
    assert membership.is_rejoin_needed
    assert membership.needs_join_prepare
    assert membership.state.has_not_joined


def test_a_reset_may_keep_the_member_id() -> None:
    """The group would otherwise wait for the member that it knows."""
    membership = stable()
    membership.reset("stale", keeps_member_id=True)
    assert membership.generation == Generation(-1, "m-1", None)
    membership.reset("stale", keeps_member_id=True, end_reason="others went on")
    assert (membership.rejoin_reason, membership.end_reason) == ("stale", "others went on")
    assert membership.generation.is_reset
    assert membership.generation.is_lost


def test_only_a_generation_with_a_member_is_owned() -> None:
    """A number alone is not enough."""
    assert not FIRST.is_reset
    assert not FIRST.is_lost
    assert Generation(1, "").is_lost
    assert not Generation(1, "").is_reset


def test_a_long_reason_is_cut() -> None:
    """KIP-800 allows 255 characters."""
    assert cut_reason("x" * 300) == "x" * MAX_REASON
    assert cut_reason("short") == "short"
