"""What members' exchanges and the log of ownership tell of a step."""

import pytest

from kdiag.client.fetch.position import PartitionKey
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.rebalance.model import CauseKind, GroupType
from kdiag.probe.rebalance.drill import ProbeStep
from kdiag.probe.rebalance.ownership import OwnershipChange, OwnershipLog
from kdiag.probe.rebalance.plan import MemberTimes, ProbeVariant, RebalancePlan
from kdiag.probe.rebalance.steps import MemberExchange, results_of
from kdiag.wire.api.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.join_group import JoinGroupRequest, JoinGroupResponse
from kdiag.wire.schema import Struct
from recordings.exchange_maker import (
    make_exchange,
    request_bytes,
    response_bytes,
    whole_frame,
)

MS = NS_PER_MS
START_MS = 1_000
FAILED = ProbeStep(CauseKind.MEMBER_FAILED, "b", START_MS * MS, 9_000 * MS, 2)


def plan(protocol: GroupType = GroupType.CLASSIC) -> RebalancePlan:
    """Return a plan with a session of two seconds."""
    times = MemberTimes(2_000 * MS, 700 * MS, 1_000 * MS)
    return RebalancePlan(ProbeVariant(protocol, "range"), times, 3, 2)


def said(member: str, at_ms: int, request: Struct, response: Struct) -> MemberExchange:
    """Return an exchange of a member."""
    version = 1 if isinstance(request, ConsumerGroupHeartbeatRequest) else 5
    if isinstance(request, HeartbeatRequest):
        version = 3
    exchange = make_exchange(request, response, version=version)
    exchange.request = whole_frame(request_bytes(request, version), at_ms * MS)
    exchange.response = whole_frame(response_bytes(response, version), at_ms * MS)
    return MemberExchange(member, exchange)


def failing_log() -> OwnershipLog:
    """Return what a crash at the beginning does to one of two partitions, and to the other one."""
    log = OwnershipLog("clicks")
    given, taken, read = OwnershipChange.GIVEN, OwnershipChange.TAKEN, OwnershipChange.READ
    one, two = PartitionKey("clicks", 0), PartitionKey("clicks", 1)
    log.add(given, "a", [one], 1)
    log.add(given, "b", [two], 1)
    log.add(taken, "b", [two], START_MS * MS)
    log.add(taken, "a", [one], 2_600 * MS)
    log.add(given, "a", [one, two], 2_700 * MS)
    log.add(read, "a", [one, two], 2_800 * MS)
    return log


def test_a_crash_is_a_session_then_a_heartbeat_then_a_rebalance() -> None:
    """The session began with the last heartbeat; only what is left of it counts."""
    exchanges = [
        said("b", 600, HeartbeatRequest("g", 3, "m-b"), HeartbeatResponse()),
        said("a", 900, HeartbeatRequest("g", 3, "m-a"), HeartbeatResponse()),
        said("a", 2_650, JoinGroupRequest("g"), JoinGroupResponse(generation_id=4)),
    ]
    [result] = results_of(plan(), [FAILED], exchanges, failing_log(), {})

    assert result.noticed_ns == 2_650 * MS
    assert result.session_ns == 1_600 * MS
    assert result.took_ns == 1_700 * MS
    assert result.unowned_ns == [100 * MS, 1_700 * MS]
    assert result.unread_ns == 1_800 * MS
    assert result.moved_count == 1
    assert result.first_reads == {"a": 2_800 * MS}


def test_a_session_ends_at_the_latest_when_others_join_again() -> None:
    """Where no heartbeat was seen, it is said to have begun with the crash."""
    exchanges = [said("a", 1_200, JoinGroupRequest("g"), JoinGroupResponse(generation_id=4))]
    [result] = results_of(plan(), [FAILED], exchanges, failing_log(), {})
    assert result.session_ns == 200 * MS


@pytest.mark.parametrize(
    ("epoch", "assignment", "is_news"),
    [(3, None, False), (4, None, True), (3, Assignment([]), True)],
)
def test_a_member_of_the_consumer_protocol_notices_by_its_heartbeat(
    epoch: int, assignment: Assignment | None, *, is_news: bool
) -> None:
    """A new epoch or another assignment; that of the member that did it does not count."""
    sent = ConsumerGroupHeartbeatRequest("g", "m-a", 3)
    told = ConsumerGroupHeartbeatResponse(member_epoch=epoch, assignment=assignment)
    exchanges = [said(member, 1_500, sent, told) for member in ("b", "a")]
    kind = plan(GroupType.CONSUMER)

    [result] = results_of(kind, [FAILED], exchanges, failing_log(), {})
    assert (result.noticed_ns is not None) == is_news
    [alone] = results_of(kind, [FAILED], exchanges[:1], failing_log(), {})
    assert alone.noticed_ns is None


def test_forming_a_group_leaves_no_partition_without_an_owner() -> None:
    """They had none before; nobody was waiting for them."""
    step = ProbeStep(None, None, 0, 9_000 * MS, 2)
    [result] = results_of(plan(), [step], [], failing_log(), {})
    assert (list(result.gaps), result.noticed_ns, result.session_ns) == ([], None, 0)
    assert list(result.rebalances) == []
