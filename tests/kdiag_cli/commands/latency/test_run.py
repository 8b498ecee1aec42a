"""`kdiag latency` on scripted brokers."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from delays.delaying_proxy import DelayingProxy
from kdiag.errors import install_command
from programs.kdiag_program import Done, kdiag, start_kdiag
from scripted_kafka.writable_cluster import WritableCluster
from tiers.attempts import measure_again

SHORT = ["--duration", "300ms", "--warm-up", "60ms", "--rate", "200/s"]
ATTEMPTS = 6
"""How often to measure, as the machine may be busy with other tests meanwhile."""


@pytest.fixture
def cluster() -> Iterator[WritableCluster]:
    """Return a broker with a topic of somebody's."""
    with WritableCluster(1) as cluster:
        cluster.add("orders", 0).append(b"a")
        yield cluster


def latency(cluster: WritableCluster, *arguments: object) -> Done:
    """Run the command."""
    return kdiag("latency", "-b", cluster.bootstrap, *SHORT, *arguments)


def rows(done: Done) -> dict[tuple[str, str | None], dict[str, Any]]:
    """Return what was measured, by kind and acks."""
    document = json.loads(done.out)
    assert (document["schema"], document["command"]) == (1, "latency")
    return {(each["kind"], each.get("acks")): each for each in document["data"]}


@pytest.mark.thorough
def test_a_table_has_a_line_for_each_kind(cluster: WritableCluster) -> None:
    """Exit code 0; topic and group are gone, and the topic of somebody is as it was."""
    done = latency(cluster)
    assert done.code == 0
    names = [line.split("\t")[0] for line in done.out.splitlines()]
    kinds = ["produce", "end-to-end", "end-to-end committed"]
    listed = [f"{kind} acks={acks}" for kind in kinds for acks in ("0", "1", "all")]
    assert names == ["WHAT", *listed[:6], "commit", *listed[6:]]
    assert "not enough samples: p95 takes 72, p99 takes 368, p99.9 takes 3688" in done.err
    assert {key.topic for key in cluster.logs} == {"orders"}
    assert (len(cluster.made), len(cluster.deleted_groups)) == (1, 1)


@pytest.mark.thorough
def test_json_is_one_document(cluster: WritableCluster) -> None:
    """With everything that was measured."""
    found = rows(latency(cluster, "-o", "json", "--sweep", "--min-bytes", "1", "--max-wait", "50"))
    assert found["produce", "all"]["count"] == 20
    assert found["end_to_end", "0"]["count"] == 20
    assert found["fetch_wait", None]["count"] > 0
    assert found["connection", None]["min_rtt_ms"] is not None


@pytest.mark.thorough
def test_a_topic_that_is_named_is_not_written_to(cluster: WritableCluster) -> None:
    """It is fetched from; with leave it is written to, and stays."""
    found = rows(latency(cluster, "--topic", "orders", "-o", "json", "--max-wait", "30"))
    assert found["fetch", None]["count"] == 60
    assert (cluster.made, cluster.acks, cluster.deleted_groups) == ([], [], [])
    found = rows(latency(cluster, "--topic", "orders", "--write-to-topic", "-o", "json"))
    assert found["end_to_end", "1"]["count"] == 20
    assert {key.topic for key in cluster.logs} == {"orders"}


@pytest.mark.thorough
def test_the_options_of_kafkas_own_tool_are_taken(cluster: WritableCluster) -> None:
    """KIP-1172 names them."""
    options = {"num-records": 40, "producer-acks": 1, "record-size": 200, "record-key-size": 8}
    options |= {"num-headers": 2, "record-header-key-size": 3, "record-header-size": -1}
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    found = rows(latency(cluster, *words, "-o", "json"))
    assert found["produce", "1"]["count"] == 40
    assert set(cluster.acks) == {1}


