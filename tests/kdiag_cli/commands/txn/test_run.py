import json
import shlex
from typing import Any

import pytest

from kdiag.wire.api.describe_transactions import DescribeTransactionsResponse, TransactionState
from kdiag.wire.api.list_transactions import ListTransactionsResponse
from kdiag.wire.api.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from kdiag.wire.error_code import CODE_BY_NAME
from programs.kdiag_program import Done, kdiag
from scripted_kafka.log_cluster import LogCluster
from scripted_kafka.transacting_cluster import transacting_cluster


def run(cluster: LogCluster, *arguments: str) -> Done:
    """Run the command."""
    return kdiag("txn", *arguments, "-b", cluster.bootstrap, "--timeout", "20s")


def document(done: Done) -> dict[str, Any]:
    """Return the document that was printed."""
    found: dict[str, Any] = json.loads(done.out)
    return found


def markers(error: str) -> WriteTxnMarkersResponse:
    """Return the answer to WriteTxnMarkers."""
    part = WritableTxnMarkerPartitionResult(1, CODE_BY_NAME[error])
    topic = WritableTxnMarkerTopicResult("orders", [part])
    return WriteTxnMarkersResponse([WritableTxnMarkerResult(7, [topic])])


@pytest.mark.thorough
def test_a_live_transaction_is_listed_and_not_ended() -> None:
    """What hangs is something else."""
    with transacting_cluster() as cluster:
        done = run(cluster)
        header, row = [line.split("\t") for line in done.out.splitlines()]
        told = dict(zip(header, row, strict=True))
        assert (told["TRANSACTIONAL-ID"], told["HANGS"], told["PARTITION"]) == (
            "writer",
            "no",
            "orders[1]",
        )
        assert run(cluster, "--hanging", "--no-headers").out == ""
        refused = run(cluster, "abort", "-t", "orders", "-p", "1", "--start-offset", "1", "--yes")
        assert (refused.code, refused.out) == (2, "")
        assert "transaction writer is alive (Ongoing)" in refused.err
        assert not cluster.brokers[2].asked("WriteTxnMarkers")


@pytest.mark.thorough
def test_what_hangs_is_ended_by_the_command_that_is_told() -> None:
    """Without --yes, nothing is sent."""
    with transacting_cluster("CompleteCommit") as cluster:
        cluster.brokers[2].on("WriteTxnMarkers", markers("NONE"))
        listed = run(cluster, "-o", "json")
        assert listed.code == 1
        (each,) = document(listed)["data"]
        assert (each["hanging"], each["why"]) == (True, "has none open for writer (CompleteCommit)")
        words = shlex.split(each["abort_command"])[1:]
        assert words[-5:] == ["-p", "1", "--start-offset", "1", "--yes"]

        shown = kdiag(*words[:-1])
        assert shown.out.startswith("would send to broker 2 (--yes sends it): WriteTxnMarkers\n")
        assert not cluster.brokers[2].asked("WriteTxnMarkers")
        ended = kdiag(*words)
        assert ended.out == "orders[1]: the transaction of producer id 7 is aborted\n"
        (sent,) = document(kdiag(*words, "-o", "json"))["data"]
        assert (sent["sent"], sent["error"]) == (True, None)


def test_a_refused_marker_is_an_error() -> None:
    """Kafka's, with the broker that gave it."""
    place = ("-t", "orders", "-p", "1", "--start-offset", "1", "--yes")
    with transacting_cluster("Empty") as cluster:
        cluster.brokers[2].on("WriteTxnMarkers", markers("CLUSTER_AUTHORIZATION_FAILED"))
        refused = run(cluster, "abort", *place)
        assert refused.code == 5
        assert "orders[1]: broker 2 refused the marker: CLUSTER_AUTHORIZATION_FAILED" in refused.err
        absent = run(cluster, "abort", *place[:-2], "9")
        assert absent.code == 1
        assert "no transaction is open at offset 9 of orders[1]" in absent.err


@pytest.mark.thorough
def test_who_cannot_be_judged_is_not_ended() -> None:
    """A broker that lists none may hide one."""
    with transacting_cluster() as cluster:
        cluster.brokers[1].on("ListTransactions", ListTransactionsResponse())
        loading = CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"]
        cluster.brokers[2].on("ListTransactions", ListTransactionsResponse(error_code=loading))
        listed = run(cluster, "-o", "json")
        (each,) = document(listed)["data"]
        assert (each["hanging"], each["transactional_id"], listed.code) == (None, None, 8)
        place = ("-t", "orders", "-p", "1", "--start-offset", "1", "--yes")
        refused = run(cluster, "abort", *place)
        assert refused.code == 2
        assert "it is not known whether producer id 7 is alive" in refused.err


@pytest.mark.thorough
def test_what_a_user_may_not_see_is_said() -> None:
    """An empty list is no proof; and no transaction of another topic is asked for."""
    with transacting_cluster() as cluster:
        denied = CODE_BY_NAME["TRANSACTIONAL_ID_AUTHORIZATION_FAILED"]
        refused = DescribeTransactionsResponse(transaction_states=[TransactionState(denied)])
        cluster.on("DescribeTransactions", refused)
        cluster.on("ListTransactions", ListTransactionsResponse())
        cluster.denied = {"__consumer_offsets", "orders"}
        for arguments in ([], ["--hanging"], ["--groups"]):
            done = run(cluster, *arguments, "-o", "json")
            assert (done.code, document(done)["data"]) == (8, [])
            transactions, topics = document(done)["warnings"]
            assert transactions.startswith("brokers list only the transactions that you may ")
            assert topics.startswith("brokers list only the topics that you may describe: ")
        named = run(cluster, "-t", "orders")
        assert "topic orders: TOPIC_AUTHORIZATION_FAILED" in named.err
        assert "only the topics" not in named.err
        absent = run(cluster, "abort", "-t", "orders", "-p", "1", "--start-offset", "9")
        assert absent.code == 8


def test_a_list_that_is_whole_is_enough() -> None:
    """Nothing is open, and nothing may be hidden."""
    with transacting_cluster("Empty") as cluster:
        cluster.logs = {key: log for key, log in cluster.logs.items() if key.partition == 0}
        done = run(cluster)
        assert (done.code, done.err) == (0, "")
