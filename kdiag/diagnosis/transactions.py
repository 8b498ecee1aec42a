"""Open transactions: who has one, for how long, what it holds back, and whether it hangs.

    leader of orders[3]      producer id 7, epoch 2, open since offset 120     first look
    coordinator              producer id 7, epoch 3, Empty                     in between
    leader of orders[3]      the same                                          second look

A transaction ends with a marker in each of its partitions, and its coordinator forgets it after the
last of them. So one that is open at both looks, and not there for its coordinator in between, will
never get its marker: it hangs. What is open for the coordinator is alive, however old.

Of a producer that no coordinator tells of, that is not as sure: brokers leave out what one may not
describe. It counts as hanging once it is older than any transaction may become.

One that is alive may have lost its producer: its coordinator aborts it after its timeout, up to 15
minutes later. It is stalled if it is far older than the earlier ones of its producer were, which
ended in the same partition, and its producer has been silent for as long.

Source: KIP-98, KIP-664 (hanging transactions), KIP-890.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from kdiag.clock import NS_PER_S
from kdiag.findings.finding import Finding, found

_MS_PER_S: Final = 1000
_GRACE_MS: Final = 15 * _MS_PER_S
"""How much later than its timeout a coordinator may abort: it looks every 10 s."""

_LONG_MS: Final = 60 * _MS_PER_S
"""What is open for longer is told: that is the default of transaction.timeout.ms."""

_LEAST_EARLIER: Final = 3
_STALLED_TIMES: Final = 10
LEAST_STALLED_MS: Final = 5 * _MS_PER_S
_ONGOING: Final = "Ongoing"

OPEN_STATES: Final = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
"""In these a coordinator has a transaction open; brokers pass over those that they do not know."""

Place = tuple[str, int]
"""Topic and partition."""

_NO_GROUPS: Final[Mapping[Place, Sequence[str]]] = {}


class OpenPartition(msgspec.Struct, kw_only=True, frozen=True):
    """A partition with an open transaction, as its leader knows it.

    Attributes:
        leader_id: the broker that leads it.
        producer_id, producer_epoch: of the transaction.
        coordinator_epoch: of the last marker of this producer; -1 without one.
        start_offset: of its first record.
        last_ms: when the producer last wrote there, since 1970.
        lso, end: the last stable offset, and the high watermark.
    """

    topic: str
    partition: int
    leader_id: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    last_ms: int
    lso: int
    end: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]"

    @property
    def place(self) -> Place:
        """Return topic and partition."""
        return self.topic, self.partition

    @property
    def identity(self) -> tuple[Place, int, int, int]:
        """Return what stays the same while a transaction is open."""
        return self.place, self.producer_id, self.producer_epoch, self.start_offset


class KnownTransaction(msgspec.Struct, kw_only=True, frozen=True):
    """A transactional id, as its coordinator knows it.

    Attributes:
        node_id: the coordinator.
        started_ms: since 1970; None if none is open.
        timeout_ms: `transaction.timeout.ms` of the producer.
        places: the partitions of the open transaction.
    """

    transactional_id: str
    node_id: int
    state: str
    producer_id: int
    producer_epoch: int
    started_ms: int | None
    timeout_ms: int
    places: Collection[Place] = ()


class Transaction(msgspec.Struct, kw_only=True):
    """An open transaction.

    Attributes:
        transactional_id: None if no coordinator tells it.
        state: Kafka's name; None likewise.
        node_id: the coordinator.
        started_ms: since 1970; where no coordinator tells it, when it last wrote.
        age_ms: since then.
        timeout_ms: when its coordinator aborts it; None if none tells.
        partitions: those that it holds back.
        places: those that its coordinator says it has.
        hangs: why it hangs; None if it does not.
        is_unknown: whether it may hang, and nobody can tell.
        earlier_ms: how long earlier ones of its producer took, those that ended last.
    """

    transactional_id: str | None
    state: str | None
    producer_id: int
    producer_epoch: int
    node_id: int | None
    started_ms: int | None
    age_ms: int | None
    timeout_ms: int | None
    partitions: Sequence[OpenPartition] = ()
    places: Collection[Place] = ()
    hangs: str | None = None
    is_unknown: bool = False
    earlier_ms: Sequence[int] = ()

    @property
    def silent_ms(self) -> int:
        """Return for how long its producer wrote nothing, as far as timestamps show."""
        age_ms, started_ms = self.age_ms or 0, self.started_ms or 0
        last_ms = max((each.last_ms for each in self.partitions), default=started_ms)
        return max(0, min(age_ms, started_ms + age_ms - last_ms))

    @property
    def is_stalled(self) -> bool:
        """Return whether its producer seems to be dead, by what it did before."""
        if self.hangs is not None or self.is_unknown or self.state != _ONGOING:
            return False
        if len(self.earlier_ms) < _LEAST_EARLIER:
            return False
        long_ms = max(LEAST_STALLED_MS, _STALLED_TIMES * max(self.earlier_ms))
        return self.silent_ms >= long_ms


class TransactionFacts(msgspec.Struct, kw_only=True):
    """What brokers tell of transactions.

    Attributes:
        at_ns: when the coordinators told, since 1970.
        before, after: the open partitions of the two looks.
        known: by producer id.
        max_timeout_ms: `transaction.max.timeout.ms` of the brokers; None if they do not tell.
        silent: the brokers that did not list transactions, with why.
        warnings: what is not known, and why.
        partition_count: how many partitions were asked about.
        earlier_ms: how long earlier transactions took, by producer id.
    """

    at_ns: int
    before: Sequence[OpenPartition]
    after: Sequence[OpenPartition]
    known: Mapping[int, KnownTransaction]
    max_timeout_ms: int | None = None
    silent: Mapping[int, str] = {}
    warnings: Sequence[str] = ()
    partition_count: int = 0
    earlier_ms: Mapping[int, Sequence[int]] = {}


def judge(facts: TransactionFacts) -> list[Transaction]:
    """Return the open transactions: those that hang first, then the oldest."""
    now_ms = facts.at_ns // (NS_PER_S // _MS_PER_S)
    lasting = {each.identity for each in facts.before}
    parts: dict[tuple[int, int, str | None, bool], list[OpenPartition]] = defaultdict(list)
    for each in facts.after:
        if each.identity in lasting:
            why, is_unknown = _verdict(each, facts, now_ms)
            parts[each.producer_id, each.producer_epoch, why, is_unknown].append(each)
    transactions = [
        _transaction(partitions, facts.known.get(producer_id), why, now_ms, is_unknown=is_unknown)
        for (producer_id, _, why, is_unknown), partitions in parts.items()
    ]
    for each_open in transactions:
        each_open.earlier_ms = facts.earlier_ms.get(each_open.producer_id, ())
    seen = {each.producer_id for each in transactions if each.hangs is None}
    transactions += [
        _transaction([], each, None, now_ms)
        for each in facts.known.values()
        if each.state in OPEN_STATES and each.producer_id not in seen
    ]
    return sorted(transactions, key=lambda each: (each.hangs is None, -(each.age_ms or 0)))


def _verdict(
    partition: OpenPartition, facts: TransactionFacts, now_ms: int
) -> tuple[str | None, bool]:
    """Return why a transaction hangs in a partition, and whether that cannot be told."""
    known = facts.known.get(partition.producer_id)
    if known is None:
        most_ms = facts.max_timeout_ms
        is_old = most_ms is not None and now_ms - partition.last_ms > most_ms + _GRACE_MS
        if facts.silent or not is_old:
            return None, True
        return "is not known, and it is older than transaction.max.timeout.ms", False
    if known.state not in OPEN_STATES:
        return f"has none open for {known.transactional_id} ({known.state})", False
    if partition.place in known.places:
        return (
            None,
            False,
        )  # its marker will come, also where fencing has raised the epoch meanwhile
    if partition.producer_epoch < known.producer_epoch:
        newer = f"epoch {known.producer_epoch} of {known.transactional_id}"
        return f"is at {newer} elsewhere, and this one has {partition.producer_epoch}", False
    return f"has {known.transactional_id} open in other partitions alone", False


def _transaction(
    partitions: Sequence[OpenPartition],
    known: KnownTransaction | None,
    hangs: str | None,
    now_ms: int,
    *,
    is_unknown: bool = False,
) -> Transaction:
    is_its = known is not None and hangs is None
    started_ms = known.started_ms if known is not None and is_its else None
    if started_ms is None and partitions:
        started_ms = min(each.last_ms for each in partitions)
    producer_epoch = partitions[0].producer_epoch if partitions else -1
    if known is not None and not partitions:
        producer_epoch = known.producer_epoch
    return Transaction(
        transactional_id=None if known is None else known.transactional_id,
        state=None if known is None else known.state,
        producer_id=partitions[0].producer_id if partitions else getattr(known, "producer_id", -1),
        producer_epoch=producer_epoch,
        node_id=None if known is None else known.node_id,
        started_ms=started_ms,
        age_ms=None if started_ms is None else max(0, now_ms - started_ms),
        timeout_ms=known.timeout_ms if known is not None and is_its else None,
        partitions=partitions,
        places=known.places if known is not None and is_its else (),
        hangs=hangs,
        is_unknown=is_unknown,
    )


def find(
    transactions: Sequence[Transaction],
    commands: Mapping[Place, str],
    waiting: Mapping[Place, Sequence[str]] = _NO_GROUPS,
) -> Iterator[Finding]:
    """Yield what is wrong with open transactions.

    Args:
        transactions: as judged.
        commands: that end the transaction of a partition.
        waiting: the groups that wait for the transaction of a partition, as far as they are known.
    """
    for each in transactions:
        if each.hangs is not None:
            yield from (_hanging(one, each.hangs, commands) for one in each.partitions)
        elif each.is_unknown:
            yield from (_unknown(one) for one in each.partitions)
        elif each.timeout_ms is not None:
            yield from _alive(each, each.age_ms or 0, each.timeout_ms, waiting)


def _alive(
    transaction: Transaction,
    age_ms: int,
    timeout_ms: int,
    waiting: Mapping[Place, Sequence[str]],
) -> Iterator[Finding]:
    """Yield what is to be said of one that is alive, and old."""
    blocked = sum(each.end - each.lso for each in transaction.partitions)
    facts = {
        "transactional_id": transaction.transactional_id,
        "age_s": age_ms // _MS_PER_S,
        "timeout_s": timeout_ms // _MS_PER_S,
        "left_s": max(0, timeout_ms - age_ms) // _MS_PER_S,
        "node_id": transaction.node_id,
    }
    if age_ms > timeout_ms + _GRACE_MS:
        yield found("KD3502", **facts)
    elif transaction.is_stalled:
        places = [*transaction.places, *(each.place for each in transaction.partitions)]
        groups = sorted({group for place in places for group in waiting.get(place, ())})
        yield found(
            "KD3505",
            **facts,
            silent_s=transaction.silent_ms // _MS_PER_S,
            earlier=len(transaction.earlier_ms),
            longest_ms=max(transaction.earlier_ms),
            blocked_records=blocked,
            count=len(transaction.partitions),
            groups=groups,
            waits=f" (groups that wait: {', '.join(groups)})" if groups else "",
        )
    elif age_ms > _LONG_MS and transaction.partitions:
        yield found("KD3504", **facts, blocked_records=blocked, count=len(transaction.partitions))


def _hanging(partition: OpenPartition, why: str, commands: Mapping[Place, str]) -> Finding:
    return found(
        "KD3501",
        producer_id=partition.producer_id,
        producer_epoch=partition.producer_epoch,
        partition=str(partition),
        why=why,
        start_offset=partition.start_offset,
        blocked_records=partition.end - partition.lso,
        command=commands[partition.place],
    )


def _unknown(partition: OpenPartition) -> Finding:
    return found(
        "KD3503",
        producer_id=partition.producer_id,
        partition=str(partition),
        start_offset=partition.start_offset,
        again_s=_GRACE_MS // _MS_PER_S,
    )
