"""A lab that is killed again and again while librdkafka writes, reads and commits.

Each round starts the lab on the same folder and port, and kills it (SIGKILL) once a few records
more were acknowledged, at a moment that nobody chose: after an answer, the next requests are on
their way. `KDIAG_EXHAUSTIVE=1` does fifty rounds.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

import pytest

from lab_ends.several.number_clients import (
    PARTITIONS,
    TOPIC,
    CommittingReader,
    NumberWriter,
    check_numbers,
)
from programs.child_program import ChildProgram
from programs.kdiag_program import start_kdiag
from real_kafka.kafka_cluster import free_port_numbers
from tiers.sampling import IS_EXHAUSTIVE, SEED

pytestmark = pytest.mark.soak

ROUNDS: Final = 50 if IS_EXHAUSTIVE else 3


@contextmanager
def running_lab(folder: Path, port: int) -> Iterator[ChildProgram]:
    """Have a lab on a folder until the block ends, which kills it."""
    facts = ("--data", folder, "--port", port, "-t", f"{TOPIC}:{PARTITIONS}")
    faster = ("-X", "group.initial.rebalance.delay.ms=0")
    with start_kdiag("lab", *facts, *faster, stdout=subprocess.PIPE) as lab:
        assert lab.stdout is not None
        assert b"bootstrap.servers" in lab.stdout.readline()
        yield lab
        lab.kill()


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    """No record, no commit; and nothing of an idempotent producer is there twice."""
    random = Random(f"{SEED} kill")
    (port,) = free_port_numbers(1)
    bootstrap = f"127.0.0.1:{port}"
    with (
        NumberWriter(bootstrap, is_idempotent=True) as once,
        NumberWriter(bootstrap, is_idempotent=False) as again,
    ):
        reader = CommittingReader(bootstrap)
        for _ in range(ROUNDS):
            with running_lab(tmp_path, port):
                assert reader.forgotten() == {}
                wanted = len(once.acked) + random.randrange(1, 3000)
                reader.commit_more(2)
                while len(once.acked) < wanted:
                    reader.consumer.poll(0.01)
        with running_lab(tmp_path, port):
            for each in (once, again):
                each.finish()
            assert reader.forgotten() == {}
            reader.consumer.close()
            check_numbers(bootstrap, once, again)
