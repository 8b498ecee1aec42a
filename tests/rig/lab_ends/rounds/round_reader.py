"""Somebody who reads a topic through faults: as a member of a group, or by himself.

    reader = RoundReader(clients, settings, delivered)
    reader.read()         joins, if need be, and reads what there is
    reader.die()          without a word
    reader.leave()        in an orderly way

It reads as `kdiag tail` does, or `kdiag tail -g --commit`. Whatever ends it is an error of kdiag's;
it begins again then, as whoever runs it would.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kdiag.client.fetch.position import FetchedBatch, PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.client.group.classic.consumer_coordinator import ConsumerCoordinator
from kdiag.client.group.configured_member import assignors_named
from kdiag.client.group.consumer.broker_assigned_member import BrokerAssignedMember
from kdiag.client.group.member import MemberSettings, RebalanceListener, TopicSubscription
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import KdiagError
from kdiag.probe.tail.follower import Tail
from kdiag.probe.tail.group_tail import GroupTail, GroupTailRequest
from kdiag.probe.tail.offset_spec import At, OffsetSpec, Position
from kdiag.probe.tail.placement import TailRequest
from kdiag.probe.tail.record_runs import RecordRun, Unreadable, record_runs
from kdiag.probe.tail.topic_selection import TopicSelector
from lab_ends.rounds.round_clients import RoundClients

if TYPE_CHECKING:
    from kdiag.client.cluster_client import ClusterClient

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
ALONE: Final = "none"
"""The protocols: of a group whose members assign partitions, or the broker; and without a group."""

_POLL_NS: Final = 200 * NS_PER_MS
_CLOSE_NS: Final = 5 * NS_PER_S


class RoundError(AssertionError):
    """A round in which something was not as it has to be."""


class ReaderSettings(NamedTuple):
    """How somebody reads.

    Attributes:
        topic: what is read.
        group_id: the group.
        name: of the client.
        protocol: one of those above.
        assignor: of the members, or of the broker.
        instance_id: of a static member; None for a dynamic one.
        partition_max_bytes: of a Fetch.
        is_deceived: whether it may be told what no broker said.
    """

    topic: str
    group_id: str
    name: str
    protocol: str
    assignor: str
    instance_id: str | None = None
    partition_max_bytes: int = 1 << 20
    is_deceived: bool = False

    @property
    def tail(self) -> GroupTailRequest:
        """Return what it reads, and how often it commits."""
        start = OffsetSpec(Position(At.BEGINNING))
        limits = FetchLimits(partition_max_bytes=self.partition_max_bytes)
        return GroupTailRequest(
            tail=TailRequest([TopicSelector(self.topic)], start, limits=limits),
            group_id=self.group_id,
            commits=True,
            commit_interval_ns=300 * NS_PER_MS,
        )

    @property
    def member(self) -> MemberSettings:
        """Return the member's times, which are short."""
        return MemberSettings(
            self.group_id,
            self.instance_id,
            session_timeout_ns=10 * NS_PER_S,
            heartbeat_interval_ns=1_500 * NS_PER_MS,
            max_poll_interval_ns=60 * NS_PER_S,
            retry_backoff_ns=2 * NS_PER_MS,
            retry_backoff_max_ns=200 * NS_PER_MS,
        )


class Delivered:
    """The records that a group, or a reader without one, has got."""

    def __init__(self) -> None:
        self._values: defaultdict[PartitionKey, dict[int, str]] = defaultdict(dict)

    def add(self, key: PartitionKey, offset: int, value: str, *, is_deceived: bool) -> None:
        """Add a record.

        Raises:
            RoundError: if there was another one before.
        """
        known = self._values[key].setdefault(offset, value)
        if known != value and not is_deceived:
            raise RoundError(f"{key}@{offset} was {known!r}, and is {value!r}")

    def missing(self, key: PartitionKey, offsets: range) -> list[int]:
        """Return which offsets of a partition were not delivered."""
        return [each for each in offsets if each not in self._values[key]]


