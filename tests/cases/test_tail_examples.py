"""The examples in the help of `kdiag tail` run as they stand, against brokers with logs."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdiag.clock import NS_PER_MS, SystemClock
from kdiag.wire.records.record import Record
from kdiag_cli.commands.help.topics import topic_text
from kdiag_cli.commands.tail.command import EXAMPLES
from programs.kdiag_program import kdiag
from scripted_kafka.joinable_cluster import JoinableCluster
from scripted_kafka.log_cluster import LogCluster

ENDING = frozenset({"-e", "-n", "--until"})
OFFSET_KEY = bytes.fromhex("0001 0001 67 0001 74 00000002")


@pytest.fixture(scope="module")
def cluster() -> Iterator[LogCluster]:
    """The topics that the examples name, with records of now."""
    now_ms = SystemClock().epoch_ns() // NS_PER_MS
    with JoinableCluster() as cluster:
        cluster.give([0, 1])
        for topic, partitions in [("orders", 2), ("orders-eu", 1), ("payments", 8)]:
            for partition in range(partitions):
                log = cluster.add(topic, partition)
                log.append(b'{"refused": true}', b"\xff", timestamp=now_ms)
        log = cluster.add("__consumer_offsets", 0)
        log._add([Record(0, 1000, OFFSET_KEY, None)])
        yield cluster


def example_arguments() -> list[list[str]]:
    """Return the arguments of each example in the help and in its topic, up to a pipe."""
    found: list[list[str]] = []
    topic = (topic_text("tail") or "").replace("\\\n", " ")
    for line in [*EXAMPLES.splitlines(), *topic.splitlines()]:
        if line.strip().startswith("kdiag tail -b"):
            words = shlex.split(line)
            words = words[: words.index("|")] if "|" in words else words
            if words[2:] not in found:
                found.append(words[2:])
    return found


@pytest.mark.parametrize("arguments", example_arguments(), ids=" ".join)
def test_the_examples_run(
    arguments: list[str], cluster: LogCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that would follow the topic are made to end; the others stand as they are."""
    monkeypatch.chdir(tmp_path)
    assert arguments[:2] == ["-b", "localhost:9092"]
    ends = [] if ENDING & set(arguments) else ["-e"]

    done = kdiag("tail", "-b", cluster.bootstrap, *arguments[2:], *ends)

    assert done.code == 0
    assert "-g" in arguments or done.err == ""  # a member tells what it is given
    if "-J" in arguments:
        assert all(json.loads(line)["schema"] == 1 for line in done.out.splitlines())


def test_there_are_examples() -> None:
    """The test above has something to test."""
    assert len(example_arguments()) >= 12