@pytest.mark.thorough
def test_what_brokers_refuse_decides_the_exit_code(cluster: WritableCluster) -> None:
    """Some of it is partial; all of it is what the error means."""
    cluster.refusals["OffsetCommit"] = "GROUP_AUTHORIZATION_FAILED"
    done = latency(cluster, "-o", "json")
    assert done.code == 8
    assert rows(done)["commit", None]["errors"].keys() == {"GROUP_AUTHORIZATION_FAILED"}
    cluster.refusals["Produce"] = "TOPIC_AUTHORIZATION_FAILED"
    assert latency(cluster, "--acks", "1", "--no-end-to-end").code == 5


@pytest.mark.thorough
def test_without_a_group_nothing_is_committed(cluster: WritableCluster) -> None:
    """The rest is measured, and a warning says why."""
    cluster.refusals["FindCoordinator"] = "GROUP_AUTHORIZATION_FAILED"
    done = latency(cluster, "-o", "json")
    assert done.code == 0
    assert "offsets are not committed: group _kdiag_probe_" in json.loads(done.out)["warnings"][0]
    assert rows(done)["end_to_end", "1"]["count"] == 20
    assert cluster.committed == []


def test_who_may_not_create_topics_is_told_so(cluster: WritableCluster) -> None:
    """Nothing was measured then."""
    cluster.refusals["CreateTopics"] = "TOPIC_AUTHORIZATION_FAILED"
    done = latency(cluster)
    assert (done.code, done.out) == (5, "")
    assert "not authorized to create it" in done.err


@pytest.mark.thorough
def test_a_page_is_written_on_request(cluster: WritableCluster, tmp_path: Path) -> None:
    """Beside what is printed."""
    file = tmp_path / "latency.html"
    assert latency(cluster, "--html", file, "--no-end-to-end").code == 0
    assert "produce acks=all" in file.read_text(encoding="utf-8")


def ids_of(done: Done) -> list[str]:
    """Return the findings of a run."""
    return [each["id"] for each in json.loads(done.out)["findings"]]


@pytest.mark.thorough
def test_requests_wait_for_others_only_if_somebody_wants_them_to(cluster: WritableCluster) -> None:
    """One in flight at a time, and a broker that is slow, make a queue: that is a finding."""
    options = ["--acks", "1", "--no-end-to-end", "-o", "json"]
    broker = cluster.brokers[1]
    with DelayingProxy(("127.0.0.1", broker.port), delay_s=0.02) as proxy:
        broker.port = proxy.port

        def require_no_finding() -> None:
            assert ids_of(latency(cluster, *options)) == []

        measure_again(require_no_finding, ATTEMPTS)  # a busy machine makes requests wait as well
        held = latency(cluster, *options, "-X", "max.in.flight.requests.per.connection=1")
    assert ids_of(held) == ["KD7003"]
    assert rows(held)["produce", "1"]["percentiles"][0]["parts_ms"]["client"] > 50


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["interrupt", "timeout"])
def test_an_early_end_tells_what_was_measured(cluster: WritableCluster, how: str) -> None:
    """Exit code 130 after Ctrl-C, 6 when the time is up; the topic is gone in both cases."""
    options = ["--duration", "60s", "--warm-up", "0", "-o", "json"]
    options += ["--timeout", "3s"] if how == "timeout" else []
    command = ["latency", "-b", cluster.bootstrap, *options]
    with start_kdiag(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        if how == "interrupt":
            cluster.brokers[1].wait_for("Produce", 30)
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == (130 if how == "interrupt" else 6)
    found = rows(Done(process.returncode, out.decode(), err.decode()))
    assert found["produce", "1"]["count"] > 0
    assert {key.topic for key in cluster.logs} == {"orders"}
    assert len(cluster.deleted_groups) == 1


def test_whoever_lacks_the_library_is_told_before_anything_is_made(
    cluster: WritableCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the line that installs it; wrong usage."""
    monkeypatch.setitem(sys.modules, "hdrh.histogram", None)
    done = latency(cluster)
    assert (done.code, cluster.made) == (2, [])
    assert install_command("latency") in done.err
