"""A scripted coordinator of consumers: subscriptions, assignments and offsets as bytes.

with ConsumerCluster() as cluster, cluster.member_client() as client:
    cluster.set_topic("orders", 2)
    cluster.let_follow(0, 1)                       # JoinGroup and SyncGroup of a follower
    member = cluster.consumer(client)
    assert member.poll(cluster.soon())
    assert cluster.listener.events == [("assigned", ["orders[0]", "orders[1]"])]
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import (
    Assignments,
    MemberSubscription,
    PartitionRacks,
    RebalanceProtocol,
)
from kdiag.client.group.assignor.consumer_protocol import (
    MemberAssignment,
    encode_assignment,
    encode_subscription,
)
from kdiag.client.group.classic.consumer_coordinator import ConsumerCoordinator
from kdiag.client.group.member import OffsetAndMetadata, TopicSubscription
from kdiag.wire.api.metadata import MetadataResponseBroker
from kdiag.wire.api.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kdiag.wire.api.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from kdiag.wire.api.sync_group import SyncGroupResponse
from scripted_kafka.member_cluster import GROUP, MEMBER_ID, MemberCluster, code, in_turn, joined
from scripted_kafka.scripted_broker import Instead, Received

TOPIC: Final = "orders"
EAGER: Final = RebalanceProtocol.EAGER
COOPERATIVE: Final = RebalanceProtocol.COOPERATIVE


def keys(*partitions: int, topic: str = TOPIC) -> list[PartitionKey]:
    """Return partitions of a topic."""
    return [PartitionKey(topic, each) for each in partitions]


def offsets(*given: int, topic: str = TOPIC) -> dict[PartitionKey, OffsetAndMetadata]:
    """Return offsets of the partitions from 0 on."""
    return {PartitionKey(topic, at): OffsetAndMetadata(each) for at, each in enumerate(given)}


def subscribed(*topics: str, owned: Iterable[PartitionKey] = ()) -> bytes:
    """Return a subscription as bytes."""
    return encode_subscription(MemberSubscription(topics, owned_partitions=tuple(owned)))


def assigned(*partitions: int, topic: str = TOPIC) -> bytes:
    """Return an assignment as bytes."""
    return encode_assignment(MemberAssignment(keys(*partitions, topic=topic)))


class GivenAssignor:
    """An assignor that assigns what it is told to.

    Attributes:
        given: the partitions of each member.
        asked: what it was asked to divide.
        heard: the assignments of its own member.
    """

    def __init__(
        self, name: str = "range", protocols: tuple[RebalanceProtocol, ...] = (EAGER,)
    ) -> None:
        self.name = name
        self.protocols = protocols
        self.given: dict[str, list[PartitionKey]] = {}
        self.asked: list[tuple[PartitionRacks, Mapping[str, MemberSubscription]]] = []
        self.heard: list[tuple[list[PartitionKey], int]] = []

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:
        """Return something that tells assignors apart."""
        return f"{self.name}:{','.join(sorted(topics))}".encode()

    def assign(
        self, partition_racks: PartitionRacks, members: Mapping[str, MemberSubscription]
    ) -> Assignments:
        """Return what was given."""
        self.asked.append((partition_racks, members))
        return {each: self.given.get(each, []) for each in members}

    def on_assignment(self, assignment: Sequence[PartitionKey], generation: int) -> None:
        """Remember it."""
        self.heard.append((list(assignment), generation))


class RecordingListener:
    """A listener that remembers what it was told, and fails where it is told to.

    Attributes:
        events: `assigned`, `revoked` or `lost`, and the partitions.
        failures: what to raise, by event; once.
    """

    def __init__(self) -> None:
        self.events: list[tuple[str, list[str]]] = []
        self.failures: dict[str, Exception] = {}

    def on_partitions_assigned(self, added: Collection[PartitionKey]) -> None:
        """Remember them."""
        self._record("assigned", added)

    def on_partitions_revoked(self, removed: Collection[PartitionKey]) -> None:
        """Remember them."""
        self._record("revoked", removed)

    def on_partitions_lost(self, removed: Collection[PartitionKey]) -> None:
        """Remember them."""
        self._record("lost", removed)

    def take(self) -> list[tuple[str, list[str]]]:
        """Return the events since the last call."""
        taken, self.events = self.events, []
        return taken

    def _record(self, event: str, partitions: Collection[PartitionKey]) -> None:
        self.events.append((event, [str(each) for each in partitions]))
        if event in self.failures:
            raise self.failures.pop(event)


class ConsumerCluster(MemberCluster):
    """A broker that coordinates consumers of `orders`.

    Attributes:
        listener: of the members.
        assignor: theirs, too.
        consumed: how far they have read.
    """

    def __init__(self) -> None:
        super().__init__()
        self.listener = RecordingListener()
        self.assignor = GivenAssignor()
        self.consumed: dict[PartitionKey, OffsetAndMetadata] = {}
        self.racks: dict[int, str] = {}
        self.set_topic(TOPIC, 2)

    def consumer(
        self,
        client: ClusterClient,
        subscription: TopicSubscription | None = None,
        protocol: RebalanceProtocol = EAGER,
        **settings: Any,
    ) -> ConsumerCoordinator:
        """Return a member that has not joined yet."""
        self.assignor.protocols = (protocol,)
        return ConsumerCoordinator(
            client,
            self.settings._replace(**settings),
            subscription or TopicSubscription.of(TOPIC),
            [self.assignor],
            self.listener,
            consumed=lambda: self.consumed,
        )

    def let_follow(self, *partitions: int, generation: int = 1, topic: str = TOPIC) -> None:
        """Have every JoinGroup answered as a follower's, and these partitions assigned."""
        self.let_join(generation, assignment=assigned(*partitions, topic=topic))

    def let_lead(
        self, *partitions: int, generation: int = 1, others: Mapping[str, bytes] = {}, **more: Any
    ) -> None:
        """Have it answered as the leader's; SyncGroup returns what the leader assigns itself."""
        self.assignor.given = {MEMBER_ID: keys(*partitions)}

        def join(received: Received) -> None:
            request: Any = received.message()
            (protocol,) = request.protocols
            members = {MEMBER_ID: protocol.metadata, **others}
            received.reply(joined(generation, leader=MEMBER_ID, subscriptions=members, **more))

        self.on("JoinGroup", join)
        self.on("SyncGroup", self._return_assignment)

    def let_commit(self, *errors: str | Instead) -> None:
        """Have commits answered with errors, one after the other, and the last from then on."""
        replies = [each if isinstance(each, Instead) else _commit_reply(each) for each in errors]
        self.on("OffsetCommit", in_turn(*replies or [_commit_reply("NONE")]))

    def let_fetch(self, given: Mapping[int, int | str], error: str = "NONE") -> None:
        """Have the committed offset of each partition answered, or an error's name."""
        self.on("OffsetFetch", fetched(given, error))

    def move_to(self, racks: Sequence[str]) -> None:
        """Have each partition on brokers of these racks, which are nowhere else."""
        self.racks = dict(enumerate(racks, 10))
        for topic in self.topics:
            for each in topic.partitions:
                each.replica_nodes = [*self.racks]

    def _nodes(self) -> list[MetadataResponseBroker]:
        others = [
            MetadataResponseBroker(each, "127.0.0.1", 1, rack) for each, rack in self.racks.items()
        ]
        return [*super()._nodes(), *others]

    def joins(self) -> list[Any]:
        """Return the JoinGroup requests."""
        return self.messages("JoinGroup")

    def _return_assignment(self, received: Received) -> None:
        request: Any = received.message()
        mine = [each.assignment for each in request.assignments if each.member_id == MEMBER_ID]
        received.reply(SyncGroupResponse(assignment=mine[0] if mine else assigned()))


