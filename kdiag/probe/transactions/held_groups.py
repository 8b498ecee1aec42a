"""Finds the groups that open transactions hold back: those that have read all up to one.

A group whose offsets are in an open transaction waits for it: it is told with the partition of
`__consumer_offsets` that keeps it, which the transaction has.

A group is held back as well where nothing is left to read between its commit and the last stable
offset, and more lies behind that. What its consumers' isolation level is, no broker knows: those
with `read_uncommitted` go on, and their commits are behind the last stable offset soon.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.visibility import hidden_groups
from kdiag.diagnosis.transactions import OpenPartition, Place
from kdiag.probe.groups.commits import SHARE, Commit, GroupCommits, fetch_commits
from kdiag.probe.groups.listing import GroupListing, list_groups
from kdiag.probe.groups.next_records import UnreadSpan, read_next
from kdiag.probe.transactions.offset_holders import places_of

_NO_COMMIT: Final = Commit(None)


class HeldGroups(NamedTuple):
    """The groups that wait for transactions.

    Attributes:
        waiting: their names, by partition.
        warnings: why there may be more.
    """

    waiting: Mapping[Place, Sequence[str]] = {}
    warnings: Sequence[str] = ()


def groups_held_back(client: ClusterClient, partitions: Iterable[OpenPartition]) -> HeldGroups:
    """Return the groups that wait for a transaction.

    Args:
        client: connected; it knows the topics of the partitions.
        partitions: with an open transaction.
    """
    stops = {PartitionKey(*each.place): each.lso for each in partitions}
    listing = list_groups(client)
    warnings = list(_unlisted(client, listing))
    readers = {name: each for name, each in listing.groups.items() if each.type != SHARE}
    held: dict[Place, list[str]] = defaultdict(list)
    behind: dict[UnreadSpan, list[str]] = defaultdict(list)
    found_commits = fetch_commits(client, readers, lambda _: None)
    pending = {
        name: None
        for name, commits in found_commits.items()
        if any(each.is_pending for each in commits.partitions.values())
    }
    for name, place in (places_of(client, pending) if pending else {}).items():
        held[place].append(name)
    for name, commits in found_commits.items():
        warnings += _unknown(name, commits, stops)
        for key, stop in stops.items():
            offset = commits.partitions.get(key, _NO_COMMIT).offset
            if offset == stop:
                held[key].append(name)
            elif offset is not None and offset < stop:
                behind[UnreadSpan(key, offset, stop)].append(name)
    for span, found in read_next(client, client.cluster, behind).items():
        if found.error:
            names = ", ".join(behind[span])
            warnings.append(f"whether {names} waits at {span.key} is not known: {found.error}")
        elif not found.count and found.read_to >= span.stop:
            held[span.key] += behind[span]  # there are markers between the two, and no records
    return HeldGroups({place: sorted(names) for place, names in held.items()}, warnings)


def _unlisted(client: ClusterClient, listing: GroupListing) -> Iterator[str]:
    """Yield why there may be more groups."""
    for node_id, why in listing.failures.items():
        yield f"broker {node_id} did not list its groups: {why}"
    hidden = hidden_groups(client)
    if hidden:
        yield hidden


def _unknown(name: str, commits: GroupCommits, keys: Iterable[PartitionKey]) -> Iterator[str]:
    """Yield why it is not known whether a group waits."""
    if commits.error:
        yield f"group {name}: its commits are not known: {commits.error}"
    for key in keys:
        error = commits.partitions.get(key, _NO_COMMIT).error
        if error:
            yield f"group {name}: its commit of {key} is not known: {error}"
