"""Measures what the proxy costs: the same requests to Kafka directly and through it, in turns.

    PYTHONPATH=tests/rig:. python tests/bench/lab/proxy_cost.py [--rounds 5] [--megabytes 200]

One Kafka with one broker; `kdiag lab proxy` as a process of its own before it, without faults:

    round trip  ApiVersions, one after another: the median in microseconds
    requests    Metadata of one topic, 32 at once on one connection
    produce     batches of 100 records of 10 kB, acks=all, 4 at once, to one partition
    fetch       responses of up to 1 MiB, one after another: version 4 passes as it is, version 16
                is read for the addresses of new leaders (KIP-951)

Prints a Markdown table of medians, and of the ratios turn by turn.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Final

from kdiag.wire.api.api_versions import ApiVersionsRequest
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic
from kdiag.wire.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from lab_ends.lab_client import LabClient
from programs.kdiag_program import start_kdiag
from tests.bench.lab.servers import (
    AT_ONCE,
    FETCH_BYTES,
    FETCHES,
    MEGABYTE,
    TOPIC,
    Connection,
    fetch_request,
    first_offset,
    kafka,
    produce_request,
)

ROUND_TRIPS: Final = 2_000
REQUESTS: Final = 5_000


@contextmanager
def proxied(bootstrap: str) -> Iterator[str]:
    """Start the proxy before a cluster."""
    pipe = subprocess.PIPE
    with start_kdiag("lab", "proxy", "-b", bootstrap, stdout=pipe, stderr=pipe) as program:
        assert program.stdout is not None
        yield program.stdout.readline().decode().strip().partition("=")[2]
        program.terminate()


def topic_id(bootstrap: str) -> bytes:
    """Return the id of the topic."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
    with LabClient(int(bootstrap.rpartition(":")[2])) as client:
        return bytes(client.ask(request, MetadataResponse, 12).topics[0].topic_id)


def fetch_by_id(bootstrap: str) -> FetchRequest:
    """Return a fetch of up to a mebibyte, of a topic by its id."""
    part = FetchPartition(partition_max_bytes=FETCH_BYTES)
    topic = FetchTopic(topic_id=topic_id(bootstrap), partitions=[part])
    return FetchRequest(max_wait_ms=100, max_bytes=FETCH_BYTES, topics=[topic])


def measure(bootstrap: str, megabytes: int) -> dict[str, float]:
    """Return how fast it goes to an address."""
    found = {}
    with Connection(bootstrap) as connection:
        connection.ask(ApiVersionsRequest(), 0, 100, 1)
        trips_s = []
        for _ in range(ROUND_TRIPS):
            began_s = perf_counter()
            connection.ask(ApiVersionsRequest(), 0, 1, 1)
            trips_s.append(perf_counter() - began_s)
        found["round trip, us"] = statistics.median(trips_s) * 1e6
        metadata = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
        began_s = perf_counter()
        connection.ask(metadata, 4, REQUESTS, AT_ONCE)
        found["requests/s"] = REQUESTS / (perf_counter() - began_s)
        began_s = perf_counter()
        connection.ask(produce_request(), 7, megabytes, 4)
        found["produce MB/s"] = megabytes / (perf_counter() - began_s)
        for version, fetch in ((4, fetch_request(0)), (16, fetch_by_id(bootstrap))):
            connection.ask(fetch, version, 20, 1)
            began_s = perf_counter()
            size_bytes = connection.ask(fetch, version, FETCHES, 1)
            seconds = perf_counter() - began_s
            found[f"fetch v{version} MB/s"] = size_bytes / MEGABYTE / seconds
    return found


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=200)
    arguments = parser.parse_args()
    turns: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, kafka(Path(folder)) as direct:
        first_offset(direct, 0)
        measure(direct, arguments.megabytes)  # Java warms up
        with proxied(direct) as through:
            for _ in range(arguments.rounds):
                found = measure(direct, arguments.megabytes), measure(through, arguments.megabytes)
                for key, value in found[0].items():
                    turns[key].append((value, found[1][key]))
    lines = ["| | direct | through the proxy | ratio |", "|---|---:|---:|---:|"]
    for key, pairs in turns.items():
        direct_value, through_value = (statistics.median(each) for each in zip(*pairs, strict=True))
        ratio = statistics.median(second / first for first, second in pairs)
        lines.append(f"| {key} | {direct_value:.3g} | {through_value:.3g} | {ratio:.2f} |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
