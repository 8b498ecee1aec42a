"""The intents of Kafka's GroupMetadataTest and ClassicGroupTest.

Left out, with reasons: testOffsetCommit*, testTransactionalOffset* (offsets are not in a group
here: `test_offset_store`); testInvokeJoinCallback* with null callbacks (types forbid them);
testMetadataVersion (there is one); fromConsumerGroup and createClassicGroupRecords (a consumer
group is not turned into a classic one while it has members).
"""

import pytest

from kdiag.clock import NS_PER_S, ManualClock
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.classic.group_member import (
    ClassicGroupMember,
    MemberProtocol,
    MemberTimeouts,
)
from kdiag.lab.coordinator.group.classic.group_metadata import GroupMetadata
from kdiag.lab.coordinator.group.classic.group_state import ClassicGroupState
from kdiag.wire.api.join_group import JoinGroupResponse
from kdiag.wire.api.sync_group import SyncGroupResponse
from kdiag.wire.error_code import error_name
from lab_ends.one_coordinator import subscription
from tiers.cases import for_each

EMPTY = ClassicGroupState.EMPTY
PREPARING = ClassicGroupState.PREPARING_REBALANCE
COMPLETING = ClassicGroupState.COMPLETING_REBALANCE
STABLE = ClassicGroupState.STABLE
DEAD = ClassicGroupState.DEAD


def new_group(state: ClassicGroupState = EMPTY) -> GroupMetadata:
    """Return a group without members."""
    return GroupMetadata("billing", ManualClock(1000 * NS_PER_S), state)


def member(
    member_id: str, *protocols: str, instance_id: str | None = None, rebalance_ms: int = 60_000
) -> ClassicGroupMember:
    """Return a consumer; its metadata is a subscription to `orders`."""
    return ClassicGroupMember(
        member_id,
        group_instance_id=instance_id,
        protocol_type="consumer",
        protocols=[
            MemberProtocol(each, subscription("orders")) for each in protocols or ("range",)
        ],
        timeouts=MemberTimeouts(rebalance_ms, 10_000),
    )


def refusal_of(group: GroupMetadata, *arguments: object, **keywords: bool) -> str:
    """Return why a commit is refused; empty if it is not."""
    try:
        group.check_offset_commit(*arguments, **keywords)  # type: ignore[arg-type]
    except RequestRefusedError as error:
        return error.error
    return ""


@for_each("state", ClassicGroupState)
def test_a_rebalance_begins_only_where_it_may(state: ClassicGroupState) -> None:
    """Not when one is prepared already, and not in a dead group."""
    assert new_group(state).can_rebalance is (state in {STABLE, COMPLETING, EMPTY})


@for_each("state", ClassicGroupState)
def test_a_group_may_die_in_every_state(state: ClassicGroupState) -> None:
    """But a dead one lives no more."""
    group = new_group(state)
    group.transition_to(DEAD)
    for other in (EMPTY, PREPARING, COMPLETING, STABLE):
        with pytest.raises(ValueError, match="cannot become"):
            group.transition_to(other)


@for_each(
    ("before", "after"),
    [(EMPTY, COMPLETING), (EMPTY, STABLE), (PREPARING, STABLE), (STABLE, COMPLETING)],
)
def test_an_illegal_step_is_an_error(before: ClassicGroupState, after: ClassicGroupState) -> None:
    """The state stays."""
    group = new_group(before)
    with pytest.raises(ValueError, match="cannot become"):
        group.transition_to(after)
    assert group.state is before


def test_the_protocol_is_voted_on() -> None:
    """The one that most prefer of those that all can."""
    group = new_group()
    group.add(member("a", "range", "roundrobin"))
    assert group.select_protocol() == "range"
    group.add(member("b", "roundrobin", "range"))
    assert group.select_protocol() in {"range", "roundrobin"}
    group.add(member("c", "roundrobin", "range"))
    assert group.select_protocol() == "roundrobin"


