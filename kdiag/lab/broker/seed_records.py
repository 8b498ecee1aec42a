"""Records that look like something, for topics that have none.

    seed_records(lab, 1000)      a thousand in every topic that is empty

They are orders of a shop, as JSON: a key that says whose order it is, so that the orders of one
customer are in one partition and in order, headers, and times that are spread over the last hour.
The same topic gets the same ones each time, but for the times.
"""

import random
from collections.abc import Collection, Iterator, Mapping
from threading import Event
from typing import Final, NamedTuple

import msgspec

from kdiag.clock import NS_PER_MS, NS_PER_S, Clock
from kdiag.errors import ConfigError
from kdiag.lab.broker.broker_server import BrokerServer
from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.controller.cluster_image import TopicImage
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.wire.api.produce import PartitionProduceResponse
from kdiag.wire.error_code import error_name
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch

SPREAD_NS: Final = 3600 * NS_PER_S

_BATCH_COUNT: Final = 500
_TIMEOUT_NS: Final = 30 * NS_PER_S
_LEADER_ACKS: Final = 1
_CODEC: Final = BatchHeader(compression="lz4")
_CUSTOMERS: Final = ("ada", "ben", "chloe", "dmitri", "emeka", "fatima", "goran", "hana", "iris")
_ITEMS: Final = ("bolt", "gear", "hinge", "lamp", "nut", "rope", "spring", "valve")
_STATES: Final = ("placed", "paid", "sent", "returned")
_SOURCES: Final = (b"web", b"app", b"shop")


class SeedTimes(NamedTuple):
    """When records were made: evenly from a time on.

    Attributes:
        first_ns: since 1970.
        step_ns: from one to the next.
    """

    first_ns: int
    step_ns: int


def seed_records(
    lab: LabCluster, count: int, clock: Clock, topics: Collection[str] | None = None
) -> dict[str, int]:
    """Append records to topics that are empty, and return how many, by topic.

    Args:
        lab: runs.
        count: how many in each topic.
        clock: the last of them is a moment old.
        topics: which; None for all.

    Raises:
        ConfigError: if they cannot be written.
    """
    times = SeedTimes(clock.epoch_ns() - SPREAD_NS, SPREAD_NS // max(1, count))
    nodes = {node.node_id: node for node in lab.nodes}
    seeded = {}
    for name, topic in lab.controller.image.topics.items():
        is_wanted = not topic.is_internal if topics is None else name in topics
        if is_wanted and all(_is_empty(nodes, key) for key in _keys_of(topic)):
            _seed(nodes, topic, count, times)
            seeded[name] = count
    return seeded


def _keys_of(topic: TopicImage) -> list[tuple[int, TopicPartitionOperationKey]]:
    """Return the partitions of a topic with their leaders."""
    return [
        (partition.leader, TopicPartitionOperationKey(topic.name, number))
        for number, partition in enumerate(topic.partitions)
    ]


def _is_empty(
    nodes: Mapping[int, BrokerServer], led: tuple[int, TopicPartitionOperationKey]
) -> bool:
    leader, key = led
    node = nodes.get(leader)
    partition = None if node is None else node.replicas.partitions.get(key)
    is_fresh = partition is None or partition.log.log_end_offset == 0
    return node is not None and is_fresh


def _seed(
    nodes: Mapping[int, BrokerServer], topic: TopicImage, count: int, times: SeedTimes
) -> None:
    """Append the records of a topic, partition by partition."""
    keys = _keys_of(topic)
    parts: list[list[Record]] = [[] for _ in keys]
    for customer, record in _records(topic.name, count, times):
        parts[customer % len(parts)].append(record)
    for (leader, key), records in zip(keys, parts, strict=True):
        for start in range(0, len(records), _BATCH_COUNT):
            batch = [
                msgspec.structs.replace(record, offset=offset)
                for offset, record in enumerate(records[start : start + _BATCH_COUNT])
            ]
            append_batch(nodes[leader], key, write_batch(batch, _CODEC))


def _records(topic: str, count: int, times: SeedTimes) -> Iterator[tuple[int, Record]]:
    """Yield records with the numbers of their customers."""
    draw = random.Random(topic)  # noqa: S311 - nothing secret: the same ones each time
    for number in range(count):
        customer = draw.randrange(len(_CUSTOMERS))
        time_ns = times.first_ns + number * times.step_ns
        value = {
            "order": number,
            "customer": _CUSTOMERS[customer],
            "state": draw.choice(_STATES),
            "items": draw.sample(_ITEMS, draw.randint(1, 3)),
            "total": round(draw.uniform(1, 500), 2),
        }
        headers = (
            (b"source", draw.choice(_SOURCES)),
            (b"trace-id", f"{draw.getrandbits(64):016x}".encode()),
        )
        yield (
            customer,
            Record(
                offset=number,
                timestamp=time_ns // NS_PER_MS,
                key=_CUSTOMERS[customer].encode(),
                value=msgspec.json.encode(value),
                headers=headers,
            ),
        )


def append_batch(node: BrokerServer, key: TopicPartitionOperationKey, batch: bytes) -> None:
    """Append a batch in the thread of its leader, and wait until that is done.

    Nobody is asked whether it may be there: transactions are not verified (KIP-890).

    Raises:
        ConfigError: if it is refused.
    """
    errors: list[int] = []
    is_done = Event()

    def respond(responses: Mapping[TopicPartitionOperationKey, PartitionProduceResponse]) -> None:
        errors.append(responses[key].error_code)
        is_done.set()

    node.processor.call(
        lambda: node.replicas.append_records({key: batch}, _LEADER_ACKS, _TIMEOUT_NS, respond)
    )
    is_done.wait()
    if errors[0]:
        why = f"records cannot be written: {error_name(errors[0])}"
        raise ConfigError(f"{key.topic}-{key.partition}", "topic", why)
