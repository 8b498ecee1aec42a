"""A scripted broker that coordinates one group, and members of it whose clock can be advanced.

with MemberCluster() as cluster, cluster.client() as client:
    cluster.let_join(generation=1, leader="other")     # JoinGroup and SyncGroup
    member = PlainCoordinator(client, cluster.settings)
    assert member.ensure_active_group(cluster.soon())
    cluster.on("Heartbeat", error("ILLEGAL_GENERATION"))

Time goes on by itself, so that backoffs of a millisecond pass, and can be advanced by hours. Every
interval that matters is so long that it never passes by itself.
"""

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Self

from kdiag.client.cluster_client import ClusterClient, ClusterSettings
from kdiag.client.group.classic.abstract_coordinator import AbstractCoordinator
from kdiag.client.group.coordinator_lookup import connection_id
from kdiag.client.group.member import MemberSettings
from kdiag.client.group.membership import Generation
from kdiag.client.network.settings import ConnectionTimes, NetworkSettings
from kdiag.clock import NS_PER_MS, NS_PER_S, SystemClock
from kdiag.net.selector.selector import SelectorSettings
from kdiag.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatResponse
from kdiag.wire.api.join_group import (
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from kdiag.wire.api.leave_group import LeaveGroupResponse
from kdiag.wire.api.metadata import MetadataResponsePartition, MetadataResponseTopic
from kdiag.wire.api.sync_group import SyncGroupResponse
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.scripted_broker import HOLD, Instead, Received, Reply, ScriptedBroker
from scripted_kafka.scripted_cluster import ScriptedCluster

GROUP: Final = "billing"
MEMBER_ID: Final = "m-1"
HOUR: Final = 3600 * NS_PER_S
SETTINGS: Final = MemberSettings(
    GROUP,
    session_timeout_ns=2 * HOUR,
    heartbeat_interval_ns=HOUR,
    max_poll_interval_ns=20 * HOUR,
    retry_backoff_ns=NS_PER_MS,
    retry_backoff_max_ns=4 * NS_PER_MS,
    metadata_max_age_ns=1000 * HOUR,
    jitter=0.0,
)
CLIENT_SETTINGS: Final = ClusterSettings(
    (),
    NetworkSettings(
        times=ConnectionTimes(NS_PER_MS, NS_PER_MS, 1000 * HOUR, 1000 * HOUR, jitter=0.0),
        request_timeout_ns=500 * HOUR,
    ),
    SelectorSettings(),
)
_SOON_NS: Final = 30 * NS_PER_S


class SkippingClock(SystemClock):
    """The machine's clock, which can also be advanced."""

    def __init__(self) -> None:
        self._skipped_ns = 0

    def advance(self, ns: int) -> None:
        """Skip some time."""
        self._skipped_ns += ns

    def monotonic_ns(self) -> int:
        """Return the time that has passed, and what was skipped."""
        return super().monotonic_ns() + self._skipped_ns


def code(name: str) -> int:
    """Return the number of an error."""
    return CODE_BY_NAME[name]


def in_turn(*replies: Reply) -> Callable[[Received], None]:
    """Return what gives one reply after the other, and the last one from then on."""
    left = list(replies)

    def reply(received: Received) -> None:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if callable(answer):
            answer(received)
        elif not isinstance(answer, Instead):
            received.reply(answer)
        elif answer is not HOLD:
            with suppress(OSError):
                received.connection.shutdown(socket.SHUT_RDWR)

    return reply


def joined(
    generation: int = 1,
    *,
    leader: str = "other",
    member_id: str = MEMBER_ID,
    protocol: str | None = "range",
    subscriptions: Mapping[str, bytes] = {},
    **more: Any,
) -> JoinGroupResponse:
    """Return an answer to JoinGroup, that of the leader with the members."""
    members = [
        JoinGroupResponseMember(member_id=name, metadata=data)
        for name, data in subscriptions.items()
    ]
    return JoinGroupResponse(
        generation_id=generation,
        protocol_name=protocol,
        leader=leader,
        member_id=member_id,
        members=members,
        **more,
    )


def refused_join(error: str, member_id: str = "") -> JoinGroupResponse:
    """Return an answer to JoinGroup that is an error."""
    return JoinGroupResponse(error_code=code(error), member_id=member_id)


class MemberCluster(ScriptedCluster):
    """One broker, which coordinates the group.

    Attributes:
        clock: of all clients.
        settings: of members.
    """

    def __init__(self) -> None:
        super().__init__(1)
        self.clock = SkippingClock()
        self.settings = SETTINGS

    def __enter__(self) -> Self:
        """Start the broker."""
        super().__enter__()
        self.let_find()
        self.on("Heartbeat", HeartbeatResponse())
        self.on("LeaveGroup", LeaveGroupResponse())
        return self

    @property
    def broker(self) -> ScriptedBroker:
        """Return the broker."""
        return self.brokers[1]

    @contextmanager
    def member_client(self) -> Iterator[ClusterClient]:
        """Return a client by the clock of the cluster."""
        with self.client(self.clock, CLIENT_SETTINGS) as client:
            yield client

    def soon(self) -> int:
        """Return a deadline that no test reaches."""
        return self.clock.monotonic_ns() + _SOON_NS

    def now(self) -> int:
        """Return a deadline that allows no waiting."""
        return self.clock.monotonic_ns()

    def found(self, error: str = "NONE") -> FindCoordinatorResponse:
        """Return the answer to FindCoordinator: this broker, or an error."""
        each = Coordinator(GROUP, 1, "127.0.0.1", self.broker.port, code(error))
        return FindCoordinatorResponse(coordinators=[each])

    def let_find(self, *errors: str) -> None:
        """Have the coordinator found, after some errors."""
        self.on("FindCoordinator", in_turn(*map(self.found, errors), self.found()))

    def let_join(
        self,
        generation: int = 1,
        *,
        assignment: bytes = b"",
        **more: Any,
    ) -> None:
        """Have every JoinGroup and SyncGroup answered."""
        self.on("JoinGroup", joined(generation, **more))
        self.on("SyncGroup", SyncGroupResponse(assignment=assignment))

    def messages(self, name: str) -> list[Any]:
        """Return the requests of an API."""
        return [each.message() for each in self.broker.asked(name)]

    def set_topic(self, name: str, partition_count: int) -> None:
        """Have a topic with so many partitions."""
        self.topics = [each for each in self.topics if each.name != name]
        partitions = [
            MetadataResponsePartition(
                partition_index=index, leader_id=1, replica_nodes=[1], isr_nodes=[1]
            )
            for index in range(partition_count)
        ]
        self.topics.append(MetadataResponseTopic(name=name, partitions=partitions))


COORDINATOR_ID: Final = connection_id(1)
"""The id of the connection to the broker as coordinator."""


class PlainCoordinator(AbstractCoordinator):
    """A member that counts its callbacks.

    Attributes:
        prepared, completed: the generations that they were called with.
        assignments: what it assigns as leader.
        fails_with: raised by `on_join_complete`, once.
    """

    protocol_type = "consumer"

    def __init__(self, client: ClusterClient, settings: MemberSettings) -> None:
        super().__init__(client, settings)
        self.prepared: list[Generation] = []
        self.completed: list[tuple[Generation, bytes]] = []
        self.led: list[JoinGroupResponse] = []
        self.assignments: dict[str, bytes] = {}
        self.on_complete: Callable[[], None] = lambda: None

    def metadata(self) -> list[JoinGroupRequestProtocol]:
        """Return one assignor."""
        return [JoinGroupRequestProtocol("range", b"subscription")]

    def on_join_prepare(self, deadline_ns: int, former: Generation) -> bool:  # noqa: ARG002
        """Count."""
        self.prepared.append(former)
        return True

    def on_leader_elected(self, joined: JoinGroupResponse) -> Mapping[str, bytes]:
        """Return what was given."""
        self.led.append(joined)
        return self.assignments

    def on_join_complete(self, generation: Generation, assignment: bytes) -> None:
        """Count, and do what a test wants."""
        self.completed.append((generation, assignment))
        self.on_complete()


def await_request(
    cluster: MemberCluster, member: AbstractCoordinator, name: str, count: int = 1
) -> Received:
    """Poll the member's client until so many requests have come, and return the last of them."""
    asked: Sequence[Received] = ()
    deadline_ns = cluster.soon()
    while len(asked := cluster.broker.asked(name)) < count:
        member.client.poll(cluster.clock.monotonic_ns() + NS_PER_MS, wakes=False)
        assert cluster.clock.monotonic_ns() < deadline_ns, f"no {name} came"
    return asked[count - 1]
