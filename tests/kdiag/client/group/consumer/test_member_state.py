"""The states of a member, and the intents about them that need no broker."""

from kdiag.client.group.consumer.member_state import FORMER_STATES, ConsumerMemberState
from kdiag.client.group.membership import MemberState
from tiers.cases import for_each

STATES = ConsumerMemberState


def test_every_state_follows_another() -> None:
    """None is out of reach."""
    assert FORMER_STATES.keys() == set(STATES)
    assert all(FORMER_STATES.values())


def test_nothing_follows_a_refusal_for_good() -> None:
    """Nor does a member leave without preparing for it."""
    assert not any(STATES.FATAL in former for former in FORMER_STATES.values())
    assert FORMER_STATES[STATES.LEAVING] == {STATES.PREPARE_LEAVING}


@for_each(
    ("state", "expected"),
    [
        (STATES.UNSUBSCRIBED, MemberState.UNJOINED),
        (STATES.JOINING, MemberState.COMPLETING_REBALANCE),
        (STATES.RECONCILING, MemberState.STABLE),
        (STATES.ACKNOWLEDGING, MemberState.STABLE),
        (STATES.STABLE, MemberState.STABLE),
        (STATES.PREPARE_LEAVING, MemberState.STABLE),
        (STATES.LEAVING, MemberState.UNJOINED),
        (STATES.FENCED, MemberState.UNJOINED),
        (STATES.STALE, MemberState.UNJOINED),
        (STATES.FATAL, MemberState.UNJOINED),
    ],
)
def test_commits_and_heartbeats_know_four_states(
    state: ConsumerMemberState, expected: MemberState
) -> None:
    """A member commits as long as it has an epoch, also when it is about to leave."""
    assert state.membership_state is expected


def test_what_is_urgent_ends_with_a_heartbeat() -> None:
    """An assignment is for those that stay."""
    assert [each.name for each in STATES if each.is_urgent] == [
        "JOINING",
        "ACKNOWLEDGING",
        "LEAVING",
    ]
    assert [each.name for each in STATES if each.takes_assignments] == [
        "JOINING",
        "RECONCILING",
        "ACKNOWLEDGING",
        "STABLE",
    ]
    assert [each.name for each in STATES if not each.is_in_group] == [
        "UNSUBSCRIBED",
        "FENCED",
        "FATAL",
        "STALE",
    ]
