"""Measures the lab beside franz-go's kfake, librdkafka's mock cluster and Kafka, in turns.

    PYTHONPATH=tests/rig python tests/bench/lab/servers.py [--rounds 3] [--megabytes 200]

Each starts anew in each round, with one broker, and is asked the same by the same program:

    start       from the command until ApiVersions is answered, with a topic
    requests    Metadata of one topic, 32 at once on one connection
    produce     batches of 100 records of 10 kB, acks=all, not compressed, to one partition
    fetch       responses of up to 1 MiB from the beginning of the log, one after another

Prints a Markdown table of medians: seconds, requests/s and MB/s, the CPU time of the server for
them, the most memory that it held; then the lab's ratios to each. The mock keeps 5 MB of a
partition alone, so that it has less to hold. kfake is built once, below `.foreign/` (Go).
"""

import argparse
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Final, Self

from confluent_kafka import Consumer, TopicPartition

from foreign_clients.programs import build_go
from kdiag.wire.api.api_versions import ApiVersionsRequest
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic
from kdiag.wire.api.metadata import MetadataRequest, MetadataRequestTopic
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import encode
from kdiag.wire.header import request_header_bytes
from kdiag.wire.schema import Struct, info_of
from made_values.log_maker import produced
from programs.kdiag_program import start_kdiag
from real_kafka import kafka_jars
from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.releases import USUAL
from real_kafka.topic_maker import create

TOPIC: Final = "bench"
REQUESTS: Final = 20_000
AT_ONCE: Final = 32
FETCHES: Final = 300
FETCH_BYTES: Final = 1 << 20
BATCH_COUNT: Final = 100
RECORD: Final = bytes(range(250)) * 40
MEGABYTE: Final = 1_000_000
CLOCK_TICKS: Final = os.sysconf("SC_CLK_TCK")
SIZE: Final = struct.Struct(">i")
MOCK: Final = """
import sys
from confluent_kafka import Producer
mock = Producer({"test.mock.num.brokers": 1, "log_level": 0})
(broker,) = mock.list_topics().brokers.values()
print(f"{broker.host}:{broker.port}", flush=True)
sys.stdin.read()
"""

Server = Callable[[Path], AbstractContextManager[str]]
"""Starts on a folder; gives its bootstrap address while the block lasts."""


