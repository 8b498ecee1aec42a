"""Offsets of groups that wait for an open transaction to end.

    consume, transform, produce    a program sends its records and its offsets in one transaction
    until that ends                the group's members get no offset of these partitions: they wait
    OffsetFetch                    UNSTABLE_OFFSET_COMMIT, or the offset before the transaction

A coordinator keeps many groups in one partition of `__consumer_offsets`, and a transaction has that
partition, not the group. So of several transactions that are open there any may hold the group.

Source: KIP-98, KIP-447 (`require_stable`).
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from kdiag.diagnosis.check.report import listed
from kdiag.diagnosis.transactions import KnownTransaction
from kdiag.findings.finding import Finding, found

_MS_PER_S: Final = 1000
_RIGHTS: Final = "it takes DESCRIBE on its transactional id and on __consumer_offsets"


class PendingOffsets(msgspec.Struct, kw_only=True, frozen=True):
    """The partitions of a group whose offsets are in an open transaction.

    Attributes:
        group: its id.
        partitions: as `topic[number]`.
        holders: the transactions that may hold them; none if brokers show none.
        at_ms: when that was so, since 1970.
        silence: why a broker did not list its transactions; None if all have.
    """

    group: str
    partitions: Sequence[str]
    holders: Sequence[KnownTransaction]
    at_ms: int
    silence: str | None = None

    def __str__(self) -> str:
        word = "offset" if len(self.partitions) == 1 else "offsets"
        verb = "is" if len(self.partitions) == 1 else "are"
        return f"group {self.group}: its {word} of {listed(self.partitions)} {verb} {self._where}"

    @property
    def _where(self) -> str:
        if not self.holders:
            return f"in an open transaction; which one is not known: {self.silence or _RIGHTS}"
        if len(self.holders) == 1:
            (holder,) = self.holders
            age = self._age(holder)
            return (
                f"in transaction {holder.transactional_id} (producer {holder.producer_id})"
                f"{f', {age}' if age else ''}"
            )
        return f"in one of these transactions: {listed([*map(self._short, self.holders)])}"

    def _short(self, holder: KnownTransaction) -> str:
        age = self._age(holder)
        inside = f"producer {holder.producer_id}{f', {age}' if age else ''}"
        return f"{holder.transactional_id} ({inside})"

    def _age(self, holder: KnownTransaction) -> str:
        if holder.started_ms is None:
            return ""
        return f"open for {max(0, self.at_ms - holder.started_ms) // _MS_PER_S} s"


def find_pending(pending: PendingOffsets) -> Finding:
    """Return what is to be said of it."""
    return found(
        "KD3422",
        told=str(pending),
        group=pending.group,
        partitions=list(pending.partitions),
        transactions=[
            {
                "transactional_id": each.transactional_id,
                "producer_id": each.producer_id,
                "started_ms": each.started_ms,
            }
            for each in pending.holders
        ],
    )
