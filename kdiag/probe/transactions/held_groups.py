"""Finds the groups that open transactions hold back: those that have read all up to one.

A group is held back where nothing is left to read between its commit and the last stable offset,
and more lies behind that. What its consumers' isolation level is, no broker knows: those with
`read_uncommitted` go on, and their commits are behind the last stable offset soon.
"""

from collections import defaultdict
from collections.abc import Iterable

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.diagnosis.transactions import OpenPartition, Place
from kdiag.probe.groups.commits import SHARE, fetch_commits
from kdiag.probe.groups.listing import list_groups
from kdiag.probe.groups.next_records import UnreadSpan, read_next


def groups_held_back(
    client: ClusterClient, partitions: Iterable[OpenPartition]
) -> dict[Place, list[str]]:
    """Return the names of the groups that wait for a transaction, by partition.

    Args:
        client: connected; it knows the topics of the partitions.
        partitions: with an open transaction.
    """
    stops = {PartitionKey(*each.place): each.lso for each in partitions}
    listing = list_groups(client)
    readers = {name: each for name, each in listing.groups.items() if each.type != SHARE}
    held: dict[Place, list[str]] = defaultdict(list)
    behind: dict[UnreadSpan, list[str]] = defaultdict(list)
    for name, commits in fetch_commits(client, readers, lambda _: None).items():
        for key, commit in commits.partitions.items():
            stop = stops.get(key)
            if stop is None or commit.offset is None:
                continue
            if commit.offset == stop:
                held[key].append(name)
            elif commit.offset < stop:
                behind[UnreadSpan(key, commit.offset, stop)].append(name)
    for span, found in read_next(client, client.cluster, behind).items():
        if not found.error and not found.count and found.read_to >= span.stop:
            held[span.key] += behind[span]  # there are markers between the two, and no records
    return {place: sorted(names) for place, names in held.items()}
