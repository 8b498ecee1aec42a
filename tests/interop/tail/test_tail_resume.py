"""A tail goes on where it stopped, whatever happens to it and to the brokers at the same time.

`KDIAG_RESUME_ROUNDS=20` makes it as many rounds; `KDIAG_RESUME_SEED` repeats the same ones.
"""

import os
import shlex
import signal
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random, randrange

import pytest

from client_ends.steady_writer import SteadyWriter
from programs.kdiag_program import kdiag_apart, start_kdiag
from real_kafka import topic_maker
from real_kafka.kafka_cluster import KafkaCluster, free_ports
from real_kafka.releases import USUAL
from real_kafka.trouble_maker import TroubleMaker

pytestmark = pytest.mark.soak
ROUNDS = int(os.environ.get("KDIAG_RESUME_ROUNDS", "2"))
SEED = int(os.environ.get("KDIAG_RESUME_SEED", randrange(1 << 30)))
PARTITIONS = 6
LINE = "to go on from here: kdiag tail "
NOTICES_EARLY = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


@pytest.fixture
def cluster(get_kafka_jars: Callable[[str], Path], tmp_path: Path) -> Iterator[KafkaCluster]:
    """Three nodes."""
    get_kafka_jars(USUAL)
    with KafkaCluster(USUAL, tmp_path, ports=free_ports(3), properties=NOTICES_EARLY) as cluster:
        yield cluster


def run_for(seconds: float, number: int, arguments: list[str]) -> tuple[bytes, str]:
    """Run a tail, send it a signal, and return what it printed and what it told."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start_kdiag("tail", *arguments, **pipes) as process:
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=seconds)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    return out, err.decode()


def test_nothing_is_lost_and_nothing_comes_twice_over_many_resumes(cluster: KafkaCluster) -> None:
    """Each tail is the line that the one before has printed."""
    random = Random(SEED)
    topic_maker.create(cluster.bootstrap, "resumed", PARTITIONS, 3, {"min.insync.replicas": "2"})
    shape = ["-b", cluster.bootstrap, "-f", r"%p %o %s\n"]
    where = ["resumed", "-o", "beginning"]
    came: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
    told: list[str] = [f"KDIAG_RESUME_SEED={SEED}"]

    def keep(out: bytes) -> None:
        for line in out.splitlines():
            partition, offset, value = line.split(b" ")
            came[int(partition)].append((int(offset), value))

    with SteadyWriter(cluster.bootstrap, "resumed", PARTITIONS) as writer:
        with TroubleMaker(cluster, random) as trouble:
            for _ in range(ROUNDS):
                number = random.choice((signal.SIGINT, signal.SIGTERM))
                out, err = run_for(random.uniform(0.1, 9), number, [*where, *shape])
                keep(out)
                told += [" ".join(where), err]
                lines = [line for line in err.splitlines() if LINE in line]
                assert bool(lines) >= bool(out), told
                where = shlex.split(lines[-1].partition(LINE)[2]) if lines else where
        writer.finish()
    done = kdiag_apart("tail", *where, *shape, "-e")
    keep(done.out.encode())
    told += [" ".join(where), done.err, *trouble.made]
    assert done.code == 0, told
    for partition in range(PARTITIONS):
        offsets = [offset for offset, _ in came[partition]]
        assert offsets == list(range(len(offsets))), told
        assert [value for _, value in came[partition]] == writer.values(partition), told
