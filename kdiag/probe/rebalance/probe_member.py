"""A member that is told what to do: a thread with a client of its own, as a program would have.

    member = ProbeMember("probe-1", means, TopicSubscription.of(topic))
    member.start()                         # it joins, owns partitions, and reads them
    member.order(MemberOrder.CRASH)        # its connections end, and it tells nobody

It reads each partition that it is given from the beginning, commits nothing, and notes in the log
what it is given and what is taken from it, and when it has read a partition for the first time.
Its thread looks for orders many times a second, and records when it began to carry one out.
"""

from collections.abc import Callable, Collection
from enum import Enum, auto
from queue import Empty, SimpleQueue
from threading import Condition, Thread
from typing import Final, NamedTuple, Protocol

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.fetcher import Fetcher
from kdiag.client.fetch.position import FetchPosition, PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.client.group.member import ConsumerMember, RebalanceListener, TopicSubscription
from kdiag.client.network.observer import OnExchange
from kdiag.clock import NS_PER_MS, NS_PER_S, Clock
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.probe.rebalance.ownership import OwnershipChange, OwnershipLog
from kdiag.wire import api_keys

_SLICE_NS: Final = 20 * NS_PER_MS
_CLOSE_NS: Final = 4 * NS_PER_S
_HEARTBEATS: Final = frozenset({api_keys.HEARTBEAT, api_keys.CONSUMER_GROUP_HEARTBEAT})
_TELLING: Final = frozenset(
    {
        *_HEARTBEATS,
        api_keys.JOIN_GROUP,
        api_keys.SYNC_GROUP,
        api_keys.LEAVE_GROUP,
        api_keys.FIND_COORDINATOR,
        api_keys.METADATA,
        api_keys.FETCH,
    }
)
"""The exchanges that are kept; fetches without their records."""


class DrilledMember(ConsumerMember, Protocol):
    """A member that can also be given another subscription, or die."""

    def subscribe(self, subscription: TopicSubscription) -> None:
        """Want other topics from the next poll on."""
        ...

    def abandon(self) -> None:
        """Stop the heartbeats without a word, as if the program had died."""
        ...


class MemberMeans(NamedTuple):
    """What all members of a drill have in common.

    Attributes:
        connect: makes a client for a client id, with an observer; it is not connected yet.
        join: makes a member on it, by name.
        log: of who owns what.
        changed: is notified whenever a member has done something.
        clock: all times are its own.
    """

    connect: Callable[[str, OnExchange], ClusterClient]
    join: Callable[[str, ClusterClient, TopicSubscription, RebalanceListener], DrilledMember]
    log: OwnershipLog
    changed: Condition
    clock: Clock


class MemberOrder(Enum):
    """What a member can be told to do."""

    CRASH = auto()
    LEAVE = auto()
    SUBSCRIBE = auto()
    PAUSE = auto()
    RESUME = auto()