def test_only_what_all_can_is_chosen() -> None:
    """Though most prefer another."""
    group = new_group()
    group.add(member("a", "range", "roundrobin"))
    group.add(member("b", "blah", "roundrobin"))
    assert group.select_protocol() == "roundrobin"


def test_nobody_votes_in_an_empty_group() -> None:
    """That is an error of whoever asks."""
    with pytest.raises(ValueError, match="no members"):
        new_group().select_protocol()


def test_who_has_no_common_protocol_cannot_be_a_member() -> None:
    """An empty group takes anybody who has some protocol."""
    group = new_group()
    assert not group.supports_protocols("consumer", [])
    assert not group.supports_protocols("", ["range"])
    assert group.supports_protocols("connect", ["compatible"])
    group.add(member("a", "range", "roundrobin"))
    group.transition_to(PREPARING)
    assert group.supports_protocols("consumer", ["blah", "roundrobin"])
    assert not group.supports_protocols("consumer", ["blah"])
    assert not group.supports_protocols("connect", ["range"])
    group.add(member("b", "roundrobin"))
    assert not group.supports_protocols("consumer", ["range"])
    with pytest.raises(ValueError, match="has no protocol"):
        group.add(member("c", "range"))


def test_what_members_can_changes_with_them() -> None:
    """When one goes, or joins again with others."""
    group = new_group()
    group.add(member("a", "range"))
    group.add(member("b", "range", "roundrobin"))
    group.transition_to(PREPARING)
    assert not group.supports_protocols("consumer", ["roundrobin"])
    group.update(
        group.members["a"],
        [MemberProtocol("roundrobin", b"")],
        MemberTimeouts(90_000, 20_000),
        None,
    )
    assert group.supports_protocols("consumer", ["roundrobin"])
    assert not group.supports_protocols("consumer", ["range"])
    assert group.rebalance_timeout_ms == 90_000
    group.remove("a")
    assert group.supports_protocols("consumer", ["range"])


def test_a_generation_begins_with_the_members_that_there_are() -> None:
    """Without any the group is empty, and has no protocol."""
    group = new_group()
    group.add(member("a"))
    group.transition_to(PREPARING)
    group.pending_sync_members.add("a")
    group.init_next_generation()
    assert (group.generation_id, group.state) == (1, COMPLETING)
    assert (group.protocol_name, group.subscribed_topics) == ("range", frozenset({"orders"}))
    assert group.has_synced
    group.transition_to(PREPARING)
    group.remove("a")
    group.init_next_generation()
    assert (group.generation_id, group.state, group.protocol_name) == (2, EMPTY, None)
    assert group.subscribed_topics == frozenset()


def test_what_members_read_is_known_of_consumers_only() -> None:
    """And if they say it in a form that can be read."""
    group = new_group()
    assert group.compute_subscribed_topics() is None
    group.protocol_type = "connect"
    assert group.compute_subscribed_topics() is None
    group.protocol_type = "consumer"
    assert group.compute_subscribed_topics() == frozenset()
    group.add(member("a"))
    assert group.compute_subscribed_topics() is None
    group.protocol_name = "range"
    assert group.compute_subscribed_topics() == frozenset({"orders"})
    group.members["a"].protocols = [MemberProtocol("range", b"\0")]
    assert group.compute_subscribed_topics() is None
    assert not group.is_subscribed_to("orders")


def test_the_first_member_leads_until_it_goes() -> None:
    """Then the next one does."""
    group = new_group()
    group.add(member("a"))
    group.add(member("b"))
    assert group.is_leader("a")
    group.remove("a")
    assert group.is_leader("b")
    group.remove("b")
    assert group.leader_id is None


def test_a_leader_that_has_not_joined_is_replaced() -> None:
    """By one that has; nobody leads if nobody has."""
    group = new_group()
    assert not group.maybe_elect_joined_leader()
    group.add(member("a"))
    assert not group.maybe_elect_joined_leader()
    group.add(member("b"), lambda _: None)
    assert group.maybe_elect_joined_leader()
    assert group.is_leader("b")
    assert group.maybe_elect_joined_leader()


