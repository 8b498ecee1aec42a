"""A rebalance as a member sees it: JoinGroup, then SyncGroup, as one future.

    PREPARING_REBALANCE    JoinGroup ->                      waits until all members have joined
    COMPLETING_REBALANCE   <- generation, leader, members    heartbeats begin
                           SyncGroup ->                      the leader's has all assignments
    STABLE                 <- this member's assignment

Both answers are handled by whichever thread polls, with the member's lock. An error leaves the
member in a state from which it can join again; what to do with it is up to `AbstractCoordinator`.

Source: Kafka's `AbstractCoordinator.JoinGroupResponseHandler` and `SyncGroupResponseHandler`;
KIP-62 (rebalance timeout), KIP-345 (static members), KIP-394 (member id first), KIP-559 (protocol
type and name), KIP-800 (reasons), KIP-814 (`skipAssignment`).
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Protocol

from kdiag.client.error_reactions import is_moved
from kdiag.client.group.coordinator_lookup import CoordinatorLookup
from kdiag.client.group.member import MemberSettings
from kdiag.client.group.membership import Generation, Membership, MemberState, cut_reason
from kdiag.client.group.refusals import named_refusal, refusal
from kdiag.client.network.request import RequestBuilder, builder_of
from kdiag.client.request_future import RequestFuture
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import GroupError, KdiagError
from kdiag.wire.api.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kdiag.wire.api.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import MAX_VERSION, Struct, Versions

JOIN_EXTRA_NS: Final = 5 * NS_PER_S
"""How much longer than the rebalance may take the answer to JoinGroup is waited for."""
INT_MAX: Final = 2**31 - 1

_FIRST_STATIC_JOIN: Final = 5
_FIRST_STATIC_SYNC: Final = 3


class GroupKind(Protocol):
    """The part of a rebalance that differs between consumers and, say, connectors."""

    @property
    def protocol_type(self) -> str:
        """Return the name of the kind: `consumer`."""
        ...

    def metadata(self) -> list[JoinGroupRequestProtocol]:
        """Return the assignors that this member has, the preferred one first."""
        ...

    def on_leader_elected(self, joined: JoinGroupResponse) -> Mapping[str, bytes]:
        """Return the assignment of each member, as the group's leader."""
        ...


