from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.transactions import judge
from kdiag.probe.transactions.search import find_open_transactions
from kdiag.wire.api.list_transactions import ListTransactionsResponse
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.log_cluster import LogCluster
from scripted_kafka.scripted_broker import CLOSE


def test_only_partitions_that_are_held_back_are_asked_about(
    cluster: LogCluster, client: ClusterClient
) -> None:
    """Their leaders twice, with the coordinators in between."""
    facts = find_open_transactions(client)
    (seen,) = facts.before
    assert (str(seen), seen.producer_id, seen.producer_epoch) == ("orders[1]", 7, 2)
    assert (seen.start_offset, seen.lso, seen.end, seen.coordinator_epoch) == (1, 1, 2, 4)
    assert facts.after == facts.before
    assert (facts.max_timeout_ms, facts.partition_count) == (900_000, 2)
    assert (facts.warnings, facts.silent) == ([], {})
    known = facts.known[7]
    assert (known.transactional_id, known.node_id, known.started_ms) == ("writer", 1, 500)
    (transaction,) = judge(facts)
    assert transaction.hangs is None
    assert not cluster.brokers[1].asked("DescribeProducers")
    assert len(cluster.brokers[2].asked("DescribeProducers")) == 2


def test_brokers_that_do_not_answer_are_named(cluster: LogCluster, client: ClusterClient) -> None:
    """By an error, or by nothing at all."""
    loading = CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"]
    cluster.brokers[1].on("ListTransactions", ListTransactionsResponse(error_code=loading))
    cluster.brokers[2].on("DescribeProducers", CLOSE)
    facts = find_open_transactions(client)
    assert facts.silent[1] == "COORDINATOR_LOAD_IN_PROGRESS"
    (warning,) = facts.warnings
    assert warning.startswith("broker 2 did not list its producers: ")


def test_topics_may_be_chosen(cluster: LogCluster, client: ClusterClient) -> None:
    """A topic that is not there is a warning; transactions elsewhere are left out."""
    cluster.add("clicks", 0).append(b"a")
    facts = find_open_transactions(client, ["clicks", "nothing"])
    assert facts.warnings == ["topic nothing: UNKNOWN_TOPIC_OR_PARTITION"]
    assert (facts.before, facts.known) == ([], {})
    assert facts.partition_count == 1


def test_a_partition_without_a_leader_is_told(cluster: LogCluster, client: ClusterClient) -> None:
    """Nobody knows what is open there."""
    cluster.add("clicks", 0, leader=-1)
    assert "clicks[0]: it has no leader" in find_open_transactions(client).warnings
