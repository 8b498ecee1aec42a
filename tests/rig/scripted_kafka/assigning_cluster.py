"""A scripted coordinator that assigns partitions itself (KIP-848), and members of it.

with AssigningCluster() as cluster, cluster.member_client() as client:
    member = cluster.member(client)
    cluster.give(0, 1)                       # the next epoch, with these partitions of `orders`
    assert member.poll(cluster.soon())
    cluster.refuse("FENCED_MEMBER_EPOCH")    # the next heartbeat
    cluster.beats()                          # all heartbeats

Heartbeats are an hour apart, which only the clock of the cluster can skip.
"""

from typing import Any, Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.consumer.broker_assigned_member import BrokerAssignedMember
from kdiag.client.group.member import TopicSubscription
from kdiag.clock import NS_PER_MS
from kdiag.wire.api.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from scripted_kafka.consumer_cluster import TOPIC, ConsumerCluster
from scripted_kafka.member_cluster import HOUR, code
from scripted_kafka.scripted_broker import Received

BEAT: Final = "ConsumerGroupHeartbeat"
_ID_BYTES: Final = 16


def topic_id(name: str) -> bytes:
    """Return the id of a topic."""
    return name.encode().ljust(_ID_BYTES, b".")


def partitions_of_topic(*partitions: int, topic: str = TOPIC) -> list[TopicPartitions]:
    """Return partitions of a topic, as heartbeats have them."""
    return [TopicPartitions(topic_id(topic), list(partitions))] if partitions else []


def beaten(
    epoch: int = 1,
    assigned: list[TopicPartitions] | None = None,
    *,
    interval_ns: int = HOUR,
    member_id: str | None = None,
) -> ConsumerGroupHeartbeatResponse:
    """Return the answer to a heartbeat, maybe with an assignment."""
    return ConsumerGroupHeartbeatResponse(
        member_id=member_id,
        member_epoch=epoch,
        heartbeat_interval_ms=interval_ns // NS_PER_MS,
        assignment=None if assigned is None else Assignment(assigned),
    )


def refused_beat(error: str, message: str | None = None) -> ConsumerGroupHeartbeatResponse:
    """Return the answer to a heartbeat that is an error."""
    return ConsumerGroupHeartbeatResponse(error_code=code(error), error_message=message)


class AssigningCluster(ConsumerCluster):
    """A broker that assigns partitions of `orders`.

    Attributes:
        epoch: of its one member.
        assigned: what the member is to own.
        interval_ns: between heartbeats.
    """

    def __init__(self) -> None:
        super().__init__()
        self.epoch = 1
        self.assigned: list[TopicPartitions] = []
        self.interval_ns = HOUR
        self._refusals: list[ConsumerGroupHeartbeatResponse] = []
        self.on(BEAT, self.answer)

    def member(
        self,
        client: ClusterClient,
        subscription: TopicSubscription | None = None,
        *,
        assignor: str | None = None,
        **settings: Any,
    ) -> BrokerAssignedMember:
        """Return a member that has not joined yet."""
        return BrokerAssignedMember(
            client,
            self.settings._replace(**settings),
            subscription or TopicSubscription.of(TOPIC),
            self.listener,
            assignor=assignor,
            consumed=lambda: self.consumed,
        )

    def give(self, *partitions: int, topic: str = TOPIC) -> None:
        """Have the next heartbeat bring an assignment, and an epoch."""
        self.give_all(partitions_of_topic(*partitions, topic=topic))

    def give_all(self, assigned: list[TopicPartitions]) -> None:
        """Do so, with any topics."""
        self.assigned = assigned
        self.epoch += 1

    def refuse(self, error: str, message: str | None = None) -> None:
        """Have the next heartbeat that does not leave answered with an error."""
        self._refusals.append(refused_beat(error, message))

    def beats(self) -> list[Any]:
        """Return all heartbeats."""
        return self.messages(BEAT)

    def skip_interval(self) -> None:
        """Let the next heartbeat be due, and wait until the broker has it."""
        count = len(self.broker.asked(BEAT))
        self.clock.advance(self.interval_ns)
        self.broker.wait_for(BEAT, count + 1)

    def answer(self, received: Received) -> None:
        """Answer a heartbeat, with the assignment if the member does not have that epoch."""
        request: Any = received.message()
        if request.member_epoch < 0:
            received.reply(beaten(request.member_epoch))
        elif self._refusals:
            received.reply(self._refusals.pop(0))
        else:
            is_new = request.member_epoch != self.epoch
            received.reply(
                beaten(
                    self.epoch,
                    self.assigned if is_new else None,
                    interval_ns=self.interval_ns,
                    member_id=request.member_id,
                )
            )

    def set_topic(self, name: str, partition_count: int) -> None:
        """Have a topic with so many partitions, and an id."""
        super().set_topic(name, partition_count)
        for each in self.topics:
            each.topic_id = topic_id(each.name or "")