def test_a_rebalance_waits_as_long_as_its_slowest_member_asks_for() -> None:
    """Nothing without members."""
    group = new_group()
    assert group.rebalance_timeout_ms == 0
    group.add(member("a", rebalance_ms=60_000))
    group.add(member("b", rebalance_ms=90_000))
    assert group.rebalance_timeout_ms == 90_000


def test_members_are_waited_for_until_all_have_joined() -> None:
    """Those that were given an id, too."""
    group = new_group()
    seen = [group.have_all_joined]
    group.add_pending("a")
    seen.append(group.have_all_joined)
    group.add(member("a"), lambda _: None)
    seen.append(group.have_all_joined)
    assert seen == [True, False, True]
    group.add(member("b"))
    assert [each.member_id for each in group.not_yet_rejoined] == ["b"]
    assert group.awaiting_join_count == 1
    with pytest.raises(ValueError, match="a member of group billing already"):
        group.add_pending("b")


def test_a_pending_member_that_goes_is_not_waited_for() -> None:
    """Nor is one that has not asked for its assignment."""
    group = new_group()
    group.add_pending("a")
    group.remove("a")
    assert group.have_all_joined
    group.add(member("b"))
    group.pending_sync_members.add("b")
    group.remove("b")
    assert group.has_synced


def test_a_name_belongs_to_one_member() -> None:
    """Until it goes."""
    group = new_group()
    group.add(member("a", instance_id="one"))
    with pytest.raises(ValueError, match="the name one is taken"):
        group.add(member("b", instance_id="one"))
    group.remove("a")
    group.add(member("b", instance_id="one"))
    assert group.static_members == {"one": "b"}


def test_a_static_member_that_comes_back_gets_its_place() -> None:
    """The old one is fenced, whatever it waits for; it leads if that did."""
    group = new_group()
    joins: list[JoinGroupResponse] = []
    syncs: list[SyncGroupResponse] = []
    group.add(member("a", instance_id="one"), joins.append)
    group.members["a"].assignment = b"orders-0"
    group.members["a"].on_synced = syncs.append
    new = group.replace_static_member("one", "a", "b")
    assert (new.member_id, new.assignment, group.leader_id) == ("b", b"orders-0", "b")
    assert group.static_members == {"one": "b"}
    assert not new.is_awaiting_join
    assert error_name(joins[0].error_code) == "FENCED_INSTANCE_ID"
    assert error_name(syncs[0].error_code) == "FENCED_INSTANCE_ID"


def test_ids_are_made_of_names() -> None:
    """No two are equal."""
    group = new_group()
    ids = {group.new_member_id("client", None) for _ in range(2)}
    assert len(ids) == 2
    assert all(each.startswith("client-") for each in ids)
    assert group.new_member_id("client", "one").startswith("one-")


def test_a_member_is_answered_once() -> None:
    """Its JoinGroup and its SyncGroup alike."""
    group = new_group()
    joins: list[JoinGroupResponse] = []
    syncs: list[SyncGroupResponse] = []
    group.add(member("a"), joins.append)
    group.members["a"].on_synced = syncs.append
    for expected in (True, False):
        assert group.complete_join(group.members["a"], JoinGroupResponse()) is expected
        assert group.complete_sync(group.members["a"], SyncGroupResponse()) is expected
    assert (len(joins), len(syncs)) == (1, 1)


def test_members_are_told_with_what_they_say() -> None:
    """To the leader."""
    group = new_group()
    group.add(member("a", instance_id="one"))
    group.protocol_name = "range"
    (told,) = group.described_members()
    assert (told.member_id, told.group_instance_id) == ("a", "one")
    assert told.metadata == subscription("orders")


