"""Decodes and encodes the same bytes with kdiag, kio and kafka-python, in turns.

    python tests/bench/codec.py

prints the median CPU time of one call for each, and how many times longer than kdiag the others
take. Before anything is measured, all three must read each message and write it back to the same
bytes. The garbage collector is off while it measures, as in `timeit`: what it costs depends on all
that the three libraries have imported, and hits whoever happens to run.
"""

import gc
import io
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from kafka.protocol.consumer import FetchResponse as KafkaPythonFetchResponse
from kafka.protocol.metadata import MetadataResponse as KafkaPythonMetadataResponse
from kafka.protocol.producer import ProduceRequest as KafkaPythonProduceRequest
from kio.schema.fetch.v12.response import FetchResponse as KioFetchResponse
from kio.schema.metadata.v12.response import MetadataResponse as KioMetadataResponse
from kio.schema.produce.v9.request import ProduceRequest as KioProduceRequest
from kio.serial import entity_reader, entity_writer

from kdiag.wire.api.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kdiag.wire.api.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.schema import Struct

TURNS: Final = 15
TURN_NS: Final = 100_000_000
RECORDS: Final = bytes(range(256)) * 4

Call = Callable[[], object]


class Case(NamedTuple):
    """One message, and the classes that the others have for it."""

    title: str
    version: int
    message: Struct
    kio: Any
    kafka_python: Any


def metadata_response() -> MetadataResponse:
    """Return three brokers and 1,000 partitions in ten topics."""
    partitions = [
        MetadataResponsePartition(
            partition_index=number,
            leader_id=number % 3,
            leader_epoch=7,
            replica_nodes=[0, 1, 2],
            isr_nodes=[0, 1, 2],
        )
        for number in range(100)
    ]
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=number, host=f"broker-{number}.example", port=9092)
            for number in range(3)
        ],
        cluster_id="kdiag-bench",
        controller_id=1,
        topics=[
            MetadataResponseTopic(
                name=f"topic-{number}", topic_id=bytes([1 + number]) * 16, partitions=partitions
            )
            for number in range(10)
        ],
    )


def fetch_response() -> FetchResponse:
    """Return 1 kB of records from each of 100 partitions in ten topics."""
    partitions = [
        PartitionData(
            partition_index=number,
            high_watermark=1_000_000,
            last_stable_offset=1_000_000,
            log_start_offset=0,
            aborted_transactions=None,
            records=RECORDS,
        )
        for number in range(10)
    ]
    return FetchResponse(
        session_id=4711,
        responses=[
            FetchableTopicResponse(topic=f"topic-{number}", partitions=partitions)
            for number in range(10)
        ],
    )


def produce_request() -> ProduceRequest:
    """Return 1 kB of records for each of 100 partitions in ten topics."""
    partitions = [PartitionProduceData(index=number, records=RECORDS) for number in range(10)]
    return ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[
            TopicProduceData(name=f"topic-{number}", partition_data=partitions)
            for number in range(10)
        ],
    )


CASES: Final = [
    Case(
        "Metadata response v12, 1,000 partitions",
        12,
        metadata_response(),
        KioMetadataResponse,
        KafkaPythonMetadataResponse,
    ),
    Case(
        "Fetch response v12, 100 partitions",
        12,
        fetch_response(),
        KioFetchResponse,
        KafkaPythonFetchResponse,
    ),
    Case(
        "Produce request v9, 100 partitions",
        9,
        produce_request(),
        KioProduceRequest,
        KafkaPythonProduceRequest,
    ),
]


def calls_of(case: Case) -> dict[str, dict[str, Call]]:
    """Return what to measure, `decode` and `encode` by library; all three agree on the bytes."""
    cls, version, data = type(case.message), case.version, encode(case.message, case.version)
    read, write = entity_reader(case.kio), entity_writer(case.kio)
    message, entity = decode(cls, version, data), read(data, 0)[0]
    theirs = case.kafka_python.decode(data, version=version)

    def kio_encode() -> bytes:
        buffer = io.BytesIO()
        write(buffer, entity)
        return buffer.getvalue()

    encoders: dict[str, Call] = {
        "kdiag": lambda: encode(message, version),
        "kio": kio_encode,
        "kafka-python": theirs.encode,
    }
    for library, call in encoders.items():
        if call() != data:
            raise SystemExit(f"{library} writes other bytes for: {case.title}")
    decoders: dict[str, Call] = {
        "kdiag": lambda: decode(cls, version, data),
        "kio": lambda: read(data, 0),
        "kafka-python": lambda: case.kafka_python.decode(data, version=version),
    }
    return {"decode": decoders, "encode": encoders}


def repetitions_of(call: Call) -> int:
    """Return how many calls take about a turn."""
    started = time.process_time_ns()
    call()
    return max(1, TURN_NS // (time.process_time_ns() - started + 1))


def measure(calls: dict[str, Call]) -> dict[str, float]:
    """Return the median CPU time of one call in nanoseconds, by library."""
    repetitions = {library: repetitions_of(call) for library, call in calls.items()}
    turns: dict[str, list[float]] = {library: [] for library in calls}
    gc.disable()
    for _ in range(TURNS):
        for library, call in calls.items():
            started = time.process_time_ns()
            for _ in range(repetitions[library]):
                call()
            turns[library].append((time.process_time_ns() - started) / repetitions[library])
        gc.collect()
    gc.enable()
    return {library: statistics.median(each) for library, each in turns.items()}


def main() -> None:
    """Measure every case and print one line for each direction."""
    others = ("kio", "kafka-python")
    heads = "".join(f"{each:>17}" for each in ("kdiag us", *(f"{each} us" for each in others)))
    ratios = "".join(f"{'/ ' + each:>16}" for each in others)
    sys.stdout.write(f"{'':48}{heads}{ratios}\n")
    for case in CASES:
        for direction, calls in calls_of(case).items():
            medians = measure(calls)
            times = "".join(f"{each / 1000:>17.1f}" for each in medians.values())
            faster = "".join(f"{medians[each] / medians['kdiag']:>15.2f}x" for each in others)
            sys.stdout.write(f"{case.title:41}{direction:7}{times}{faster}\n")


if __name__ == "__main__":
    main()