class RoundReader:
    """A member, or one after the other; for one thread.

    Attributes:
        errors: what has ended them, in a few words each.
        notices: what they told.
        is_uncommitted: whether the last one that left had to leave something uncommitted.
    """

    def __init__(
        self, clients: RoundClients, settings: ReaderSettings, delivered: Delivered
    ) -> None:
        """Join with the first `read`.

        Args:
            clients: makes the clients.
            settings: how it reads.
            delivered: gets what it reads.
        """
        self.errors: list[str] = []
        self.notices: list[str] = []
        self.is_uncommitted = False
        self._clients = clients
        self._settings = settings
        self._delivered = delivered
        self._printed: dict[PartitionKey, int] = {}
        self._client: ClusterClient | None = None
        self._tail: GroupTail | Tail | None = None
        self._member: ConsumerCoordinator | BrokerAssignedMember | None = None

    @property
    def positions(self) -> dict[PartitionKey, int]:
        """Return how far it has read what it has."""
        return {**self._printed}

    def read(self) -> None:
        """Read for a moment; begin again at the next time if that is not possible.

        Raises:
            RoundError: if it gets what does not follow on what it had.
        """
        try:
            tail = self._joined()
            batches = tail.poll(self._clients.clock.monotonic_ns() + _POLL_NS)
            self._print(batches)
            self._printed.update((key, each.offset) for key, each in tail.positions.items())
            self._note(tail)
        except KdiagError as error:
            self.errors.append(f"{type(error).__name__}: {error}")
            self.leave()

    def leave(self) -> None:
        """Commit what was read, and leave the group; what fails at that is an error, too."""
        tail = self._tail
        if isinstance(tail, GroupTail):
            try:
                tail.close(self._clients.clock.monotonic_ns() + _CLOSE_NS)
            except KdiagError as error:
                self.errors.append(f"leaving: {type(error).__name__}: {error}")
            self._note(tail)
            self.is_uncommitted = tail.is_uncommitted
        self._hang_up()

    def die(self) -> None:
        """End as a program that is killed: nobody is told."""
        if self._member is not None:
            self._member.abandon()
        self._hang_up()

    def _hang_up(self) -> None:
        if self._client is not None:
            self._clients.close(self._client)
        self._client = self._tail = self._member = None
        self._printed = {}

    def _joined(self) -> GroupTail | Tail:
        """Return the tail, once there is one.

        Raises:
            KdiagError: if there cannot be one now.
        """
        if self._tail is None:
            settings = self._settings
            self._client = client = self._clients.connect(settings.name)
            if settings.protocol == ALONE:
                self._tail = Tail(client, settings.tail.tail)
                self._printed = {key: at.offset for key, at in self._tail.positions.items()}
            else:
                self._tail = GroupTail(client, settings.tail, self._make, self._printed)
        return self._tail

    def _make(
        self, subscription: TopicSubscription, listener: RebalanceListener
    ) -> ConsumerCoordinator | BrokerAssignedMember:
        assert self._client is not None
        settings = self._settings
        if settings.protocol == CONSUMER:
            self._member = BrokerAssignedMember(
                self._client, settings.member, subscription, listener, assignor=settings.assignor
            )
        else:
            assignors = assignors_named([settings.assignor])
            self._member = ConsumerCoordinator(
                self._client, settings.member, subscription, assignors, listener
            )
        return self._member

    def _print(self, batches: Sequence[FetchedBatch]) -> None:
        """Take records as the program prints them."""
        for run in record_runs(batches):
            if isinstance(run, Unreadable):
                if not self._settings.is_deceived:
                    raise RoundError(f"{run.origin.key}: {run.why}")
            else:
                self._print_run(run)

    def _print_run(self, run: RecordRun) -> None:
        key, is_deceived = run.origin.key, self._settings.is_deceived
        for offset, value in zip(run.columns.offsets(), run.columns.values(), strict=True):
            expected = self._printed.get(key, 0)
            if offset != expected and not is_deceived:
                raise RoundError(f"{key}: {offset} was delivered, {expected} is next")
            text = (value or b"").decode(errors="replace")
            self._delivered.add(key, offset, text, is_deceived=is_deceived)
            self._printed[key] = offset + 1

    def _note(self, tail: GroupTail | Tail) -> None:
        self.notices += [each.text for each in tail.take_notices()]


class NoListener:
    """Hears of no partitions."""

    def on_partitions_assigned(self, added: object) -> None:
        """Do nothing."""

    def on_partitions_revoked(self, removed: object) -> None:
        """Do nothing."""

    def on_partitions_lost(self, removed: object) -> None:
        """Do nothing."""
