"""Kafka's own tools for throughput, at the far end of a delayed link.

    perf = PerfTools(wan, jars, "perf")
    perf.produce(20_000, "send.buffer.bytes=65536")   # MB/s
    perf.consume(20_000, "--socket-buffer-size", "65536")

Records have 1000 bytes; rates are in 10**6 bytes per second, as kdiag's are.
"""

import re
from pathlib import Path

from real_kafka import kafka_jars
from real_kafka.wan_cluster import WanCluster

RECORD_BYTES = 1_000

_TOOLS = "org.apache.kafka.tools"
_PRODUCED = re.compile(r"^\d+ records sent, ([\d.]+) records/sec", re.MULTILINE)
_MB = 1_000_000


class PerfTools:
    """A topic of one partition, and the tools to load it."""

    def __init__(self, wan: WanCluster, jars: Path, topic: str) -> None:
        self._wan = wan
        self._jars = jars
        self._topic = topic
        self._run("TopicCommand", "--create", "--partitions", "1")

    def produce(self, records: int, *properties: str) -> float:
        """Return how fast ProducerPerformance sends, with these settings."""
        settings = ["--command-property", *properties] if properties else []
        size = str(RECORD_BYTES)
        told = self._run(
            "ProducerPerformance",
            *("--num-records", str(records), "--record-size", size, "--throughput", "-1"),
            *settings,
        )
        return float(_PRODUCED.findall(told)[-1]) * RECORD_BYTES / _MB

    def consume(self, records: int, *options: str) -> float:
        """Return how fast ConsumerPerformance fetches, with these options."""
        told = self._run(
            "ConsumerPerformance",
            *("--num-records", str(records), "--timeout", "60000"),
            *options,
        )
        fetched_per_s = told.strip().splitlines()[-1].split(",")[-1]
        return float(fetched_per_s) * RECORD_BYTES / _MB

    def _run(self, tool: str, *arguments: str) -> str:
        where = ("--bootstrap-server", self._wan.bootstrap, "--topic", self._topic)
        command = kafka_jars.java_command(
            self._jars, f"{_TOOLS}.{tool}", *where, *arguments, is_measured=True
        )
        return self._wan.run(command).stdout
