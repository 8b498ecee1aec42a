"""Why a member does not begin to read: its offsets are in a transaction that is open.

    t = 0 s    given orders[0], whose offset is in transaction tx-a
    t = 1 s    said, with the transaction and how long it is open
    t = 61 s   said again, as long as it is so
    then       tx-a ends, and the member begins where it says

Source: KIP-447 (UNSTABLE_OFFSET_COMMIT).
"""

from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import Notice, NoticeKind, PartitionKey
from kdiag.client.group.committed_offsets import UnstableOffsetsError
from kdiag.clock import NS_PER_S
from kdiag.probe.tail.open_transactions import HeldBackWatch
from kdiag.probe.transactions.offset_holders import find_offset_holders

_ASK_NS: Final = 1 * NS_PER_S
_AGAIN_NS: Final = 60 * NS_PER_S


class TransactionWatch:
    """What a member of a group waits for in transactions.

    Attributes:
        held: the partitions that it has, and whose records are held back.
    """

    def __init__(self, client: ClusterClient) -> None:
        self.held = HeldBackWatch()
        self._client = client
        self._told: frozenset[PartitionKey] = frozenset()
        self._again_at_ns = 0

    def explain(self, error: UnstableOffsetsError) -> list[Notice]:
        """Return what its offsets wait for: once, and again each minute."""
        now_ns = self._client.clock.monotonic_ns()
        if error.keys == self._told and now_ns < self._again_at_ns:
            return []
        self._told, self._again_at_ns = error.keys, now_ns + _AGAIN_NS
        partitions = [str(each) for each in sorted(error.keys)]
        found = find_offset_holders(self._client, {error.group_id: partitions}, _ASK_NS)
        return [
            Notice(NoticeKind.HELD_BACK, f"{each}; reading waits for its end") for each in found
        ]
