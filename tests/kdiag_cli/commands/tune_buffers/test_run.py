"""`kdiag tune-buffers -b` on scripted brokers, over loopback."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client_ends.client_peers import closed_port
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseBroker
from programs.kdiag_program import Done, kdiag, start_kdiag
from scripted_kafka.loaded_cluster import LoadedCluster

QUICK = ("--prove", "--sizes", "32k,auto", "--rounds", "1", "--seconds", "0.1")


@pytest.fixture
def cluster() -> Iterator[LoadedCluster]:
    """Yield a broker that takes a load."""
    with LoadedCluster() as brokers:
        yield brokers


def tune(cluster: LoadedCluster, *arguments: str) -> Done:
    """Run the command."""
    return kdiag("tune-buffers", "-b", cluster.bootstrap, *arguments)


def document(done: Done) -> Any:
    """Return what was printed as JSON, and the one broker in it."""
    told = json.loads(done.out)
    (broker,) = told["data"]
    return told, broker


def test_on_loopback_it_says_that_buffers_make_no_difference(cluster: LoadedCluster) -> None:
    """It proves nothing there and makes no topic."""
    done = tune(cluster, "-o", "json")
    told, broker = document(done)

    assert done.code == 0
    assert (told["schema"], told["command"]) == (1, "tune-buffers")
    (finding,) = told["findings"]
    assert finding["id"] == "KD6016"
    assert "on so short a path buffers make no difference" in finding["title"]
    assert broker["runs"] == []
    assert broker["path"]["rtt_ms"] < 1
    assert cluster.produced == []
    assert cluster.brokers[1].asked("CreateTopics") == []


@pytest.mark.thorough
def test_it_proves_what_helps_on_a_topic_of_its_own(cluster: LoadedCluster) -> None:
    """Each size in both directions; afterwards the topic is gone."""
    done = tune(cluster, *QUICK, "-o", "json")
    _, broker = document(done)

    assert done.code == 0
    assert [(e["direction"], e["load"], e["send_buffer_bytes"]) for e in broker["runs"]] == [
        ("produce", "full", 32768),
        ("produce", "full", -1),
        ("produce", "client_defaults", -1),
        ("fetch", "full", 32768),
        ("fetch", "full", -1),
        ("fetch", "client_defaults", -1),
    ]
    assert all(each["mb_per_s"] > 0 for each in broker["runs"])
    assert broker["recommendation"]["is_proven"]
    assert {each[0].startswith("_kdiag_probe_") for each in cluster.produced} == {True}
    assert cluster.topics == []


def test_people_get_tables_and_lines_to_paste(cluster: LoadedCluster, tmp_path: Path) -> None:
    """Findings go to stderr; a page can be had as well."""
    page = tmp_path / "page.html"
    done = tune(cluster, "--no-prove", "--rtt", "20ms", "--html", str(page))

    assert done.code == 0
    assert "socket.send.buffer.bytes=-1" in done.out
    assert "warning KD6011: broker 1: its send buffer holds fetches down to 7.7 MB/s" in done.err
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.thorough
def test_a_topic_of_a_user_is_only_fetched_from(cluster: LoadedCluster) -> None:
    """Unless it may be written to."""
    cluster.add_topic("orders", [1])
    reading = ("--topic", "orders", *QUICK, "-o", "json")
    _, read = document(tune(cluster, *reading))
    produced = list(cluster.produced)
    _, written = document(tune(cluster, *reading, "--write-to-topic"))

    assert {each["direction"] for each in read["runs"]} == {"fetch"}
    assert produced == []
    assert {each["direction"] for each in written["runs"]} == {"produce", "fetch"}
    assert {each[0] for each in cluster.produced} == {"orders"}
    assert cluster.brokers[1].asked("CreateTopics") == []


def test_without_a_topic_nothing_can_be_proven_by_reading_alone(cluster: LoadedCluster) -> None:
    """It says so and tells the rest."""
    done = tune(cluster, *QUICK, "--read-only")

    assert done.code == 0
    assert "no proof: --read-only needs a --topic with records" in done.err
    assert cluster.produced == []


def test_who_may_not_create_topics_gets_the_rest(cluster: LoadedCluster) -> None:
    """The exit code is that of a right that is missing."""
    cluster.errors["CreateTopics"] = "TOPIC_AUTHORIZATION_FAILED"
    done = tune(cluster, *QUICK, "-o", "json")
    told, broker = document(done)

    assert done.code == 5
    assert "not authorized to create it" in told["warnings"][0]
    assert broker["path"]["mss"] > 0


def test_a_broker_that_cannot_be_reached_makes_the_result_partial(cluster: LoadedCluster) -> None:
    """With a finding that says why."""
    nodes = [
        MetadataResponseBroker(1, "127.0.0.1", cluster.brokers[1].port),
        MetadataResponseBroker(2, "127.0.0.1", closed_port()),
    ]
    cluster.on("Metadata", MetadataResponse(brokers=nodes, controller_id=1))
    done = tune(cluster, "-o", "json")
    told = json.loads(done.out)

    assert done.code == 8
    assert [each["id"] for each in told["findings"]] == ["KD1101", "KD6016"]
    assert "connection refused" in told["data"][1]["error"]


@pytest.mark.thorough
def test_the_time_is_kept_and_what_was_measured_told(cluster: LoadedCluster) -> None:
    """The topic is gone then as well."""
    done = tune(cluster, *QUICK, "--rounds", "100", "--timeout", "2s", "-o", "json")
    told, broker = document(done)

    assert done.code == 6
    assert told["warnings"] == ["fewer runs than planned: the time was up (--timeout)"]
    assert broker["runs"]
    assert cluster.topics == []


@pytest.mark.thorough
def test_ctrl_c_removes_the_topic_and_tells_what_was_measured(cluster: LoadedCluster) -> None:
    """As a shell does it, in the middle of a run."""
    arguments = ("tune-buffers", "-b", cluster.bootstrap, *QUICK, "--rounds", "100", "-o", "json")
    with start_kdiag(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        cluster.brokers[1].wait_for("Fetch", 5)
        program.send_signal(signal.SIGINT)
        out, _ = program.communicate(timeout=60)

    assert program.returncode == 130
    told = json.loads(out)
    assert told["warnings"] == ["interrupted: fewer runs than planned"]
    assert told["data"][0]["runs"]
    assert told["findings"][0]["id"] == "KD6016"
    assert told["data"][0]["recommendation"]["send_buffer_bytes"] == -1
    assert cluster.topics == []
