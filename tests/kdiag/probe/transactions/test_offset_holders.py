from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.probe.transactions.held_groups import groups_held_back
from kdiag.probe.transactions.offset_holders import find_offset_holders
from kdiag.wire.api.describe_transactions import TopicData, TransactionState
from kdiag.wire.api.list_transactions import ListTransactionsResponse
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.group_cluster import GroupCluster

OFFSETS = "__consumer_offsets"


def transaction(
    name: str, producer_id: int, topic: str = OFFSETS, state: str = "Ongoing"
) -> TransactionState:
    """Return a transaction that is open since half a second after 1970 in a partition 0."""
    return TransactionState(0, name, state, 60_000, 500, producer_id, 0, [TopicData(topic, [0])])


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    """A group whose offset of orders[0] is in a transaction, and one without."""
    with GroupCluster(2) as cluster:
        cluster.add("orders", 0).append(b"a", b"b")
        cluster.add(OFFSETS, 0)
        cluster.add_group("txg", {("orders", 0): 1})
        cluster.add_group("other", {("orders", 0): 2})
        cluster.pending = {("txg", "orders", 0)}
        yield cluster


def said(client: ClusterClient) -> str:
    """Return what is said of the group."""
    (pending,) = find_offset_holders(client, {"txg": ["orders[0]"]})
    return str(pending)


def test_the_transaction_that_holds_a_group_is_named(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """It is open, and has the partition that keeps the group: others have not."""
    cluster.hold_offsets(
        transaction("tx-a", 7),
        transaction("tx-b", 8, "orders"),
        transaction("tx-c", 9, state="CompleteCommit"),
    )
    text = said(client)
    begin = "group txg: its offset of orders[0] is in transaction tx-a (producer 7), open for "
    assert text.startswith(begin)
    age_s = int(text.removeprefix(begin).removesuffix(" s"))
    assert age_s == pytest.approx(client.clock.epoch_ns() // 10**9, abs=60)


def test_of_several_transactions_any_may_hold_it(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """A partition keeps many groups."""
    cluster.hold_offsets(transaction("tx-a", 7), transaction("tx-b", 8))
    text = said(client)
    assert "orders[0] is in one of these transactions: tx-a (producer 7, open for " in text
    assert ", tx-b (producer 8, open for " in text


def test_a_transaction_that_brokers_do_not_show_is_not_guessed(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """What would help is said: a right, or the broker that did not answer."""
    cluster.hold_offsets()
    assert said(client) == (
        "group txg: its offset of orders[0] is in an open transaction; which one is not known: it "
        "takes DESCRIBE on its transactional id and on __consumer_offsets"
    )
    loading = CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"]
    cluster.brokers[2].on("ListTransactions", ListTransactionsResponse(error_code=loading))
    assert said(client).endswith("is not known: broker 2: COORDINATOR_LOAD_IN_PROGRESS")


def test_such_a_group_waits_for_the_partition_that_keeps_it(client: ClusterClient) -> None:
    """That is where the transaction is, for this group."""
    held = groups_held_back(client, [])
    assert held == ({(OFFSETS, 0): ["txg"]}, [])
