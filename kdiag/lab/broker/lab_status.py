"""What goes on in a lab at one moment: counts that only grow, and what there is now.

    before = status_of(lab)
    ...
    now = status_of(lab)
    (now.bytes_in - before.bytes_in) / seconds

What brokers send to each other is counted by itself. It may be asked from any thread: each number
is right, all of them together are of about the same moment.
"""

from typing import NamedTuple

from kdiag.lab.broker.broker_server import BrokerServer
from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.controller.cluster_image import NO_LEADER


class GroupStatus(NamedTuple):
    """A group.

    Attributes:
        group: its name.
        state: as Kafka names it.
        members: how many.
    """

    group: str
    state: str
    members: int


class LabStatus(NamedTuple):
    """What goes on.

    Attributes:
        nodes: how many brokers run.
        topics: how many topics there are, those of the brokers themselves left out.
        partitions: of those topics.
        under_replicated: how many partitions have fewer replicas in sync than replicas, those of
            the brokers' own topics among them.
        offline: how many of them nobody leads.
        connections: that clients have open.
        software: how many of them each client software has, by `name version`.
        requests: that have come, in all.
        bytes_in: that clients have sent, in all.
        bytes_out: that they have got.
        replication_bytes: that brokers have sent to each other, in all.
        groups: the groups that there are, in alphabetical order.
        waiting: how many operations wait, by the name of their purgatory.
    """

    nodes: int
    topics: int
    partitions: int
    under_replicated: int
    offline: int
    connections: int
    software: dict[str, int]
    requests: int
    bytes_in: int
    bytes_out: int
    replication_bytes: int
    groups: tuple[GroupStatus, ...]
    waiting: dict[str, int]


def status_of(lab: LabCluster) -> LabStatus:
    """Return what goes on now."""
    all_topics = lab.controller.image.topics.values()
    topics = [each for each in all_topics if not each.is_internal]
    partitions = [each for topic in all_topics for each in topic.partitions]
    nodes = lab.nodes
    metrics = [node.processor.selector.metrics for node in nodes]
    internal_bytes = sum(node.peers.byte_count for node in nodes)
    internal_ends = 2 * sum(node.peers.open_count for node in nodes)
    software: dict[str, int] = {}
    waiting: dict[str, int] = {}
    for each in metrics:
        for (name, version), count in [*each.connections_by_client.items()]:
            label = f"{name} {version}"
            software[label] = software.get(label, 0) + count
    for node in nodes:
        _add_waiting(waiting, node)
    return LabStatus(
        nodes=len(nodes),
        topics=len(topics),
        partitions=sum(len(each.partitions) for each in topics),
        under_replicated=sum(len(each.isr) < len(each.replicas) for each in partitions),
        offline=sum(each.leader == NO_LEADER for each in partitions),
        connections=max(
            0,
            sum(each.connections_created - each.connections_closed for each in metrics)
            - internal_ends,
        ),
        software=software,
        requests=sum(node.dispatch.request_count for node in nodes),
        bytes_in=max(0, sum(each.bytes_received for each in metrics) - internal_bytes),
        bytes_out=max(0, sum(each.bytes_sent for each in metrics) - internal_bytes),
        replication_bytes=internal_bytes,
        groups=tuple(sorted(each for node in nodes for each in _groups(node))),
        waiting=waiting,
    )


def _groups(node: BrokerServer) -> list[GroupStatus]:
    return [
        GroupStatus(group.group_id, str(group.state), len(group.members))
        for shard in [*node.groups.runtime.shards]
        for group in [*shard.groups.values()]
    ]


def _add_waiting(waiting: dict[str, int], node: BrokerServer) -> None:
    for purgatory in (*node.replicas.purgatories, *node.groups.waiting):
        waiting[purgatory.name] = waiting.get(purgatory.name, 0) + purgatory.delayed_count