class GroupJoin:
    """Sends JoinGroup and SyncGroup for one member."""

    def __init__(
        self,
        lookup: CoordinatorLookup,
        membership: Membership,
        settings: MemberSettings,
        kind: GroupKind,
        on_joined: Callable[[], None],
    ) -> None:
        """Begin with nothing sent.

        Args:
            lookup: knows the coordinator.
            membership: is changed as the answers come.
            settings: of the member.
            kind: assigns, and describes this member.
            on_joined: is called when there is a generation to send heartbeats for.
        """
        self._lookup = lookup
        self._membership = membership
        self._settings = settings
        self._kind = kind
        self._on_joined = on_joined

    def send(self, request_timeout_ns: int) -> RequestFuture[bytes]:
        """Send JoinGroup, then SyncGroup; return the future of this member's assignment.

        Args:
            request_timeout_ns: how long a request may take; JoinGroup takes as long as the group
                waits for its members, and a little more.
        """
        settings = self._settings
        with self._membership.monitor:
            sent = self._membership.generation
            message = JoinGroupRequest(
                group_id=settings.group_id,
                session_timeout_ms=settings.session_timeout_ns // NS_PER_MS,
                rebalance_timeout_ms=min(settings.max_poll_interval_ns // NS_PER_MS, INT_MAX),
                member_id=sent.member_id,
                group_instance_id=settings.group_instance_id,
                protocol_type=self._kind.protocol_type,
                protocols=self._kind.metadata(),
                reason=cut_reason(self._membership.rejoin_reason),
            )
            return self._lookup.send(
                self._builder(message, _FIRST_STATIC_JOIN),
                partial(self._handle_join, sent),
                timeout_ns=max(request_timeout_ns, settings.max_poll_interval_ns + JOIN_EXTRA_NS),
            )

    def _builder(self, message: Struct, first_static: int) -> RequestBuilder:
        """Return the builder of a request; static members need newer versions."""
        builder = builder_of(message)
        if self._settings.group_instance_id is None:
            return builder
        return builder._replace(versions=Versions(first_static, MAX_VERSION))

    def _handle_join(
        self, sent: Generation, body: JoinGroupResponse, future: RequestFuture[bytes]
    ) -> None:
        """Go on with SyncGroup, or fail."""
        error = error_name(body.error_code)
        membership = self._membership
        with membership.monitor:
            if not body.error_code:
                self._handle_joined(body, future)
                return
            if error == "MEMBER_ID_REQUIRED":
                membership.generation = Generation(member_id=body.member_id)
                membership.request_rejoin(
                    f"need to re-join with the given member-id: {body.member_id}"
                )
            elif error == "UNKNOWN_MEMBER_ID" and membership.generation == sent:
                membership.reset(f"encountered {error} from JOIN_GROUP response")
            elif is_moved("JoinGroup", error):
                self._lookup.mark_unknown()
        future.fail(refusal(self._settings, body.error_code, "JoinGroup"))

    def _handle_joined(self, body: JoinGroupResponse, future: RequestFuture[bytes]) -> None:
        """Enter the generation and send SyncGroup."""
        if self._is_of_another_kind(body.protocol_type):
            future.fail(named_refusal(self._settings, "INCONSISTENT_GROUP_PROTOCOL"))
            return
        if self._membership.state is not MemberState.PREPARING_REBALANCE:
            why = "it left the group while the group was waiting for its members"
            error = "REBALANCE_IN_PROGRESS"
            future.fail(GroupError(self._settings.group_id, error, why, is_retriable=True))
            return
        generation = Generation(body.generation_id, body.member_id, body.protocol_name)
        self._membership.joined(generation)
        self._on_joined()
        assignments: Mapping[str, bytes] = {}
        if body.leader == body.member_id:
            try:
                assignments = self._kind.on_leader_elected(body)
            except KdiagError as error:
                future.fail(error)
                return
        self._send_sync(assignments).chain(future)

    def _send_sync(self, assignments: Mapping[str, bytes]) -> RequestFuture[bytes]:
        """Send SyncGroup, the leader's with assignments."""
        sent = self._membership.generation
        message = SyncGroupRequest(
            group_id=self._settings.group_id,
            generation_id=sent.generation_id,
            member_id=sent.member_id,
            group_instance_id=self._settings.group_instance_id,
            protocol_type=self._kind.protocol_type,
            protocol_name=sent.protocol_name,
            assignments=[SyncGroupRequestAssignment(*each) for each in assignments.items()],
        )
        return self._lookup.send(
            self._builder(message, _FIRST_STATIC_SYNC), partial(self._handle_sync, sent)
        )

    def _handle_sync(
        self, sent: Generation, body: SyncGroupResponse, future: RequestFuture[bytes]
    ) -> None:
        """Become stable and complete the future, or fail."""
        error = error_name(body.error_code)
        membership = self._membership
        with membership.monitor:
            if not body.error_code:
                self._handle_synced(body, future)
                return
            if error in {"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"}:
                if membership.generation == sent:
                    reason = f"encountered {error} from SYNC_GROUP response"
                    membership.reset(reason, keeps_member_id=error == "ILLEGAL_GENERATION")
            elif is_moved("SyncGroup", error):
                self._lookup.mark_unknown()
        future.fail(refusal(self._settings, body.error_code, "SyncGroup"))

    def _handle_synced(self, body: SyncGroupResponse, future: RequestFuture[bytes]) -> None:
        """Become stable, unless the other thread has given up the generation meanwhile."""
        membership = self._membership
        generation = membership.generation
        if self._is_of_another_kind(body.protocol_type):
            future.fail(named_refusal(self._settings, "INCONSISTENT_GROUP_PROTOCOL"))
        elif generation.is_reset or membership.state is not MemberState.COMPLETING_REBALANCE:
            future.fail(named_refusal(self._settings, "ILLEGAL_GENERATION"))
        elif body.protocol_name not in {None, generation.protocol_name}:
            future.fail(named_refusal(self._settings, "INCONSISTENT_GROUP_PROTOCOL"))
        else:
            membership.synced()
            future.complete(body.assignment)

    def _is_of_another_kind(self, protocol_type: str | None) -> bool:
        """Return whether an answer is about a group of another kind; None says nothing."""
        return protocol_type not in {None, self._kind.protocol_type}