class ProbeMember:
    """One member in its thread; all attributes may be read by others.

    Attributes:
        name: its client id.
        exchanges: what crossed the wire, as it ended.
        began_ns: when it began to join, or to carry out its last order, since 1970; None before.
        heartbeat_ns: when its last good heartbeat was sent, since 1970; 0 before the first.
        is_stable: whether it was stable in its group when it last looked.
        is_over: whether its thread has ended.
        failure: why it ended unasked.
    """

    def __init__(self, name: str, means: MemberMeans, subscription: TopicSubscription) -> None:
        self.name = name
        self.exchanges: list[Exchange] = []
        self.began_ns: int | None = None
        self.heartbeat_ns = 0
        self.is_stable = self.is_over = False
        self.failure: Exception | None = None
        self._means = means
        self._subscription = subscription
        self._orders: SimpleQueue[tuple[MemberOrder, TopicSubscription | None]] = SimpleQueue()
        self._member: DrilledMember | None = None
        self._fetcher: Fetcher | None = None
        self._waiting: set[PartitionKey] = set()
        self._unread: set[PartitionKey] = set()
        self._thread = Thread(target=self._run, name=name, daemon=True)

    @property
    def member_id(self) -> str:
        """Return the id that it has, or had; empty before it has any."""
        return "" if self._member is None else self._member.member_id

    def start(self) -> None:
        """Have it join."""
        self._thread.start()

    def order(self, order: MemberOrder, subscription: TopicSubscription | None = None) -> None:
        """Tell it what to do; `began_ns` says when it has begun to."""
        self.began_ns = None
        self._orders.put((order, subscription))

    def await_end(self, timeout_ns: int) -> bool:
        """Wait until its thread has ended; return whether it has."""
        if self._thread.ident is not None:
            self._thread.join(max(0, timeout_ns) / NS_PER_S)
        return not self._thread.is_alive()

    def on_partitions_assigned(self, added: Collection[PartitionKey]) -> None:
        """Begin to read partitions."""
        self._note(OwnershipChange.GIVEN, added)
        self._waiting |= set(added)

    def on_partitions_revoked(self, removed: Collection[PartitionKey]) -> None:
        """Stop reading partitions; nobody owns them now."""
        if self._fetcher is not None:
            self._fetcher.remove(removed)
        self._waiting -= set(removed)
        self._unread -= set(removed)
        self._note(OwnershipChange.TAKEN, removed)

    def on_partitions_lost(self, removed: Collection[PartitionKey]) -> None:
        """Stop reading partitions likewise."""
        self.on_partitions_revoked(removed)

    def _run(self) -> None:
        """Be a member until it is told to end."""
        try:
            with self._means.connect(self.name, self._record) as client:
                client.connect()
                self._attend(client)
        except Exception as error:  # noqa: BLE001 - raised by whoever waits for it
            self.failure = error
        self.is_over, self.is_stable = True, False
        self._notify()

    def _attend(self, client: ClusterClient) -> None:
        """Join, read, and carry out orders."""
        self._begin()
        self._fetcher = fetcher = Fetcher(client, [], FetchLimits(is_committed_only=False))
        member = self._member = self._means.join(self.name, client, self._subscription, self)
        while self._obey(member):
            deadline_ns = self._means.clock.monotonic_ns() + _SLICE_NS
            self.is_stable = member.poll(deadline_ns)
            self._place(client, fetcher)
            if fetcher.positions:
                for batch in fetcher.poll(deadline_ns):
                    self._handle_read(batch.key)
            elif self.is_stable:
                client.wait(_SLICE_NS)
            self._notify()

    def _obey(self, member: DrilledMember) -> bool:
        """Carry out an order, if there is one; return whether to go on."""
        try:
            order, subscription = self._orders.get_nowait()
        except Empty:
            return True
        self.is_stable = False
        now_ns = self._begin()
        if order is MemberOrder.PAUSE:
            order, subscription = self._orders.get()  # as a program that works on a record
        if order is MemberOrder.RESUME:
            return True
        if order is MemberOrder.SUBSCRIBE:
            assert subscription is not None
            member.subscribe(subscription)
            return True
        if order is MemberOrder.CRASH:
            self._means.log.add(OwnershipChange.TAKEN, self.name, member.assignment, now_ns)
            member.abandon()
        else:
            member.close(self._means.clock.monotonic_ns() + _CLOSE_NS)
        return False

    def _place(self, client: ClusterClient, fetcher: Fetcher) -> None:
        """Read the partitions that were given, from their beginnings."""
        if not self._waiting:
            return
        topics = {each.topic for each in self._waiting}
        if any(client.cluster.leader(*each) is None for each in self._waiting):
            client.refresh(sorted(topics))
        for key in sorted(self._waiting):
            partition = client.cluster.partition(*key)
            if partition is not None and partition.leader_id in client.cluster.brokers:
                place = FetchPosition(
                    key=key,
                    offset=0,
                    topic_id=client.cluster.topics[key.topic].topic_id,
                    leader_id=partition.leader_id,
                    leader_epoch=partition.leader_epoch,
                )
                fetcher.add([place])
                self._waiting.discard(key)
                self._unread.add(key)

    def _handle_read(self, key: PartitionKey) -> None:
        """Note the first record of a partition that was given."""
        if key in self._unread:
            self._unread.discard(key)
            self._note(OwnershipChange.READ, [key])

    def _begin(self) -> int:
        self.began_ns = self._means.clock.epoch_ns()
        self._notify()
        return self.began_ns

    def _note(self, change: OwnershipChange, keys: Collection[PartitionKey]) -> None:
        self._means.log.add(change, self.name, keys, self._means.clock.epoch_ns())
        self._notify()

    def _notify(self) -> None:
        with self._means.changed:
            self._means.changed.notify_all()

    def _record(self, exchange: Exchange) -> None:
        """Keep an exchange; either of the member's threads may call this."""
        if exchange.api_key not in _TELLING or exchange.request is None:
            return
        self.exchanges.append(exchange)
        is_beat = exchange.api_key in _HEARTBEATS and exchange.response is not None
        if is_beat and not Dissection(exchange).error_code:
            self.heartbeat_ns = exchange.request.last_byte_ns