def refused_sync(error: str) -> SyncGroupResponse:
    """Return an answer to SyncGroup that is an error."""
    return SyncGroupResponse(error_code=code(error))


def synced(assignment: bytes) -> SyncGroupResponse:
    """Return an answer to SyncGroup."""
    return SyncGroupResponse(assignment=assignment)


def fetched(given: Mapping[int, int | str], error: str = "NONE") -> OffsetFetchResponse:
    """Return an answer to OffsetFetch."""
    partitions = [
        OffsetFetchResponsePartitions(
            partition_index=index,
            committed_offset=-1 if isinstance(each, str) else each,
            committed_leader_epoch=3,
            metadata="note",
            error_code=code(each) if isinstance(each, str) else 0,
        )
        for index, each in given.items()
    ]
    topic = OffsetFetchResponseTopics(name=TOPIC, partitions=partitions)
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(GROUP, [topic], code(error))])


def commit_answer(received: Received, error: str = "NONE") -> OffsetCommitResponse:
    """Return the answer to a commit, with one error for all partitions."""
    request: Any = received.message()
    topics = [
        OffsetCommitResponseTopic(
            name=topic.name,
            partitions=[
                OffsetCommitResponsePartition(each.partition_index, code(error))
                for each in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return OffsetCommitResponse(topics=topics)


def _commit_reply(error: str) -> Callable[[Received], None]:
    """Return what answers commits with an error."""
    return lambda received: received.reply(commit_answer(received, error))
