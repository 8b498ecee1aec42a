"""A member that says which partitions it owns, in a process of its own so that it can be killed.

    python sharing_member.py kdiag localhost:9092 orders app-a clicks cooperative-sticky [static id]

It prints a JSON object for each change, `{"at_ns": 123, "added": [0, 1]}` or `removed`, on the
machine's monotonic clock: partitions are not used any more when they are said to be removed. It
leaves the group when stdin ends. With the assignor `uniform`, which is the broker's, it joins by
the consumer protocol.
"""

import json
import sys
import time
from collections.abc import Collection, Iterable
from threading import Event, Thread
from typing import Any, Final

import confluent_kafka

from kdiag.client.config.load import ConfigSources, load_config
from kdiag.client.configured_client import configured_client
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import Assignor
from kdiag.client.group.assignor.cooperative_sticky import CooperativeStickyAssignor
from kdiag.client.group.assignor.range import RangeAssignor
from kdiag.client.group.classic.consumer_coordinator import ConsumerCoordinator
from kdiag.client.group.consumer.broker_assigned_member import BrokerAssignedMember
from kdiag.client.group.member import ConsumerMember, MemberSettings, TopicSubscription
from kdiag.clock import NS_PER_MS, NS_PER_S, SystemClock

_SESSION_MS: Final = 6000
_BEAT_MS: Final = 300
_METADATA_MS: Final = 700
_POLL_MS: Final = 50
_CLOSE_NS: Final = 10 * NS_PER_S
_ASSIGNORS: Final[dict[str, type[Assignor]]] = {
    "range": RangeAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


def report(change: str, partitions: Iterable[int]) -> None:
    """Print a change, and let the time be one at which it holds."""
    line = {"at_ns": time.monotonic_ns(), change: sorted(partitions)}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Reporter:
    """A listener that prints."""

    def on_partitions_assigned(self, added: Collection[PartitionKey]) -> None:
        """Print them."""
        report("added", (each.partition for each in added))

    def on_partitions_revoked(self, removed: Collection[PartitionKey]) -> None:
        """Print them."""
        report("removed", (each.partition for each in removed))

    def on_partitions_lost(self, removed: Collection[PartitionKey]) -> None:
        """Print them, too."""
        self.on_partitions_revoked(removed)


def be_kdiag(facts: list[str], over: Event) -> None:
    """Be a member of kdiag's."""
    bootstrap, group, name, topic, assignor, *static = facts
    pairs = [f"bootstrap.servers={bootstrap}", f"client.id={name}"]
    clock = SystemClock()
    with configured_client(load_config(ConfigSources(properties=pairs)), clock) as client:
        client.connect()
        settings = MemberSettings(
            group,
            static[0] if static else None,
            session_timeout_ns=_SESSION_MS * NS_PER_MS,
            heartbeat_interval_ns=_BEAT_MS * NS_PER_MS,
            metadata_max_age_ns=_METADATA_MS * NS_PER_MS,
        )
        subscription = TopicSubscription.of(topic)
        member: ConsumerMember
        if assignor in _ASSIGNORS:
            member = ConsumerCoordinator(
                client, settings, subscription, [_ASSIGNORS[assignor]()], Reporter()
            )
        else:
            member = BrokerAssignedMember(
                client, settings, subscription, Reporter(), assignor=assignor
            )
        while not over.is_set():
            if member.poll(clock.monotonic_ns() + _POLL_MS * NS_PER_MS):
                client.wait(_POLL_MS * NS_PER_MS)
        member.close(clock.monotonic_ns() + _CLOSE_NS)


def be_librdkafka(facts: list[str], over: Event) -> None:
    """Be a member of librdkafka's."""
    bootstrap, group, name, topic, assignor, *static = facts
    classic: dict[str, Any] = {
        "session.timeout.ms": _SESSION_MS,
        "heartbeat.interval.ms": _BEAT_MS,
        "partition.assignment.strategy": assignor,
    }
    by_broker = {"group.protocol": "consumer", "group.remote.assignor": assignor}
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": name,
            "topic.metadata.refresh.interval.ms": _METADATA_MS,
            **(classic if assignor in _ASSIGNORS else by_broker),
            **({"group.instance.id": static[0]} if static else {}),
        }
    )

    def added(_: Any, partitions: Any) -> None:
        report("added", (each.partition for each in partitions))

    def removed(_: Any, partitions: Any) -> None:
        report("removed", (each.partition for each in partitions))

    consumer.subscribe([topic], on_assign=added, on_revoke=removed, on_lost=removed)
    while not over.is_set():
        consumer.poll(_POLL_MS / 1000)
    consumer.close()


def main() -> None:
    """Be a member until stdin ends."""
    library, *facts = sys.argv[1:]
    over = Event()

    def listen() -> None:
        sys.stdin.read()
        over.set()

    Thread(target=listen, daemon=True).start()
    {"kdiag": be_kdiag, "librdkafka": be_librdkafka}[library](facts, over)


if __name__ == "__main__":
    main()
