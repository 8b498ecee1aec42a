"""What `kdiag tail` takes of memory does not grow with what it reads."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from programs.kdiag_program import start_kdiag
from real_kafka import topic_maker
from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.releases import USUAL

pytestmark = pytest.mark.soak
PARTITIONS = 100
RECORD_BYTES = 10_000_000
MOST_KIB = 200_000
LARGE = {"message.max.bytes": "20000000"}


@pytest.fixture(scope="module")
def bootstrap(
    get_kafka_jars: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A node that takes large records."""
    get_kafka_jars(USUAL)
    folder = tmp_path_factory.mktemp("memory")
    with KafkaCluster(USUAL, folder, properties=LARGE) as cluster:
        yield cluster.bootstrap


@contextmanager
def following(*arguments: object) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the program, and interrupt it in the end."""
    with start_kdiag("tail", *arguments, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)


def skip_lines(stream: IO[bytes], count: int) -> None:
    """Read so many lines, however long."""
    while count:
        chunk = os.read(stream.fileno(), 1 << 20)
        assert chunk
        count -= chunk.count(b"\n")


def most_kib(process: "subprocess.Popen[bytes]") -> int:
    """Return the most memory that a process has had so far."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    (line,) = [each for each in status.splitlines() if each.startswith("VmHWM")]
    return int(line.split()[1])


def test_a_hundred_partitions_of_ten_megabyte_records_take_less_than_200_megabytes(
    bootstrap: str,
) -> None:
    """While they come, and when the last ten come first."""
    topic_maker.create(bootstrap, "large", PARTITIONS, config={"max.message.bytes": "20000000"})
    with following("-b", bootstrap, "large") as process:
        assert process.stdout is not None
        for partition in range(PARTITIONS):
            value = b"%d" % partition * (RECORD_BYTES // len(b"%d" % partition))
            topic_maker.produce(
                bootstrap, "large", [(None, value)], partition, message_max_bytes=20_000_000
            )
            skip_lines(process.stdout, 1)
        assert most_kib(process) < MOST_KIB
    assert process.returncode == 130
    with following("-b", bootstrap, "large") as process:
        assert process.stdout is not None
        skip_lines(process.stdout, 10)
        assert most_kib(process) < MOST_KIB
    with following("-b", bootstrap, "large", "-o", "beginning", "-J") as process:
        assert process.stdout is not None
        skip_lines(process.stdout, PARTITIONS)
        assert most_kib(process) < MOST_KIB
