"""The spread of all groups over the brokers that coordinate them.

A broker coordinates the groups whose partition of `__consumer_offsets` it leads. So the spread
depends on the leaders of these partitions and on the groups in each: both are counted.

Source: Kafka's ListGroups and Metadata.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.network.metadata import Broker
from kdiag.probe.groups.listing import ListedGroup, list_groups
from kdiag.wire.coordinator_partition import CoordinatorKind


class BrokerGroups(msgspec.Struct, kw_only=True):
    """The groups that one broker coordinates.

    Attributes:
        node_id, host, port, rack: the broker.
        groups: how many it coordinates; None if it did not answer.
        types, states: how many of each, by Kafka's name in lower case.
        partitions: how many partitions of `__consumer_offsets` it leads.
        error: why it did not answer, or Kafka's error name.
    """

    node_id: int
    host: str
    port: int
    rack: str | None
    groups: int | None
    types: Mapping[str, int]
    states: Mapping[str, int]
    partitions: int
    error: str | None


def group_spread(client: ClusterClient) -> list[BrokerGroups]:
    """Return the groups of every broker of a connected client, by ascending broker id.

    Raises:
        KdiagError: if no broker answers for the partitions.
    """
    name = CoordinatorKind.GROUP.topic
    topic = client.refresh([name]).topics.get(name)
    led = Counter(each.leader_id for each in topic.partitions) if topic else Counter[int]()
    listing = list_groups(client)
    by_node: dict[int, list[ListedGroup]] = defaultdict(list)
    for each in listing.groups.values():
        by_node[each.node_id].append(each)
    return [
        _of_broker(each, by_node[each.id], led[each.id], listing.failures.get(each.id))
        for each in client.brokers
    ]


def _of_broker(
    broker: Broker, listed: Sequence[ListedGroup], partitions: int, error: str | None
) -> BrokerGroups:
    return BrokerGroups(
        node_id=broker.id,
        host=broker.host,
        port=broker.port,
        rack=broker.rack,
        groups=None if error else len(listed),
        types=Counter(each.type for each in listed),
        states=Counter(each.state or "unknown" for each in listed),
        partitions=partitions,
        error=error,
    )
