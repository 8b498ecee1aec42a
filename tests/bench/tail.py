"""Measures `kdiag tail` against kafka-python, aiokafka and kcat, in turns, on a real Kafka.

    python tests/bench/tail.py [--rounds 5] [--kafka 4.3.1]

starts a Kafka node and writes topics: 1,000,000 records of 100 bytes, 200,000 JSON documents of
1 kB in lz4, twice 300,000 records of 1 kB in batches of 16 KiB, as Kafka's producers write them by
default (values of one length, and from 500 to 1500 bytes), and one record of 10 MB in each of 100
partitions. Each program reads all but the last from beginning to end and writes the values into a
pipe, a line each; kdiag and kcat also write JSON. Prints a Markdown table: the median CPU time of a
record, with everything from the start of the program on, how many times kdiag's that is, the median
wall time and the peak memory. Another table has the CPU time of following 50 partitions in which
nothing happens, for 2 s, in which programs start, and for 20 s after that.

Ends with 1, and says why, if a program does not write what it should or a goal is missed:

* CPU: kafka-python takes three times as much or more, aiokafka as much or more;
* wall time: less than kcat's, if it is installed;
* memory: 200 MB at the most, also for the large records.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from time import perf_counter, sleep
from typing import Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "rig"))

from confluent_kafka import Producer

from real_kafka import topic_maker
from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.releases import USUAL

KDIAG: Final = str(Path(sys.executable).with_name("kdiag"))
MAX_RSS_MB: Final = 200
KAFKA_PYTHON_TIMES: Final = 3.0
LARGE_BYTES: Final = 10_000_000
LARGE_PARTITIONS: Final = 100

KAFKA_PYTHON: Final = """
import sys
from kafka import KafkaConsumer, TopicPartition
servers, topic, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
consumer = KafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False, group_id=None)
consumer.assign([TopicPartition(topic, number) for number in range(3)])
consumer.seek_to_beginning()
while left > 0:
    for records in consumer.poll(1000, max_records=10_000).values():
        left -= len(records)
        sys.stdout.buffer.write(b"\\n".join([each.value for each in records]) + b"\\n")
"""
AIOKAFKA: Final = """
import asyncio, sys
from aiokafka import AIOKafkaConsumer, TopicPartition
async def main(servers, topic, left):
    consumer = AIOKafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False)
    await consumer.start()
    consumer.assign([TopicPartition(topic, number) for number in range(3)])
    await consumer.seek_to_beginning()
    while left > 0:
        found = await consumer.getmany(timeout_ms=1000, max_records=10_000)
        for records in found.values():
            left -= len(records)
            sys.stdout.buffer.write(b"\\n".join([each.value for each in records]) + b"\\n")
    await consumer.stop()
asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""
ENVIRONMENT: Final = {
    name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
}
"""So that programs keep their compiled files and buffer their output, as wherever they run."""

VALUES: Final = "kdiag"
JSON: Final = "kdiag -J"
KCAT: Final = "kcat"


class Topic(NamedTuple):
    """A topic to read.

    Attributes:
        name: its name.
        title: what is in it, in words.
        records: how many.
        value_bytes: how long each is, or all are on average.
        batch_bytes: how large a producer's batches may be.
    """

    name: str
    title: str
    records: int
    value_bytes: int
    batch_bytes: int = 1_000_000


class Cost(NamedTuple):
    """What one run of a program took."""

    cpu_s: float
    wall_s: float
    rss_mb: float


SMALL: Final = Topic("small", "1,000,000 x 100 B", 1_000_000, 100)
DOCUMENTS: Final = Topic("documents", "200,000 x 1 kB, lz4", 200_000, 1000)
USUAL_BATCHES: Final = Topic("usual", "300,000 x 1 kB, batches of 16 KiB", 300_000, 1000, 16_384)
VARIED: Final = Topic("varied", "300,000 x 0.5 to 1.5 kB, same batches", 300_000, 1000, 16_384)
LARGE: Final = Topic("large", "100 x 10 MB, 100 partitions", LARGE_PARTITIONS, LARGE_BYTES)

MEASURED: Final = (SMALL, DOCUMENTS, USUAL_BATCHES, VARIED)
TOPICS: Final = (*MEASURED, LARGE)
IDLE: Final = "idle"
IDLE_PARTITIONS: Final = 50
IDLE_S: Final = (2, 22)
"""How long programs follow them: the first is for their start."""

Costs = dict[tuple[Topic, str], list[Cost]]


def commands(servers: str, topic: Topic) -> Mapping[str, Sequence[str]]:
    """Return the programs that read a topic, by name."""
    arguments = (servers, topic.name, str(topic.records))
    python = sys.executable
    found: dict[str, Sequence[str]] = {
        VALUES: (KDIAG, "tail", "-b", servers, topic.name, "-e"),
        "kafka-python": (python, "-c", KAFKA_PYTHON, *arguments),
        "aiokafka": (python, "-c", AIOKAFKA, *arguments),
        JSON: (KDIAG, "tail", "-b", servers, topic.name, "-e", "-J"),
    }
    if shutil.which(KCAT):
        kcat = (KCAT, "-C", "-b", servers, "-t", topic.name, "-o", "beginning", "-e", "-q")
        found |= {KCAT: kcat, "kcat -J": (*kcat, "-J")}
    return found


