"""`kdiag find-coordinator NAME...` on scripted brokers."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdiag.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kdiag.wire.error_code import CODE_BY_NAME
from programs.kdiag_program import Done, kdiag
from scripted_kafka.coordinating_cluster import coordinating_cluster
from scripted_kafka.scripted_broker import HOLD
from scripted_kafka.scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Three brokers; the second coordinates everything."""
    with coordinating_cluster() as cluster:
        yield cluster


def find(cluster: ScriptedCluster, *arguments: str, stdin: bytes = b"") -> Done:
    """Run the command."""
    return kdiag("find-coordinator", "-b", cluster.bootstrap, *arguments, stdin=stdin)


def refusing(cluster: ScriptedCluster, error: str) -> None:
    """Have all brokers answer with an error."""
    refusal = Coordinator("orders", error_code=CODE_BY_NAME[error])
    cluster.on("FindCoordinator", FindCoordinatorResponse(coordinators=[refusal]))


def test_a_healthy_group_is_one_row_and_exit_code_0(cluster: ScriptedCluster) -> None:
    """Nothing on stderr."""
    done = find(cluster, "orders", "--no-headers")
    assert (done.code, done.err) == (0, "")
    cells = done.out.rstrip("\n").split("\t")
    address = f"127.0.0.1:{cluster.brokers[2].port}"
    assert cells[:6] == ["orders", "consumer", "Stable", "2", address, "yes"]


def test_json_is_one_document(cluster: ScriptedCluster) -> None:
    """Findings and warnings are there even if empty."""
    done = find(cluster, "orders", "-o", "json")
    document = json.loads(done.out)
    assert (document["schema"], document["command"]) == (1, "find-coordinator")
    assert (document["warnings"], document["findings"]) == ([], [])
    (only,) = document["data"]
    assert (only["key"], only["coordinator"]["rack"]) == ("orders", "rack-2")


def test_names_come_from_stdin_and_once_each(cluster: ScriptedCluster) -> None:
    """Blank lines are passed over."""
    done = find(cluster, "-", "orders", "--no-headers", stdin=b"a\n\norders\nb\n")
    assert [line.split("\t")[0] for line in done.out.splitlines()] == ["a", "orders", "b"]


@pytest.mark.thorough
def test_a_broker_that_is_down_makes_the_result_partial(cluster: ScriptedCluster) -> None:
    """Exit code 8, with the answers of the others."""
    third = cluster.brokers[3]
    bootstrap = f"127.0.0.1:{cluster.brokers[1].port}"
    third.stop()
    done = kdiag("find-coordinator", "-b", bootstrap, "orders", "-o", "json")
    document = json.loads(done.out)
    assert done.code == 8
    assert [each["id"] for each in document["findings"]] == ["KD3007"]
    assert document["data"][0]["coordinator"]["node_id"] == 2


def test_a_dead_coordinator_is_a_finding_with_its_fix(cluster: ScriptedCluster) -> None:
    """Partial counts more than the finding; both are told."""
    bootstrap = f"127.0.0.1:{cluster.brokers[1].port}"
    cluster.brokers[2].stop()
    done = kdiag("find-coordinator", "-b", bootstrap, "orders")
    assert done.code == 8
    assert "error KD3006: the coordinator of group orders, broker 2, cannot be used" in done.err
    assert "Start broker 2 if it is down" in done.err


@pytest.mark.parametrize(
    ("error", "code", "finding"),
    [
        ("GROUP_AUTHORIZATION_FAILED", 5, "KD4001"),
        ("UNKNOWN_SERVER_ERROR", 1, "KD3010"),
    ],
)
def test_what_the_brokers_refuse_decides_the_exit_code(
    cluster: ScriptedCluster, error: str, code: int, finding: str
) -> None:
    """No permission is 5; anything else is a finding."""
    refusing(cluster, error)
    done = find(cluster, "orders", "-o", "json")
    document = json.loads(done.out)
    assert done.code == code
    assert document["data"][0]["error"] == error
    assert [each["id"] for each in document["findings"]] == [finding]


@pytest.mark.thorough
def test_findings_below_the_bar_do_not_fail(cluster: ScriptedCluster) -> None:
    """`--fail-on` raises or lowers it."""
    refusal = Coordinator("orders", error_code=CODE_BY_NAME["COORDINATOR_NOT_AVAILABLE"])
    cluster.brokers[1].on("FindCoordinator", FindCoordinatorResponse(coordinators=[refusal]))
    assert find(cluster, "orders").code == 0
    assert find(cluster, "orders", "--fail-on", "warning").code == 1


def test_transactional_ids_are_asked_for_as_such(cluster: ScriptedCluster) -> None:
    """The internal topic is another."""
    done = find(cluster, "--txn", "tx", "-o", "json", "--timeout", "20s")
    (only,) = json.loads(done.out)["data"]
    assert only["key_type"] == "transaction"
    assert only["partition"]["topic"] == "__transaction_state"


@pytest.mark.thorough
def test_trace_prints_each_exchange_and_write_keeps_it(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    """Data stays on stdout; the kept file decodes to what was traced."""
    kept = tmp_path / "said.pcap"
    done = find(cluster, "orders", "--no-headers", "--trace", "--write", str(kept))
    assert done.out.startswith("orders\t")
    *traced, written = done.err.splitlines()
    assert written == f"kdiag: wrote {len(traced)} exchanges to {kept}: kdiag decode {kept}"
    assert sum(" FindCoordinator v6 " in line for line in traced) == 3
    decoded = kdiag("decode", kept)
    assert len(decoded.out.splitlines()) == len(traced)


def test_what_is_known_is_printed_though_the_time_is_up_for_a_broker(
    cluster: ScriptedCluster,
) -> None:
    """It hangs, which is no matter of its address."""
    cluster.brokers[3].on("FindCoordinator", HOLD)
    done = find(cluster, "orders", "-o", "json", "--timeout", "1s")
    (row,) = json.loads(done.out)["data"]
    assert row["coordinator"]["node_id"] == 2
    assert [each["node_id"] for each in row["answers"] if each["error"]] == [3]
    (finding,) = json.loads(done.out)["findings"]
    assert finding["id"] == "KD3007"
    assert "it hangs or is overloaded" in finding["fix"]
    assert done.code == 8
