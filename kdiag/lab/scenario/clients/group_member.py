"""Members of groups that do what they are told: the members of kdiag's own rebalance probe.

A session is as short as a broker of a scenario allows unless the member's settings say otherwise.
"""

from threading import Condition
from typing import TYPE_CHECKING, Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.config.load import ClientConfig
from kdiag.client.configured_client import configured_client
from kdiag.client.group.classic.consumer_coordinator import ConsumerCoordinator
from kdiag.client.group.configured_member import assignors_named, member_settings
from kdiag.client.group.consumer.broker_assigned_member import BrokerAssignedMember
from kdiag.client.group.member import RebalanceListener, TopicSubscription
from kdiag.client.network.observer import OnExchange
from kdiag.clock import NS_PER_S, Clock
from kdiag.lab.scenario.scenario import MemberClient
from kdiag.probe.rebalance.ownership import OwnershipLog
from kdiag.probe.rebalance.probe_member import (
    DrilledMember,
    MemberMeans,
    MemberOrder,
    ProbeMember,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_STOP_NS: Final = 10 * NS_PER_S


class ScenarioMember:
    """A member, from when it joins until it is told to go.

    Attributes:
        name: its client id.
        is_lasting: that it does not end by itself.
    """

    is_lasting = True

    def __init__(self, wanted: MemberClient, config: ClientConfig, clock: Clock) -> None:
        """Prepare it.

        Args:
            wanted: what it is.
            config: of its client.
            clock: all times are its own.

        Raises:
            ConfigError: if its settings contradict each other, or there is no such assignor.
        """
        self.name = wanted.name
        self._wanted = wanted
        self._settings = member_settings(config, wanted.group, wanted.instance_id)
        assignors_named(wanted.assignors)

        def connect(_client_id: str, on_exchange: OnExchange) -> ClusterClient:
            return configured_client(config, clock, on_exchange)

        means = MemberMeans(connect, self._make, OwnershipLog(wanted.topics[0]), Condition(), clock)
        self._member = ProbeMember(wanted.name, means, TopicSubscription.of(*wanted.topics))

    @property
    def is_over(self) -> bool:
        """Return whether it has ended."""
        return self._member.is_over

    @property
    def failure(self) -> str | None:
        """Return why it ended unasked; None if it did not."""
        failure = self._member.failure
        return None if failure is None else f"{self.name}: {failure}"

    def start(self) -> None:
        """Have it join."""
        self._member.start()

    def order(self, order: MemberOrder, topics: tuple[str, ...] = ()) -> None:
        """Tell it what to do."""
        self._member.order(order, TopicSubscription.of(*topics) if topics else None)

    def stop(self) -> None:
        """Have it die, and wait for that."""
        if not self.is_over:
            self.order(MemberOrder.CRASH)
        self._member.await_end(_STOP_NS)

    def _make(
        self,
        _name: str,
        client: ClusterClient,
        subscription: TopicSubscription,
        listener: RebalanceListener,
    ) -> DrilledMember:
        """Return the member beneath."""
        make: Callable[..., DrilledMember] = BrokerAssignedMember
        if self._wanted.protocol == "consumer":
            return make(client, self._settings, subscription, listener)
        assignors = assignors_named(self._wanted.assignors)
        return ConsumerCoordinator(client, self._settings, subscription, assignors, listener)
