"""The end of a drill: its members leave, also those that crashed, and the group is deleted.

A crashed member is one for its coordinator until its session times out, and a static one that is
closed likewise: the group would not be empty. So they are made to leave by their ids, which anybody
may do who may read the group.

Source: KIP-345 (LeaveGroup with several members and instance ids), KIP-229 (DeleteGroups),
KIP-848 (epoch -1).
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.network.request import RequestBuilder
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import AuthorizationError, KdiagError, ProbeError
from kdiag.probe.destination import Destination, Way, find_nodes
from kdiag.probe.groups.roster import look_at_group
from kdiag.probe.rebalance.probe_member import MemberOrder, ProbeMember
from kdiag.probe.topic import CLEANUP_NS, hang_up_if_interrupted
from kdiag.wire import api_keys
from kdiag.wire.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kdiag.wire.api.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kdiag.wire.api.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import ALL_VERSIONS

LEAVING_NS: Final = 10 * NS_PER_S
"""How long the members and the group may take to go, beyond the time of the command."""

_RETRY_NS: Final = 100 * NS_PER_MS
_GONE: Final = frozenset(("NONE", "GROUP_ID_NOT_FOUND"))
_FIRST_WITH_MEMBERS: Final = 3
_LEAVES: Final = -1
_DENIED: Final = "GROUP_AUTHORIZATION_FAILED"
_REASON: Final = "kdiag rebalance probe has ended"


@contextmanager
def joined_group(
    admin: ClusterClient, name: str, members: Sequence[ProbeMember], *, is_own: bool
) -> Iterator[None]:
    """Have members join a group within the block, and see to it that they have left behind it.

    Args:
        admin: connected; used by the thread that enters the block alone.
        name: of the group.
        members: those that join; more may be added as long as the block lasts.
        is_own: whether the group is kdiag's own, so that it is deleted.

    Raises:
        AuthorizationError: if this user may not use the group.
        ProbeError: if nobody coordinates it, or something cannot be removed.
        KdiagError: if no broker answers.
    """
    _coordinator(admin, name)
    with ExitStack() as ending:
        ending.callback(_end, admin, name, members, is_own=is_own)
        ending.push(partial(hang_up_if_interrupted, admin))
        yield


def _coordinator(admin: ClusterClient, name: str) -> int:
    """Return the broker that coordinates a group."""
    found = find_nodes(admin, Destination(Way.COORDINATOR, name))
    if found.error == _DENIED:
        raise AuthorizationError(f"group {name}: not authorized to use it")
    if not found.ids:
        raise ProbeError(f"group {name}", f"no broker coordinates it: {found.why}")
    return found.ids[0]


def _end(admin: ClusterClient, name: str, members: Sequence[ProbeMember], *, is_own: bool) -> None:
    """Have all members leave; then remove what they have left."""
    until_ns = admin.clock.monotonic_ns() + LEAVING_NS
    admin.deadline_ns = max(admin.deadline_ns, until_ns)
    for each in members:
        each.order(MemberOrder.LEAVE)
    half_ns = admin.clock.monotonic_ns() + CLEANUP_NS
    for each in members:
        each.await_end(half_ns - admin.clock.monotonic_ns())
    try:
        _remove(admin, name, members, until_ns, is_own=is_own)
    except KdiagError as failure:
        if isinstance(failure, ProbeError):
            raise
        raise ProbeError(f"group {name}", f"remove its members yourself: {failure}") from failure


def _remove(
    admin: ClusterClient, name: str, members: Sequence[ProbeMember], until_ns: int, *, is_own: bool
) -> None:
    """Repeat until no member of ours is left, nor the group if it is ours."""
    own_ids = {each.member_id for each in members}
    while True:
        look = look_at_group(admin, name)
        left = [each for each in look.members or () if is_own or each.member_id in own_ids]
        coordinator = _coordinator(admin, name)
        for each in left:
            _have_leave(admin, coordinator, look.type, name, (each.member_id, each.instance_id))
        error = _delete(admin, coordinator, name) if is_own else "NONE"
        if error in _GONE and (is_own or not left):
            return
        if admin.clock.monotonic_ns() + _RETRY_NS >= until_ns:
            why = f"remove it yourself, for it could not be: {error}"
            raise ProbeError(f"group {name}", why)
        admin.wait(_RETRY_NS)


def _have_leave(
    admin: ClusterClient, coordinator: int, kind: str, name: str, member: tuple[str, str | None]
) -> None:
    """Have one member leave; what comes of it the next look shows."""
    member_id, instance_id = member
    if kind == "consumer":
        leaving = ConsumerGroupHeartbeatRequest(
            group_id=name, member_id=member_id, member_epoch=_LEAVES, instance_id=instance_id
        )
        admin.ask(coordinator, leaving, ConsumerGroupHeartbeatResponse)
        return

    def build(version: int) -> LeaveGroupRequest:
        if version < _FIRST_WITH_MEMBERS:
            return LeaveGroupRequest(group_id=name, member_id=member_id)
        identity = MemberIdentity("" if instance_id else member_id, instance_id, _REASON)
        return LeaveGroupRequest(group_id=name, members=[identity])

    request = RequestBuilder(API_BY_KEY[api_keys.LEAVE_GROUP], ALL_VERSIONS, build)
    admin.ask(coordinator, request, LeaveGroupResponse)


def _delete(admin: ClusterClient, coordinator: int, name: str) -> str:
    """Delete a group; return the error's name."""
    answer = admin.ask(coordinator, DeleteGroupsRequest([name]), DeleteGroupsResponse)
    return error_name(answer.results[0].error_code)
