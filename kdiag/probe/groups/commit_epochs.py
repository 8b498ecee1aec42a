"""Asks where the leader epochs end that commits name (KIP-320).

    commit 15 in epoch 0        log: epoch 0 = [0, 10), epoch 2 = [10, 30)
                                epoch 0 ends at 10: what was committed at 15 is of another history

A commit in the newest epoch of its partition needs no question.

Source: Kafka's OffsetForLeaderEpoch; `LeaderEpochFileCache.endOffsetFor`.
"""

from collections import defaultdict
from collections.abc import Iterable

from kdiag.client.fetch.offsets import ends_of_epochs
from kdiag.client.fetch.position import FetchPosition, PartitionKey
from kdiag.client.fetch.repositioning import ASK_NS
from kdiag.diagnosis.groups.model import PartitionLag
from kdiag.probe.groups.patience import BrokerPatience


def add_epoch_ends(patience: BrokerPatience, partitions: Iterable[PartitionLag]) -> None:
    """Note in partitions where the epochs of their commits end; -1 if a log does not know one.

    It stays None where that is not asked, or not answered.
    """
    asked: dict[PartitionKey, dict[int, list[PartitionLag]]] = defaultdict(dict)
    for each in partitions:
        if each.committed is None or each.committed_epoch is None or each.error is not None:
            continue
        key = PartitionKey(each.topic, each.partition)
        known = patience.client.cluster.partition(*key)
        if known is not None and known.leader_epoch != each.committed_epoch:
            asked[key].setdefault(each.committed_epoch, []).append(each)
    while asked:
        _ask_once(patience, {key: epochs.popitem() for key, epochs in asked.items()})
        asked = {key: epochs for key, epochs in asked.items() if epochs}


def _ask_once(
    patience: BrokerPatience, asked: dict[PartitionKey, tuple[int, list[PartitionLag]]]
) -> None:
    """Ask about one epoch of each partition."""
    client = patience.client
    leaders = {key: client.cluster.leader_id(*key) for key in asked}
    positions = [
        FetchPosition(key=key, offset=0, leader_id=leaders[key], fetched_epoch=epoch)
        for key, (epoch, _) in asked.items()
        if leaders[key] is not None and leaders[key] not in patience.silent
    ]
    for key, end in ends_of_epochs(client, positions, patience.limit_ns or ASK_NS).items():
        if end is not None and end.error is None:
            for each in asked[key][1]:
                each.epoch_end = end.offset