def document(number: int, rng: random.Random) -> bytes:
    """Return an order in JSON of exactly 1,000 bytes."""
    order = {
        "order": number,
        "customer": {"id": rng.randrange(10**6), "segment": rng.choice("ABCD"), "vip": False},
        "placedAt": f"2026-01-{rng.randrange(1, 29):02}T{rng.randrange(24):02}:00:00Z",
        "items": [
            {
                "sku": f"SKU-{rng.randrange(10**5):05}",
                "quantity": rng.randrange(1, 9),
                "unitPrice": round(rng.uniform(1, 500), 2),
                "currency": "EUR",
                "warehouse": rng.choice(("hamburg", "lyon", "gdansk", "turin")),
            }
            for _ in range(7)
        ],
        "note": "",
    }
    text = json.dumps(order, separators=(",", ":"))
    order["note"] = "x" * (DOCUMENTS.value_bytes - len(text))
    return json.dumps(order, separators=(",", ":")).encode()


def values(topic: Topic) -> Iterator[bytes]:
    """Return what is written to a topic."""
    rng = random.Random(7)
    if topic == LARGE:
        block = rng.randbytes(1 << 16).hex().encode()
        large = (block * (LARGE_BYTES // len(block) + 1))[:LARGE_BYTES]
        yield from (large for _ in range(topic.records))
    elif topic == DOCUMENTS:
        yield from (document(number, rng) for number in range(topic.records))
    elif topic == VARIED:
        for number in range(topic.records // 2):
            more = number * 379 % 1001
            yield from (b"%0*d" % (length, number) for length in (500 + more, 1500 - more))
    else:
        yield from (b"%0*d" % (topic.value_bytes, number) for number in range(topic.records))


def write(servers: str, topic: Topic) -> None:
    """Create a topic and fill it."""
    is_large = topic == LARGE
    partitions = LARGE_PARTITIONS if is_large else 3
    topic_maker.create(
        servers, topic.name, partitions, 1, {"max.message.bytes": str(2 * LARGE_BYTES)}
    )
    producer = Producer(
        {
            "batch.size": topic.batch_bytes,
            "bootstrap.servers": servers,
            "compression.type": "lz4" if topic == DOCUMENTS else "none",
            "linger.ms": 0 if is_large else 20,
            "message.max.bytes": 2 * LARGE_BYTES,
            "queue.buffering.max.messages": 2_000_000,
        }
    )
    for number, value in enumerate(values(topic)):
        if is_large:
            producer.produce(topic.name, value, partition=number)
            producer.flush()
        else:
            producer.produce(topic.name, value)
            producer.poll(0)
    producer.flush()


def run(command: Sequence[str], topic: Topic, *, only_values: bool) -> Cost:
    """Run a program into a pipe and return what it took.

    Raises:
        SystemExit: if it fails, or writes something else than the records.
    """
    with subprocess.Popen(
        ["wc", "-l", "-c"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as counting:
        assert counting.stdin is not None
        assert counting.stdout is not None
        before = perf_counter()
        program = subprocess.Popen(command, stdout=counting.stdin, env=ENVIRONMENT)
        counting.stdin.close()
        _, status, usage = os.wait4(program.pid, 0)
        wall_s = perf_counter() - before
        program.returncode = os.waitstatus_to_exitcode(status)
        lines, size = map(int, counting.stdout.read().split())
    is_right = size == topic.records * (topic.value_bytes + 1) if only_values else size
    if program.returncode or lines != topic.records or not is_right:
        said = f"ended with {program.returncode} after {lines} lines of {size} bytes"
        raise SystemExit(f"{' '.join(command)[:200]}: {said}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Cost(cpu_s, wall_s, usage.ru_maxrss * 1024 / 1e6)


def measure(servers: str, rounds: int) -> Costs:
    """Run all programs in turns, after a round that only warms the caches."""
    costs: Costs = {}
    for number in range(rounds + 1):
        for topic in MEASURED:
            for name, command in commands(servers, topic).items():
                cost = run(command, topic, only_values="-J" not in command)
                if number:
                    costs.setdefault((topic, name), []).append(cost)
    large = (KDIAG, "tail", "-b", servers, LARGE.name, "-o", "beginning", "-n", "100")
    costs[LARGE, VALUES] = [run(large, LARGE, only_values=True)]
    costs[LARGE, JSON] = [run((*large, "-J"), LARGE, only_values=False)]
    return costs


def follow_idle(servers: str) -> Iterator[tuple[str, ...]]:
    """Return the cells of the table about partitions in which nothing happens, its head first."""
    yield f"{IDLE_PARTITIONS} idle partitions", "start, CPU s", "20 s after it, CPU s"
    yield "---", "---:", "---:"
    topic_maker.create(servers, IDLE, IDLE_PARTITIONS, 1, {})
    programs: dict[str, Sequence[str]] = {
        VALUES: (KDIAG, "tail", "-b", servers, IDLE, "-o", "end"),
    }
    if shutil.which(KCAT):
        programs[KCAT] = (KCAT, "-C", "-b", servers, "-t", IDLE, "-o", "end", "-q")
    for name, command in programs.items():
        start_s, all_s = (cpu_of_following(command, seconds) for seconds in IDLE_S)
        yield name, f"{start_s:.2f}", f"{all_s - start_s:.2f}"


def cpu_of_following(command: Sequence[str], seconds: float) -> float:
    """Return the CPU time that a program takes until it is interrupted."""
    quiet = subprocess.DEVNULL
    program = subprocess.Popen(command, stdout=quiet, stderr=quiet, env=ENVIRONMENT)
    sleep(seconds)
    program.send_signal(signal.SIGINT)
    _, status, usage = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def rows(costs: Costs) -> Iterator[tuple[str, ...]]:
    """Return the cells of the table, its head first."""
    yield "topic", "program", "CPU µs/record", "least - most", "x kdiag", "wall s", "peak MB"
    yield "---", "---", "---:", "---:", "---:", "---:", "---:"
    for (topic, name), runs in costs.items():
        times = [cost.cpu_s / topic.records * 1e6 for cost in runs]
        ours = costs[topic, JSON if name.endswith("-J") else VALUES]
        pairs = zip(runs, ours, strict=True)
        ratio = statistics.median(theirs.cpu_s / own.cpu_s for theirs, own in pairs)
        yield (
            topic.title,
            name,
            f"{statistics.median(times):.2f}",
            f"{min(times):.2f} - {max(times):.2f}" if len(times) > 1 else "",
            "" if runs is ours else f"{ratio:.2f}",
            f"{statistics.median(cost.wall_s for cost in runs):.2f}",
            f"{max(cost.rss_mb for cost in runs):.0f}",
        )


def missed(costs: Costs) -> Iterator[str]:
    """Return the goals that were missed, in words."""
    for topic in MEASURED:
        cpu_s = statistics.median(cost.cpu_s for cost in costs[topic, VALUES])
        for rival, goal in (("kafka-python", KAFKA_PYTHON_TIMES), ("aiokafka", 1.0)):
            times = statistics.median(cost.cpu_s for cost in costs[topic, rival]) / cpu_s
            if times < goal:
                yield f"{topic.title}: {rival} takes {times:.2f}x the CPU, not {goal:.0f}x"
        if (topic, KCAT) in costs:
            ours, theirs = (
                statistics.median(cost.wall_s for cost in costs[topic, name])
                for name in (VALUES, KCAT)
            )
            if ours >= theirs:
                yield f"{topic.title}: {ours:.2f} s, where kcat takes {theirs:.2f} s"
    for (topic, name), runs in costs.items():
        peak_mb = max(cost.rss_mb for cost in runs)
        if name in {VALUES, JSON} and peak_mb > MAX_RSS_MB:
            yield f"{name} on {topic.title}: peak memory {peak_mb:.0f} MB, not {MAX_RSS_MB}"


def machine(kafka: str) -> str:
    """Return what was measured, and on what, in a line."""
    clients = [f"{name} {version(name)}" for name in ("kafka-python", "aiokafka")]
    if shutil.which(KCAT):
        said = subprocess.run([KCAT, "-V"], capture_output=True, text=True, check=True).stdout
        clients += [f"kcat {found}" for found in re.findall(r"^Version (\S+)", said, re.MULTILINE)]
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    name = processor[1] if processor else "unknown CPU"
    return f"Kafka {kafka}, {', '.join(clients)}, Python {sys.version.split()[0]}, {name}"


def main() -> None:
    """Write, measure, print."""
    parser = argparse.ArgumentParser(description="Measure kdiag tail against others, in turns.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kafka", default=USUAL)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        KafkaCluster(given.kafka, Path(folder)) as cluster,
    ):
        with ProcessPoolExecutor(1) as apart:  # a program's peak memory starts with its parent's
            list(apart.map(write, [cluster.bootstrap] * len(TOPICS), TOPICS))
        costs = measure(cluster.bootstrap, given.rounds)
        idle = list(follow_idle(cluster.bootstrap))
    lines = [machine(given.kafka), ""]
    lines += [f"| {' | '.join(cells)} |" for cells in rows(costs)]
    lines += ["", *(f"| {' | '.join(cells)} |" for cells in idle)]
    sys.stdout.write("\n".join(lines) + "\n")
    if misses := list(missed(costs)):
        raise SystemExit("\n".join(["", "missed:", *misses]))


if __name__ == "__main__":
    main()
