"""Open transactions that hold records back from readers of committed ones.

    offsets   0 ... 9   10        11 ... 14   15
                        T opens   others      end of the log (high watermark)
                        last stable offset: nothing from here on is read before T ends

The leader of a partition knows the producer, the coordinator its transactional id and since when
the transaction is open. Whoever may read a partition may ask its leader; the coordinator tells only
those who may describe the transactional id.

Source: KIP-664 (DescribeProducers, ListTransactions, DescribeTransactions).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.notices import names
from kdiag.client.fetch.position import FetchPosition, PartitionKey
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.exchange.line.shown_time import date_and_time, zone_label
from kdiag.wire.api.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)
from kdiag.wire.api.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kdiag.wire.api.list_transactions import ListTransactionsRequest, ListTransactionsResponse

_ASK_NS: Final = 1 * NS_PER_S
"""How long each question may take: what it adds to the notice is not worth more."""

_UNKNOWN: Final = -1


class HeldBack(NamedTuple):
    """Offsets of a partition that are held back.

    Attributes:
        leader_id: the broker that leads it; None if nobody does.
        last_stable_offset: the first of them.
        high_watermark: the end of the log, behind the last of them.
    """

    leader_id: int | None
    last_stable_offset: int
    high_watermark: int


class _Transaction(NamedTuple):
    """A transaction, as its coordinator knows it; None for what it does not tell."""

    transactional_id: str | None = None
    began_ms: int | None = None


class HeldBackWatch:
    """Finds positions of a reader that does not get on: those of short transactions are none."""

    def __init__(self) -> None:
        self._before: dict[PartitionKey, int] = {}
        self._told: set[PartitionKey] = set()

    def look(self, positions: Mapping[PartitionKey, FetchPosition]) -> dict[PartitionKey, HeldBack]:
        """Return the partitions that wait at the same offset as at the look before; each once."""
        waiting = {
            key: HeldBack(each.leader_id, each.last_stable_offset, each.high_watermark)
            for key, each in positions.items()
            if 0 <= each.last_stable_offset <= each.offset < each.stop
            if each.last_stable_offset < each.high_watermark
        }
        now = {key: each.last_stable_offset for key, each in waiting.items()}
        lasting = {key for key, offset in now.items() if self._before.get(key) == offset}
        new = {key: waiting[key] for key in waiting if key in lasting - self._told}
        self._before, self._told = now, lasting
        return new


def describe_held_back(client: ClusterClient, held: Mapping[PartitionKey, HeldBack]) -> list[str]:
    """Return a line for each transaction: where it is open, how much it holds back, since when.

    A transaction that has ended meanwhile has none. Brokers that do not answer make the lines
    shorter, and take 3 s at the most.
    """
    holders = _holders(client, held)
    known = [each.producer_id for each in holders.values() if each is not None]
    transactions = _transactions(client, sorted(set(known))) if known else {}
    by_producer: dict[int, list[PartitionKey]] = defaultdict(list)
    for key in held:
        holder = holders.get(key, ProducerState(_UNKNOWN))
        if holder is not None:
            by_producer[holder.producer_id].append(key)
    now_ns = client.clock.epoch_ns()
    lines = []
    for producer_id, keys in by_producer.items():
        count = sum(held[key].high_watermark - held[key].last_stable_offset for key in keys)
        where = names({key: held[key].last_stable_offset for key in keys})
        who = "which one its leader does not tell"
        if producer_id != _UNKNOWN:
            transaction = transactions.get(producer_id, _Transaction())
            last_ms = max(each.last_timestamp for key in keys if (each := holders[key]))
            who = _who(producer_id, transaction, last_ms, now_ns // 1_000_000)
        offsets = f"{count} offset{'s' * (count != 1)}"
        lines.append(f"{where}: {offsets} from here on held back by an open transaction: {who}")
    return lines


def _who(producer_id: int, transaction: _Transaction, last_ms: int, now_ms: int) -> str:
    """Return which transaction it is, and since when it is open."""
    who = f"producer id {producer_id}"
    if transaction.transactional_id is not None:
        who = f"transactional id {transaction.transactional_id}, {who}"
    if transaction.began_ms is not None:
        return f"{who}, open since {_moment(transaction.began_ms, now_ms)}"
    return f"{who}, its last record is of {_moment(last_ms, now_ms)}"


def _moment(moment_ms: int, now_ms: int) -> str:
    """Return a moment, and how long ago it was by the clock of this machine."""
    moment_ns = moment_ms * NS_PER_MS
    age_s = (now_ms - moment_ms) / 1000
    return f"{date_and_time(moment_ns, 0)} {zone_label(moment_ns)} ({age_s:.0f} s ago)"


def _holders(
    client: ClusterClient, held: Mapping[PartitionKey, HeldBack]
) -> dict[PartitionKey, ProducerState | None]:
    """Return the producer whose transaction is the first open one, by partition that was told of.

    None stands for no open transaction.
    """
    by_leader: dict[int, dict[str, TopicRequest]] = defaultdict(dict)
    for (topic, partition), each in held.items():
        if each.leader_id in client.cluster.brokers:
            assert each.leader_id is not None
            asked = by_leader[each.leader_id].setdefault(topic, TopicRequest(topic, []))
            asked.partition_indexes.append(partition)
    questions = {
        node_id: DescribeProducersRequest(list(topics.values()))
        for node_id, topics in by_leader.items()
    }
    answers = client.ask_all(questions, DescribeProducersResponse, timeout_ns=_ASK_NS)
    found: dict[PartitionKey, ProducerState | None] = {}
    for answer in answers.values():
        for told in answer.body.topics if answer.body is not None else ():
            for part in told.partitions:
                if not part.error_code:
                    key = PartitionKey(told.name, part.partition_index)
                    found[key] = _first_open(part.active_producers)
    return found


def _first_open(producers: Iterable[ProducerState]) -> ProducerState | None:
    open_ones = [each for each in producers if each.current_txn_start_offset >= 0]
    return min(open_ones, key=lambda each: each.current_txn_start_offset, default=None)


def _transactions(client: ClusterClient, producer_ids: list[int]) -> dict[int, _Transaction]:
    """Return what the coordinators tell of the transactions of producers."""
    listing = ListTransactionsRequest(producer_id_filters=producer_ids)
    questions = {each.id: listing for each in client.brokers}
    answers = client.ask_all(questions, ListTransactionsResponse, timeout_ns=_ASK_NS)
    listed = {
        node_id: {
            each.transactional_id: each.producer_id for each in answer.body.transaction_states
        }
        for node_id, answer in answers.items()
        if answer.body is not None and answer.body.transaction_states
    }
    found = {
        producer_id: _Transaction(name)
        for by_name in listed.values()
        for name, producer_id in by_name.items()
    }
    describing = {
        node_id: DescribeTransactionsRequest(list(by_name)) for node_id, by_name in listed.items()
    }
    described = client.ask_all(describing, DescribeTransactionsResponse, timeout_ns=_ASK_NS)
    for answer in described.values():
        for each in answer.body.transaction_states if answer.body is not None else ():
            if not each.error_code and each.transaction_start_time_ms > 0:
                found[each.producer_id] = _Transaction(
                    each.transactional_id, each.transaction_start_time_ms
                )
    return found
