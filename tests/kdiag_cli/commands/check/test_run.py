"""`kdiag check` on scripted brokers."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from client_ends.client_peers import closed_port, silent_server
from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.describe_quorum import DescribeQuorumResponse
from programs.kdiag_program import Done, kdiag
from scripted_kafka.coordinating_cluster import coordinating_cluster
from scripted_kafka.scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Two brokers that answer everything."""
    with coordinating_cluster(2) as cluster:
        cluster.on("DescribeCluster", DescribeClusterResponse(cluster_authorized_operations=256))
        cluster.on("DescribeQuorum", DescribeQuorumResponse())
        for topic in cluster.topics:
            topic.partitions[0].replica_nodes = [2, 1]
        yield cluster


def check(cluster: ScriptedCluster, *arguments: str) -> Done:
    """Run the command."""
    return kdiag("check", "-b", cluster.bootstrap, *arguments)


def test_a_healthy_cluster_is_exit_code_0(cluster: ScriptedCluster) -> None:
    """Nothing on stderr."""
    done = check(cluster, "--no-headers")

    assert (done.code, done.err) == (0, "")
    assert {line.split("\t")[0] for line in done.out.splitlines()} == {"ok"}
    assert "broker 2 at 127.0.0.1" in done.out


def test_json_is_one_document_with_a_row_for_each_stage(cluster: ScriptedCluster) -> None:
    """In the shape that all live commands have."""
    document = json.loads(check(cluster, "-o", "json").out)

    assert (document["schema"], document["command"]) == (1, "check")
    assert (document["warnings"], document["findings"]) == ([], [])
    assert document["data"][-1]["stage"] == "Coordinator"


def test_an_unknown_topic_is_a_finding_and_exit_code_1(cluster: ScriptedCluster) -> None:
    """The finding is told on stderr, with what to do."""
    done = check(cluster, "-t", "nosuch")

    assert done.code == 1
    assert "kdiag: error KD2005: the topic nosuch does not exist\n" in done.err


def test_where_nobody_listens_the_document_is_there_nevertheless() -> None:
    """With the finding, for whoever reads it as JSON."""
    done = kdiag("check", "-b", f"127.0.0.1:{closed_port()}", "-o", "json")

    assert done.code == 3
    document = json.loads(done.out)
    assert [each["id"] for each in document["findings"]] == ["KD1101"]
    assert [each["status"] for each in document["data"][:2]] == ["ok", "error"]


def test_the_fault_is_named_before_the_time_is_up() -> None:
    """Whoever has half a second is told what was waited for."""
    with silent_server() as port:
        done = kdiag("check", "-b", f"127.0.0.1:{port}", "--quick", "--timeout", "500ms")

    assert done.code == 3
    assert "KD1402" in done.err
    assert "within 0." in done.out


def test_patience_can_be_configured() -> None:
    """By Kafka's own setting."""
    with silent_server() as port:
        patience = "socket.connection.setup.timeout.ms=100"
        done = kdiag("check", "-b", f"127.0.0.1:{port}", "-X", patience)

    assert "within 0.1" in done.out


def test_a_warning_fails_where_it_is_wanted_to(cluster: ScriptedCluster) -> None:
    """Here a bootstrap server that is off."""
    servers = f"127.0.0.1:{closed_port()},{cluster.bootstrap}"
    tolerant = kdiag("check", "-b", servers)
    strict = kdiag("check", "-b", servers, "--fail-on", "warning")

    assert (tolerant.code, strict.code) == (0, 1)
    assert "kdiag: warning KD1101: nothing listens on" in tolerant.err


def test_warnings_of_the_settings_are_told(cluster: ScriptedCluster) -> None:
    """In the document and on stderr."""
    done = check(cluster, "--quick", "-o", "json", "-X", "reqest.timeout.ms=1")

    assert "did you mean request.timeout.ms?" in json.loads(done.out)["warnings"][0]
    assert "did you mean request.timeout.ms?" in done.err


def test_what_was_said_can_be_printed_and_kept(cluster: ScriptedCluster, tmp_path: Path) -> None:
    """As by every live command."""
    done = check(cluster, "--quick", "--trace", "--write", str(tmp_path / "said.pcap"))

    assert "ApiVersions v4" in done.err
    assert (tmp_path / "said.pcap").stat().st_size > 24
