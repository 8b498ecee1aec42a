"""The controller: changes the state of the cluster, writes it down, and tells the nodes.

    controller.register_broker(BrokerRegistration(1, "127.0.0.1", 9092))
    controller.subscribe(node.handle_image)
    controller.create_topic(NewTopic("orders", partition_count=3))
    controller.image.topics["orders"]

A change is checked against the state, makes a new one, and is on disk before anybody hears of it.
Those who have subscribed are called in the thread that made the change, one after the other, in the
order of the changes; a node hands it on to its own thread. What one of them changes meanwhile is
told when all have heard of the first.

Source: Kafka's `QuorumController`, `ReplicationControlManager`, `ConfigurationControlManager`,
`ProducerIdControlManager`.
"""

import base64
import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Final, NamedTuple

import msgspec

from kdiag.clock import NS_PER_S
from kdiag.lab.controller.broker_sessions import SESSION_TIMEOUT_NS, BrokerSessions
from kdiag.lab.controller.cluster_image import (
    NO_LEADER,
    BrokerRegistration,
    ClusterImage,
    PartitionRegistration,
    TopicImage,
)
from kdiag.lab.controller.leader_election import changed, elected, led_by_preferred, without
from kdiag.lab.controller.reassignment import cancelled, completed, started
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.controller.replica_placer import place_replicas
from kdiag.lab.controller.state_file import read_state, write_state
from kdiag.lab.controller.topic_configs import check_configs, is_unclean_allowed
from kdiag.lab.controller.topic_names import colliding_name, fault_in_name

DEFAULT: Final = -1
"""As many partitions or replicas as the cluster gives by default: one."""
MOST_PARTITIONS: Final = 10_000
"""As many as a request may create, as in Kafka."""
PRODUCER_ID_BLOCK: Final = 1000
BALANCE_INTERVAL_NS: Final = 300 * NS_PER_S
"""`leader.imbalance.check.interval.seconds`."""
NO_EPOCH: Final = -1
"""The epoch of a broker that does not say it."""

_OF_BROKERS: Final = {"brokers", "fenced", "topics"}
"""What changes when a broker comes or goes; of these topics alone are written down."""

LOG: Final = logging.getLogger(__name__)

ImageListener = Callable[[ClusterImage], None]


class NewTopic(NamedTuple):
    """A topic that is to be created.

    Attributes:
        name: its name.
        partition_count: how many partitions, or DEFAULT.
        replication_factor: how many replicas each, or DEFAULT.
        assignments: the replicas of each partition, if they are given.
        configs: its settings.
    """

    name: str
    partition_count: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: Mapping[int, Sequence[int]] = {}
    configs: Mapping[str, str] = {}


class IsrChange(NamedTuple):
    """Which replicas of a partition are in sync, as its leader says.

    Attributes:
        topic: of the partition.
        partition: its number.
        leader_epoch: of the leader who says so.
        partition_epoch: of the state that it has seen.
        isr: the replicas, with the epochs of their brokers, or NO_EPOCH.
    """

    topic: str
    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: Mapping[int, int]


