"""`kdiag decode --live` beside a real broker: what is said on the wire is printed as it is said."""

import json
import os
import selectors
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from client_ends.broker_socket import BrokerSocket
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from programs.kdiag_program import start_kdiag
from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.releases import NEWEST
from recordings.expected_exchanges import decode_lines

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.geteuid() != 0, reason="capturing needs root"),
]
TRIES = 100


def first_line(
    kdiag: "subprocess.Popen[bytes]", broker: BrokerSocket, address: str
) -> dict[str, Any]:
    """Ask the broker again and again until kdiag, which is starting, has seen it.

    Others may talk to brokers of theirs on this machine meanwhile.
    """
    assert kdiag.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(kdiag.stdout, selectors.EVENT_READ)
        for _ in range(TRIES):
            broker.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)
            if selector.select(0.2):
                line: dict[str, Any] = json.loads(kdiag.stdout.readline())
                if line["broker"] == address:
                    return line
    raise AssertionError("kdiag has printed nothing")


def test_live_exchanges_are_printed_at_once_and_kept(
    get_kafka_jars: Callable[[str], Path], tmp_path: Path
) -> None:
    """A line comes while both sides still talk; Ctrl-C ends with 130; the kept file reads alike."""
    get_kafka_jars(NEWEST)
    kept = tmp_path / "kept.pcap"
    options = ["--live", "lo", "--api", "ApiVersions", "-o", "jsonl", "--write", str(kept)]
    with (
        KafkaCluster(NEWEST, tmp_path) as cluster,
        start_kdiag("decode", *options, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as kdiag,
        BrokerSocket(cluster.bootstrap) as broker,
    ):
        address = cluster.bootstrap.replace("localhost", "127.0.0.1")
        line = first_line(kdiag, broker, address)
        kdiag.send_signal(signal.SIGINT)
        assert kdiag.stdout is not None
        assert kdiag.stderr is not None
        rest, said = kdiag.stdout.read(), kdiag.stderr.read()

    assert (line["api"], line["status"]) == ("ApiVersions", "ok")
    assert kdiag.returncode == 130
    assert b"interrupted; this was read so far" in said
    printed = [line, *map(json.loads, rest.splitlines())]
    again = map(json.loads, decode_lines(kept).splitlines())
    assert {each["time"] for each in printed if _is_of(each, address)} == {
        each["time"] for each in again if _is_of(each, address) and each["api"] == line["api"]
    }


def _is_of(line: dict[str, Any], address: str) -> bool:
    return bool(line["kind"] == "exchange" and line["broker"] == address)


@pytest.mark.real
@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump compiles filters")
def test_all_interfaces_are_watched_through_a_filter(
    get_kafka_jars: Callable[[str], Path], tmp_path: Path
) -> None:
    """Every exchange that passes it is there once, though loopback shows each packet twice."""
    get_kafka_jars(NEWEST)
    with KafkaCluster(NEWEST, tmp_path) as cluster:
        port = cluster.bootstrap.rpartition(":")[2]
        options = ["--live", "any", "--filter", f"tcp port {port}", "--api", "ApiVersions"]
        with (
            start_kdiag(
                "decode", *options, "-o", "jsonl", stdout=subprocess.PIPE, stderr=subprocess.PIPE
            ) as kdiag,
            BrokerSocket(cluster.bootstrap) as broker,
        ):
            line = first_line(kdiag, broker, f"127.0.0.1:{port}")
            kdiag.send_signal(signal.SIGINT)
            assert kdiag.stdout is not None
            rest = kdiag.stdout.read()

    assert (line["api"], line["status"]) == ("ApiVersions", "ok")
    documents = [line, *map(json.loads, rest.splitlines())]
    assert {each["broker"].rpartition(":")[2] for each in documents} == {port}
    asked = [each["correlation_id"] for each in documents if each["kind"] == "exchange"]
    assert len(set(asked)) == len(asked)


def test_a_reader_that_has_gone_ends_it() -> None:
    """Also where nothing is said that it would have to print."""
    pipe = subprocess.PIPE
    command = ["decode", "--live", "lo", "--api", "ControlledShutdown"]
    with start_kdiag(*command, stdout=pipe, stderr=pipe) as kdiag:
        assert kdiag.stdout is not None
        kdiag.stdout.close()
        assert kdiag.wait(20) == 0
        assert kdiag.stderr is not None
        assert kdiag.stderr.read() == b""