@contextmanager
def lab(folder: Path) -> Iterator[str]:
    """Start the lab."""
    pipe = subprocess.PIPE
    facts = ("--data", folder, "-t", TOPIC)
    with start_kdiag("lab", *facts, stdout=pipe, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        yield server.stdout.readline().decode().strip().partition("=")[2]
        server.terminate()


@contextmanager
def program(command: list[str]) -> Iterator[str]:
    """Start a program that prints its address and ends with its standard input."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()


@contextmanager
def kafka(folder: Path) -> Iterator[str]:
    """Start Kafka."""
    with KafkaCluster(USUAL, folder) as cluster:
        create(cluster.bootstrap, TOPIC)
        yield cluster.bootstrap


SERVERS: Final[Mapping[str, Server]] = {
    "kdiag lab": lab,
    "kfake": lambda _: program([str(build_go("kfake", Path(__file__).parent / "kfake")), TOPIC]),
    "librdkafka's mock": lambda _: program([sys.executable, "-c", MOCK]),
    f"Kafka {USUAL}": kafka,
}


class Connection:
    """A connection to a server that counts what it answers."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), 60)
        self._buffer = bytearray(1 << 20)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._socket.close()

    def ask(self, request: Struct, version: int, count: int, at_once: int) -> int:
        """Send a request many times, so many at once; return the bytes of all responses."""
        key = info_of(type(request)).api_key
        assert key is not None
        frame = request_header_bytes(API_BY_KEY[key], version, 1, "bench")
        frame += encode(request, version)
        frame = SIZE.pack(len(frame)) + frame
        found_bytes = 0
        for _ in range(count // at_once):
            self._socket.sendall(frame * at_once)
            found_bytes += sum(self._read() for _ in range(at_once))
        return found_bytes

    def _read(self) -> int:
        (size,) = SIZE.unpack(self._socket.recv(4, socket.MSG_WAITALL))
        left = size
        while left:
            got = self._socket.recv_into(self._buffer, min(left, len(self._buffer)))
            assert got
            left -= got
        return int(size)


def children() -> Iterator[Path]:
    """Yield what `/proc` has of this process's children."""
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            yield Path("/proc", pid)


def server_cpu_s() -> float:
    """Return the CPU time of the server so far."""
    stats = [(each / "stat").read_text().rpartition(")")[2].split() for each in children()]
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / CLOCK_TICKS


def server_peak_mb() -> float:
    """Return the most memory that the server held."""
    lines = [line for each in children() for line in (each / "status").open()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def first_offset(bootstrap: str, end: int) -> int:
    """Return where the log begins, once it is seen to end where it should."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench", "log_level": 0})
    consumer.list_topics(TOPIC, 30)  # else it may not know the partition yet
    offset, found_end = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), 30)
    consumer.close()
    assert found_end == end, found_end
    return int(offset)


def produce_request() -> ProduceRequest:
    """Return a produce of a batch of a megabyte."""
    data = PartitionProduceData(records=produced(*[RECORD] * BATCH_COUNT))
    topic = TopicProduceData(name=TOPIC, partition_data=[data])
    return ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])


def fetch_request(offset: int) -> FetchRequest:
    """Return a fetch of up to a mebibyte."""
    part = FetchPartition(fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
    topic = FetchTopic(topic=TOPIC, partitions=[part])
    return FetchRequest(max_wait_ms=100, max_bytes=FETCH_BYTES, topics=[topic])


def measure(server: Server, megabytes: int) -> dict[str, float]:
    """Start a server, ask it everything, and return what that took."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        start_s = perf_counter()
        with server(Path(folder)) as bootstrap, Connection(bootstrap) as connection:
            connection.ask(ApiVersionsRequest(), 0, 1, 1)
            found["start, s"] = perf_counter() - start_s
            metadata = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
            with timed(found, "requests/s", "requests, CPU us", REQUESTS, 1e6 / REQUESTS):
                connection.ask(metadata, 4, REQUESTS, AT_ONCE)
            with timed(found, "produce MB/s", "produce, CPU s/GB", megabytes, 1e3 / megabytes):
                connection.ask(produce_request(), 7, megabytes, 4)
            fetch = fetch_request(first_offset(bootstrap, megabytes * BATCH_COUNT))
            fetched_mb = connection.ask(fetch, 4, 1, 1) * FETCHES / MEGABYTE
            assert fetched_mb > FETCHES / 2
            with timed(found, "fetch MB/s", "fetch, CPU s/GB", fetched_mb, 1e3 / fetched_mb):
                connection.ask(fetch, 4, FETCHES, 1)
            found["memory, MB"] = server_peak_mb()
    return found


@contextmanager
def timed(
    found: dict[str, float], rate: str, cost: str, amount: float, cost_factor: float
) -> Iterator[None]:
    """Note how fast the block is, and what CPU time the server takes for it."""
    cpu_s, start_s = server_cpu_s(), perf_counter()
    yield
    found[rate] = amount / (perf_counter() - start_s)
    found[cost] = (server_cpu_s() - cpu_s) * cost_factor


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=200)
    arguments = parser.parse_args()
    kafka_jars.require_programs("go")
    seen: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for _ in range(arguments.rounds):
        for name, server in SERVERS.items():
            for key, value in measure(server, arguments.megabytes).items():
                seen[key][name].append(value)
    lines = ["| | " + " | ".join(SERVERS) + " |", "|---|" + "---:|" * len(SERVERS)]
    ratios = []
    for key, runs in seen.items():
        medians = {name: statistics.median(values) for name, values in runs.items()}
        ours, *theirs = medians.values()
        lines.append(f"| {key} | " + " | ".join(f"{each:.3g}" for each in medians.values()) + " |")
        ratios.append(
            f"| {key}, lab's ratio | | "
            + " | ".join(f"{ours / each:.2f}" if each else "-" for each in theirs)
            + " |"
        )
    sys.stdout.write("\n".join([*lines, *ratios]) + "\n")


if __name__ == "__main__":
    main()