class QuorumController:
    """The state of a cluster, and its changes.

    Attributes:
        image: the state; another object after each change.
        sessions: of brokers.
    """

    def __init__(
        self, folder: Path | None = None, session_timeout_ns: int = SESSION_TIMEOUT_NS
    ) -> None:
        """Read the state from a folder, or begin without topics.

        What was read has no leaders: those who led have ended. The epochs of the leaders that come
        tell their records from those that were written before.

        Args:
            folder: keeps the state; None keeps it nowhere.
            session_timeout_ns: how long a broker may be silent.

        Raises:
            LogFileError: if the folder cannot be read, or has something else.
        """
        self._folder = folder
        self._lock = RLock()
        self._listeners: list[ImageListener] = []
        self._untold: deque[ClusterImage] = deque()
        self._is_telling = False
        self._created_count = 0
        self._broker_epoch = 0
        self._balance_ns: int | None = None
        self.sessions = BrokerSessions(session_timeout_ns)
        known = None if folder is None else read_state(folder)
        self.image = known or ClusterImage(cluster_id=_new_cluster_id())
        self.image = msgspec.structs.replace(
            self.image,
            topics=self._each_partition(lambda each, _: changed(each, each.isr, NO_LEADER)),
        )

    def __repr__(self) -> str:
        return f"<QuorumController of {len(self.image.topics)} topics>"

    def subscribe(self, listener: ImageListener) -> None:
        """Have a function called with the state now, and after each change."""
        with self._lock:
            self._listeners.append(listener)
            listener(self.image)

    def unsubscribe(self, listener: ImageListener) -> None:
        """Call a function no more."""
        with self._lock:
            self._listeners.remove(listener)

    def register_broker(self, *brokers: BrokerRegistration) -> None:
        """Record that brokers run, and elect leaders where there are none.

        Each gets an epoch, by which it is told from itself before (KIP-903).
        """
        with self._lock:
            running = dict(self.image.brokers)
            started_ids = {broker.node_id for broker in brokers}
            for broker in brokers:
                self._broker_epoch += 1
                running[broker.node_id] = msgspec.structs.replace(broker, epoch=self._broker_epoch)
            topics = self._each_partition(
                lambda each, configs: elected(each, running, is_unclean=is_unclean_allowed(configs))
            )
            fenced = {
                key: each for key, each in self.image.fenced.items() if key not in started_ids
            }
            self._change(brokers=running, fenced=fenced, topics=topics)

    def remove_broker(self, node_id: int) -> None:
        """Record that a broker runs no more: others lead its partitions, if any is in sync."""
        with self._lock:
            self.sessions.end(node_id)
            if node_id not in self.image.brokers:
                return
            running = {key: each for key, each in self.image.brokers.items() if key != node_id}
            topics = self._each_partition(
                lambda each, configs: without(
                    each, node_id, running, is_unclean=is_unclean_allowed(configs)
                )
            )
            fenced = {**self.image.fenced, node_id: self.image.brokers[node_id]}
            self._change(brokers=running, fenced=fenced, topics=topics)

    def heartbeat(self, node_id: int, now_ns: int) -> bool:
        """Record that a broker still runs; return whether it is known to.

        Brokers that have been silent for longer than their session are removed, and every five
        minutes preferred replicas lead that do not.
        """
        with self._lock:
            self.sessions.begin(self.image.brokers, now_ns)
            if node_id in self.image.brokers:
                self.sessions.heartbeat(node_id, now_ns)
            for silent in self.sessions.expired(now_ns):
                LOG.warning("broker %d has been silent for too long, and is fenced", silent)
                self.remove_broker(silent)
            if self._balance_ns is None or now_ns >= self._balance_ns:
                is_first, self._balance_ns = self._balance_ns is None, now_ns + BALANCE_INTERVAL_NS
                if not is_first:
                    self._balance_leaders()
            return node_id in self.image.brokers

    def alter_partitions(self, leader: int, changes: Iterable[IsrChange]) -> None:
        """Record which replicas are in sync, as the leader of their partitions says.

        A change that was overtaken is passed over: the leader hears of what is, and asks again. So
        is one that would have a broker in sync that runs no more, or is another one since.
        """
        with self._lock:
            topics = dict(self.image.topics)
            for change in changes:
                topic = topics.get(change.topic)
                partition = self.image.partition_of(change.topic, change.partition)
                if (
                    topic is None
                    or partition is None
                    or not self._is_valid(leader, partition, change)
                ):
                    continue
                isr = tuple(each for each in partition.replicas if each in change.isr)
                altered = completed(changed(partition, isr, leader), self.image.brokers)
                topics[topic.name] = _with_partition(topic, change.partition, altered)
            if topics != self.image.topics:
                self._change(topics=topics)

    def elect_leader(self, topic: str, number: int, *, is_unclean: bool = False) -> None:
        """Have the preferred replica lead a partition, or any that runs if none does.

        Args:
            topic: of the partition.
            number: of the partition.
            is_unclean: whether to elect a replica that may not be in sync, if nobody leads.

        Raises:
            RequestRefusedError: UNKNOWN_TOPIC_OR_PARTITION, ELECTION_NOT_NEEDED,
                PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE.
        """
        with self._lock:
            found, partition = self._partition(topic, number)
            brokers, leader = self.image.brokers, partition.leader
            is_led = leader != NO_LEADER if is_unclean else leader == partition.replicas[0]
            if is_led:
                raise RequestRefusedError("ELECTION_NOT_NEEDED", f"{partition.leader} leads")
            if is_unclean:
                led = elected(partition, brokers, is_unclean=True)
            else:
                led = led_by_preferred(partition, brokers)
            if led is partition:
                kind = "ELIGIBLE_LEADERS" if is_unclean else "PREFERRED_LEADER"
                raise RequestRefusedError(f"{kind}_NOT_AVAILABLE", "no such replica runs")
            self._replace_topic(_with_partition(found, number, led))

    def reassign(self, topic: str, number: int, replicas: Sequence[int] | None) -> None:
        """Have a partition move to other brokers.

        Args:
            topic: of the partition.
            number: of the partition.
            replicas: the brokers that are to have it; None cancels a move.

        Raises:
            RequestRefusedError: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT,
                NO_REASSIGNMENT_IN_PROGRESS.
        """
        with self._lock:
            found, partition = self._partition(topic, number)
            brokers = self.image.brokers
            if replicas is not None:
                moved = started(partition, self._checked_replicas(replicas), brokers)
            elif partition.adding or partition.removing:
                moved = cancelled(partition, brokers)
            else:
                why = "the partition does not move to other brokers"
                raise RequestRefusedError("NO_REASSIGNMENT_IN_PROGRESS", why)
            self._replace_topic(_with_partition(found, number, moved))

    def create_topic(self, new: NewTopic, *, is_only_checked: bool = False) -> TopicImage:
        """Create a topic, and return it.

        Raises:
            RequestRefusedError: with the error of the response.
        """
        with self._lock:
            self._check_name(new.name)
            check_configs(new.name, new.configs)
            partitions = tuple(map(_led_by_first, self._replicas_of(new)))
            topic = TopicImage(new.name, os.urandom(16), partitions, dict(new.configs))
            if not is_only_checked:
                self._created_count += 1
                self._change(topics={**self.image.topics, topic.name: topic})
            return topic

    def delete_topic(self, name: str) -> None:
        """Delete a topic.

        Raises:
            RequestRefusedError: UNKNOWN_TOPIC_OR_PARTITION if there is none.
        """
        with self._lock:
            self._topic(name)
            left = {each: topic for each, topic in self.image.topics.items() if each != name}
            self._change(topics=left)

    def create_partitions(
        self,
        name: str,
        count: int,
        assignments: Sequence[Sequence[int]] | None = None,
        *,
        is_only_checked: bool = False,
    ) -> None:
        """Give a topic more partitions.

        Args:
            name: of the topic.
            count: how many it is to have.
            assignments: the replicas of the new ones, if they are given.
            is_only_checked: whether to change nothing.

        Raises:
            RequestRefusedError: with the error of the response.
        """
        with self._lock:
            topic = self._topic(name)
            have = len(topic.partitions)
            more = count - have
            if more <= 0:
                why = f"the topic has {have} partitions, it can only get more, not {count}"
                raise RequestRefusedError("INVALID_PARTITIONS", why)
            _check_count(more)
            factor = len(topic.partitions[0].replicas)
            if assignments is None:
                added = self._placed(more, factor, have)
            else:
                if len(assignments) != more:
                    why = f"{len(assignments)} assignments for {more} new partitions"
                    raise RequestRefusedError("INVALID_REPLICA_ASSIGNMENT", why)
                added = [self._checked_replicas(each) for each in assignments]
            partitions = (*topic.partitions, *map(_led_by_first, added))
            if not is_only_checked:
                self._replace_topic(msgspec.structs.replace(topic, partitions=partitions))

    def set_topic_configs(
        self, name: str, configs: Mapping[str, str], *, is_only_checked: bool = False
    ) -> None:
        """Give a topic these settings, and no others.

        Raises:
            RequestRefusedError: with the error of the response.
        """
        with self._lock:
            topic = self._topic(name)
            check_configs(name, configs)
            if not is_only_checked:
                self._replace_topic(msgspec.structs.replace(topic, configs=dict(configs)))

    def allocate_producer_ids(self) -> range:
        """Return producer ids that nobody else was or will be given."""
        with self._lock:
            first = self.image.next_producer_id
            self._change(next_producer_id=first + PRODUCER_ID_BLOCK)
            return range(first, first + PRODUCER_ID_BLOCK)

    def _change(self, **changes: object) -> None:
        """Make a new state, write it down, and tell everybody."""
        version = self.image.version + 1
        before = self.image
        image: ClusterImage = msgspec.structs.replace(before, version=version, **changes)
        is_kept = image.topics != before.topics or changes.keys() != _OF_BROKERS
        if self._folder is not None and is_kept:
            write_state(self._folder, image)
        self.image = image
        self._untold.append(image)
        if self._is_telling:
            return
        self._is_telling = True
        try:
            while self._untold:
                told = self._untold.popleft()
                for listener in [*self._listeners]:
                    listener(told)
        finally:
            self._is_telling = False

    def _each_partition(
        self, change: Callable[[PartitionRegistration, Mapping[str, str]], PartitionRegistration]
    ) -> Mapping[str, TopicImage]:
        """Return the topics with every partition changed; those where nothing is stay the same."""
        topics = {}
        for name, topic in self.image.topics.items():
            partitions = tuple(change(each, topic.configs) for each in topic.partitions)
            is_same = partitions == topic.partitions
            topics[name] = (
                topic if is_same else msgspec.structs.replace(topic, partitions=partitions)
            )
        return self.image.topics if topics == self.image.topics else topics

    def _is_valid(self, leader: int, partition: PartitionRegistration, change: IsrChange) -> bool:
        """Return whether a change of the replicas in sync may be made."""
        is_current = (leader, change.leader_epoch, change.partition_epoch) == (
            partition.leader,
            partition.leader_epoch,
            partition.partition_epoch,
        )
        brokers = self.image.brokers
        return (
            is_current
            and leader in change.isr
            and all(
                node_id in brokers and epoch in {NO_EPOCH, brokers[node_id].epoch}
                for node_id, epoch in change.isr.items()
            )
        )

    def _balance_leaders(self) -> None:
        running = self.image.brokers
        topics = self._each_partition(lambda each, _: led_by_preferred(each, running))
        if topics is not self.image.topics:
            LOG.info("preferred replicas lead again")
            self._change(topics=topics)

    def _replace_topic(self, topic: TopicImage) -> None:
        self._change(topics={**self.image.topics, topic.name: topic})

    def _topic(self, name: str) -> TopicImage:
        topic = self.image.topics.get(name)
        if topic is None:
            raise RequestRefusedError("UNKNOWN_TOPIC_OR_PARTITION", f"there is no topic {name!r}")
        return topic

    def _partition(self, name: str, number: int) -> tuple[TopicImage, PartitionRegistration]:
        """Return a topic and one of its partitions.

        Raises:
            RequestRefusedError: UNKNOWN_TOPIC_OR_PARTITION.
        """
        topic = self._topic(name)
        if not 0 <= number < len(topic.partitions):
            why = f"there is no partition {name}-{number}"
            raise RequestRefusedError("UNKNOWN_TOPIC_OR_PARTITION", why)
        return topic, topic.partitions[number]

    def _check_name(self, name: str) -> None:
        fault = fault_in_name(name)
        if fault is not None:
            raise RequestRefusedError("INVALID_TOPIC_EXCEPTION", fault)
        if name in self.image.topics:
            raise RequestRefusedError("TOPIC_ALREADY_EXISTS", f"Topic '{name}' already exists.")
        other = colliding_name(name, self.image.topics)
        if other is not None:
            why = f"its metrics would be those of the topic {other!r}"
            raise RequestRefusedError("INVALID_TOPIC_EXCEPTION", why)

    def _replicas_of(self, new: NewTopic) -> list[tuple[int, ...]]:
        """Return the replicas of each partition of a new topic."""
        if new.assignments:
            if (new.partition_count, new.replication_factor) != (DEFAULT, DEFAULT):
                why = "with assignments, give -1 for partitions and for the replication factor"
                raise RequestRefusedError("INVALID_REQUEST", why)
            _check_count(len(new.assignments))
            if sorted(new.assignments) != list(range(len(new.assignments))):
                why = f"partitions {sorted(new.assignments)}: expected 0, 1, 2 and so on"
                raise RequestRefusedError("INVALID_REPLICA_ASSIGNMENT", why)
            return [
                self._checked_replicas(new.assignments[each]) for each in sorted(new.assignments)
            ]
        count = 1 if new.partition_count == DEFAULT else new.partition_count
        factor = 1 if new.replication_factor == DEFAULT else new.replication_factor
        if count <= 0:
            why = f"{count} partitions: expected 1 or more"
            raise RequestRefusedError("INVALID_PARTITIONS", why)
        _check_count(count)
        return self._placed(count, factor, self._created_count)

    def _placed(self, count: int, factor: int, start: int) -> list[tuple[int, ...]]:
        brokers = sorted(self.image.brokers)
        return place_replicas(brokers, count=count, replication_factor=factor, start=start)

    def _checked_replicas(self, replicas: Sequence[int]) -> tuple[int, ...]:
        """Return replicas that were given."""
        unknown = sorted(set(replicas) - set(self.image.brokers))
        if not replicas or len(set(replicas)) < len(replicas) or unknown:
            why = f"replicas {list(replicas)}: expected brokers that run, each once"
            raise RequestRefusedError("INVALID_REPLICA_ASSIGNMENT", why)
        return tuple(replicas)


def _with_partition(topic: TopicImage, number: int, partition: PartitionRegistration) -> TopicImage:
    partitions = [*topic.partitions]
    partitions[number] = partition
    return msgspec.structs.replace(topic, partitions=tuple(partitions))


def _check_count(count: int) -> None:
    if count > MOST_PARTITIONS:
        why = f"{count} partitions at once: expected up to {MOST_PARTITIONS}"
        raise RequestRefusedError("INVALID_PARTITIONS", why)


def _led_by_first(replicas: tuple[int, ...]) -> PartitionRegistration:
    return PartitionRegistration(replicas, replicas, replicas[0])


def _new_cluster_id() -> str:
    """Return an id of 22 characters, as Kafka writes its UUIDs."""
    return base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=")