def test_a_member_is_known_by_id_and_name() -> None:
    """Another under the name fences it."""
    group = new_group()
    group.add(member("a", instance_id="one"))
    group.add(member("b"))
    assert group.check_member("a", "one").member_id == "a"
    assert group.check_member("b", None).member_id == "b"
    for arguments, error in (
        (("b", "one"), "FENCED_INSTANCE_ID"),
        (("a", "two"), "UNKNOWN_MEMBER_ID"),
        (("c", None), "UNKNOWN_MEMBER_ID"),
    ):
        with pytest.raises(RequestRefusedError, match=error):
            group.check_member(*arguments)


@pytest.mark.parametrize("is_transactional", [False, True])
def test_anybody_may_commit_for_an_empty_group(*, is_transactional: bool) -> None:
    """But not with a generation, which it has not."""
    group = new_group()
    assert refusal_of(group, "", None, -1, is_transactional=is_transactional) == ""
    error = refusal_of(group, "a", None, 1, is_transactional=is_transactional)
    assert error == "UNKNOWN_MEMBER_ID"


def test_a_member_may_commit_in_its_generation() -> None:
    """Not while an assignment is waited for, unless in a transaction."""
    group = new_group()
    group.add(member("a", instance_id="one"))
    group.transition_to(PREPARING)
    group.init_next_generation()
    assert refusal_of(group, "a", "one", 1, is_transactional=False) == "REBALANCE_IN_PROGRESS"
    assert refusal_of(group, "a", "one", 1, is_transactional=True) == ""
    group.transition_to(STABLE)
    assert refusal_of(group, "a", "one", 1, is_transactional=False) == ""
    assert refusal_of(group, "a", None, 0, is_transactional=False) == "ILLEGAL_GENERATION"
    assert refusal_of(group, "b", "one", 1, is_transactional=False) == "FENCED_INSTANCE_ID"
    assert refusal_of(group, "b", None, 1, is_transactional=False) == "UNKNOWN_MEMBER_ID"
    assert refusal_of(group, "", None, -1, is_transactional=False) == "UNKNOWN_MEMBER_ID"
    assert refusal_of(group, "", None, -1, is_transactional=True) == ""
    group.transition_to(DEAD)
    assert refusal_of(group, "a", "one", 1, is_transactional=False) == "COORDINATOR_NOT_AVAILABLE"


@for_each(
    ("state", "delete", "offsets"),
    [
        (EMPTY, "", ""),
        (PREPARING, "NON_EMPTY_GROUP", "NON_EMPTY_GROUP"),
        (COMPLETING, "NON_EMPTY_GROUP", "NON_EMPTY_GROUP"),
        (STABLE, "NON_EMPTY_GROUP", "NON_EMPTY_GROUP"),
        (DEAD, "GROUP_ID_NOT_FOUND", "GROUP_ID_NOT_FOUND"),
    ],
)
def test_only_an_empty_group_is_deleted(
    state: ClassicGroupState, delete: str, offsets: str
) -> None:
    """Offsets of consumers are, for it is known what they read."""
    group = new_group(state)
    for check, error in ((group.check_delete, delete), (group.check_offset_delete, offsets)):
        if error:
            with pytest.raises(RequestRefusedError, match=error):
                check()
        else:
            check()
    group.protocol_type = "consumer"
    if state is not DEAD:
        group.check_offset_delete()


def test_offsets_expire_by_the_state_of_the_group() -> None:
    """Since it is empty; since they were committed, if nobody was or reads it ever."""
    group = new_group()
    assert group.expiry_base_ms(5) == 5
    group.protocol_type = "consumer"
    assert group.expiry_base_ms(5) == 1_000_000
    group.state_timestamp_ms = None
    assert group.expiry_base_ms(5) == 5
    group.state = STABLE
    assert group.expiry_base_ms(5) is None
    group.subscribed_topics = frozenset()
    assert group.expiry_base_ms(5) == 5
    group.state = PREPARING
    assert group.expiry_base_ms(5) is None
    group.state, group.protocol_type = STABLE, "connect"
    assert group.expiry_base_ms(5) is None
