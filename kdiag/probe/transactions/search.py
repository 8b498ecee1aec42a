"""Asks all brokers for open transactions.

1. ListOffsets twice: only where the last stable offset is before the high watermark is one open.
2. DescribeProducers to the leaders of those: whose it is, and from which offset on.
3. ListTransactions to all brokers, DescribeTransactions to those that know some.
4. DescribeProducers again: what is open still was so while the coordinators were asked.
5. Fetch, for those that are not new: how long earlier ones of the same producers took.

Source: KIP-664; Kafka's TransactionsCommand, which asks one broker at a time and all partitions.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.offsets import LATEST, look_up
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.visibility import hidden_topics, hidden_transactions
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.transactions import (
    LEAST_STALLED_MS,
    OPEN_STATES,
    KnownTransaction,
    OpenPartition,
    TransactionFacts,
)
from kdiag.probe.config_value import broker_setting
from kdiag.probe.groups.listing import cut
from kdiag.probe.transactions.earlier import earlier_transactions
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
from kdiag.wire.error_code import error_name

_PARTITIONS_PER_REQUEST: Final = 10_000
_MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
_Held = Mapping[PartitionKey, tuple[int, int, int]]
"""Leader, last stable offset and high watermark by partition."""


def find_open_transactions(client: ClusterClient, topics: Sequence[str] = ()) -> TransactionFacts:
    """Return what the brokers of a connected client tell of open transactions.

    Args:
        client: connected.
        topics: the topics to look at; all if there are none.

    Raises:
        KdiagError: if no broker answers for the topics.
    """
    warnings: list[str] = []
    client.refresh(topics or None)
    leaders = dict(_leaders(client, warnings))
    held = _held_back(client, leaders, warnings)
    before = list(_open_partitions(client, held, warnings))
    silent: dict[int, str] = {}
    known = known_transactions(client, {each.producer_id for each in before}, silent)
    at_ns = client.clock.epoch_ns()
    hidden = [hidden_transactions(client), None if topics else hidden_topics(client)]
    warnings += filter(None, hidden)
    again = {key: held[key] for each in before if (key := PartitionKey(*each.place)) in held}
    after = list(_open_partitions(client, again, []))
    return TransactionFacts(
        at_ns=at_ns,
        before=before,
        after=after,
        known=_about(known, before, topics),
        max_timeout_ms=broker_setting(client, _MAX_TIMEOUT) if before else None,
        silent=silent,
        warnings=warnings,
        partition_count=len(leaders),
        earlier_ms=earlier_transactions(client, _old(after, known, at_ns)),
    )


def _old(
    partitions: Sequence[OpenPartition], known: Mapping[int, KnownTransaction], at_ns: int
) -> list[OpenPartition]:
    """Return the partitions with a transaction that its producer may have left behind."""
    before_ms = at_ns // NS_PER_MS - LEAST_STALLED_MS
    return [
        each
        for each in partitions
        if each.producer_id in known and (known[each.producer_id].started_ms or 0) <= before_ms
    ]


def _about(
    known: Mapping[int, KnownTransaction],
    seen: Iterable[OpenPartition],
    topics: Collection[str],
) -> dict[int, KnownTransaction]:
    """Return the transactions that concern some topics, or producers that were seen there."""
    producer_ids = {each.producer_id for each in seen}
    return {
        producer_id: each
        for producer_id, each in known.items()
        if not topics
        or producer_id in producer_ids
        or any(topic in topics for topic, _ in each.places)
    }


def _leaders(client: ClusterClient, warnings: list[str]) -> Iterator[tuple[PartitionKey, int]]:
    """Yield the partitions of all topics with their leaders; those without one are a warning."""
    for name, topic in client.cluster.topics.items():
        if topic.error_code:
            warnings.append(f"topic {name}: {error_name(topic.error_code)}")
        for each in topic.partitions:
            if each.leader_id in client.cluster.brokers:
                yield PartitionKey(name, each.partition_index), each.leader_id
            else:
                warnings.append(f"{name}[{each.partition_index}]: it has no leader")


def _held_back(
    client: ClusterClient, leaders: Mapping[PartitionKey, int], warnings: list[str]
) -> _Held:
    """Return the partitions whose last stable offset is before the high watermark.

    The high watermark is asked for first: what is written meanwhile is no transaction.
    """
    held = {}
    for part in cut(list(leaders), _PARTITIONS_PER_REQUEST):
        asked = dict.fromkeys(part, LATEST)
        ends = look_up(client, asked, leaders, is_committed_only=False)
        stable = look_up(client, asked, leaders, is_committed_only=True)
        for key in part:
            error = ends[key].error or stable[key].error
            if error:
                warnings.append(f"{key}: {error}")
            elif stable[key].offset < ends[key].offset:
                held[key] = (leaders[key], stable[key].offset, ends[key].offset)
    return held


def _open_partitions(
    client: ClusterClient, held: _Held, warnings: list[str]
) -> Iterator[OpenPartition]:
    """Yield the open transactions in partitions, as their leaders tell."""
    by_leader: dict[int, dict[str, TopicRequest]] = defaultdict(dict)
    for key, (leader, _, _) in held.items():
        asked = by_leader[leader].setdefault(key.topic, TopicRequest(key.topic, []))
        asked.partition_indexes.append(key.partition)
    questions = {
        node_id: DescribeProducersRequest(list(topics.values()))
        for node_id, topics in by_leader.items()
    }
    answers = client.ask_all(questions, DescribeProducersResponse)
    for node_id, answer in answers.items():
        if answer.body is None:
            warnings.append(f"broker {node_id} did not list its producers: {answer.error}")
            continue
        for topic in answer.body.topics:
            for part in topic.partitions:
                key = PartitionKey(topic.name, part.partition_index)
                if part.error_code:
                    warnings.append(f"{key}: {error_name(part.error_code)}")
                yield from _of_partition(key, held[key], part.active_producers)


def _of_partition(
    key: PartitionKey, place: tuple[int, int, int], producers: Iterable[ProducerState]
) -> Iterator[OpenPartition]:
    leader_id, lso, end = place
    for each in producers:
        if each.current_txn_start_offset >= 0:
            yield OpenPartition(
                topic=key.topic,
                partition=key.partition,
                leader_id=leader_id,
                producer_id=each.producer_id,
                producer_epoch=each.producer_epoch,
                coordinator_epoch=each.coordinator_epoch,
                start_offset=each.current_txn_start_offset,
                last_ms=each.last_timestamp,
                lso=lso,
                end=end,
            )


def known_transactions(
    client: ClusterClient,
    producer_ids: Collection[int],
    silent: dict[int, str],
    limit_ns: int | None = None,
) -> dict[int, KnownTransaction]:
    """Return open transactions as coordinators know them, by producer id.

    Args:
        client: connected.
        producer_ids: of producers whose transactions are returned whether they are open or not.
        silent: receives the brokers that do not answer, with why.
        limit_ns: how long each question may take; None for the client's own limit.
    """
    listings = [ListTransactionsRequest(state_filters=list(OPEN_STATES))]
    if producer_ids:
        listings.append(ListTransactionsRequest(producer_id_filters=sorted(producer_ids)))
    names: dict[int, set[str]] = defaultdict(set)
    for listing in listings:
        questions = {each.id: listing for each in client.brokers}
        answers = client.ask_all(questions, ListTransactionsResponse, timeout_ns=limit_ns)
        for node_id, answer in answers.items():
            if answer.body is None:
                silent[node_id] = str(answer.error)
            elif answer.body.error_code:
                silent[node_id] = error_name(answer.body.error_code)
            else:
                names[node_id] |= {each.transactional_id for each in answer.body.transaction_states}
    describing = {
        node_id: DescribeTransactionsRequest(sorted(each))
        for node_id, each in names.items()
        if each
    }
    found: dict[int, KnownTransaction] = {}
    states = client.ask_all(describing, DescribeTransactionsResponse, timeout_ns=limit_ns)
    for node_id, described in states.items():
        if described.body is None:
            silent[node_id] = str(described.error)
            continue
        for state in described.body.transaction_states:
            if state.error_code:
                silent[node_id] = f"{state.transactional_id}: {error_name(state.error_code)}"
                continue
            started_ms = state.transaction_start_time_ms
            found[state.producer_id] = KnownTransaction(
                transactional_id=state.transactional_id,
                node_id=node_id,
                state=state.transaction_state,
                producer_id=state.producer_id,
                producer_epoch=state.producer_epoch,
                started_ms=started_ms if started_ms > 0 else None,
                timeout_ms=state.transaction_timeout_ms,
                places=frozenset(
                    (topic.topic, number) for topic in state.topics for number in topic.partitions
                ),
            )
    return found
