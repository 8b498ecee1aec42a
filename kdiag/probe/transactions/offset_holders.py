"""Finds the open transactions that hold offsets of groups.

1. Metadata of `__consumer_offsets`: how many partitions there are, and so which one keeps a group.
2. ListTransactions and DescribeTransactions: the open ones that have this partition.

Source: KIP-664; Kafka's TxnOffsetCommit, AddOffsetsToTxn.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.network.metadata import metadata_request
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.groups.pending import PendingOffsets
from kdiag.diagnosis.transactions import OPEN_STATES, KnownTransaction, Place
from kdiag.errors import KdiagError
from kdiag.probe.transactions.search import known_transactions
from kdiag.wire.api.metadata import MetadataResponse
from kdiag.wire.coordinator_partition import CoordinatorKind, coordinator_partition

_TOPIC: Final = CoordinatorKind.GROUP.topic
_LIMIT_NS: Final = 4 * NS_PER_S


def find_offset_holders(
    client: ClusterClient, groups: Mapping[str, Sequence[str]], limit_ns: int = _LIMIT_NS
) -> list[PendingOffsets]:
    """Return the transactions that hold the offsets of groups, by name of the group.

    Args:
        client: connected.
        groups: the partitions whose offsets wait, as `topic[number]`, by group.
        limit_ns: how long each of three questions may take.
    """
    at_ms = client.clock.epoch_ns() // NS_PER_MS
    places: Mapping[str, Place] = {}
    known: Mapping[int, KnownTransaction] = {}
    silent: dict[int, str] = {}
    try:
        places = places_of(client, groups, limit_ns)
        known = known_transactions(client, (), silent, limit_ns)
        failures = [f"broker {node_id}: {why}" for node_id, why in silent.items()]
    except KdiagError as error:
        failures = [str(error)]
    return [
        PendingOffsets(
            group=group,
            partitions=partitions,
            holders=[
                each
                for each in known.values()
                if each.state in OPEN_STATES and places.get(group) in each.places
            ],
            at_ms=at_ms,
            silence="; ".join(failures) or None,
        )
        for group, partitions in sorted(groups.items())
    ]


def places_of(
    client: ClusterClient, groups: Mapping[str, object], limit_ns: int = _LIMIT_NS
) -> dict[str, Place]:
    """Return the partition of `__consumer_offsets` that keeps each group; none if none is known.

    Raises:
        KdiagError: if no broker answers.
    """
    request = metadata_request([_TOPIC])
    body = client.ask_any(request, MetadataResponse, timeout_ns=limit_ns, is_harmless=True)
    count = sum(len(each.partitions) for each in body.topics)
    return {group: (_TOPIC, coordinator_partition(group, count)) for group in groups if count}
