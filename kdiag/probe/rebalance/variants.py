"""Which kinds of groups a cluster can have, and members of each as the configuration has them.

A probe does not wait for what nobody asked for: unless they are set, a session is as short as the
broker allows, heartbeats are three of a session, and new partitions are looked for each second.
With KIP-848 session and heartbeats are the broker's own settings.

Source: Kafka's `GroupCoordinatorConfig`.
"""

from collections.abc import Callable, Sequence
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.config.load import ClientConfig
from kdiag.client.group.classic.consumer_coordinator import ConsumerCoordinator
from kdiag.client.group.configured_member import assignors_named
from kdiag.client.group.consumer.broker_assigned_member import BrokerAssignedMember
from kdiag.client.group.member import MemberSettings, RebalanceListener, TopicSubscription
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.rebalance.model import GroupType
from kdiag.errors import ConfigError
from kdiag.probe.config_value import broker_setting
from kdiag.probe.rebalance.plan import MemberTimes, ProbeVariant, RebalancePlan
from kdiag.probe.rebalance.probe_member import DrilledMember
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY

CLASSIC_ASSIGNORS: Final = ("range", "cooperative-sticky")
BROKER_ASSIGNOR: Final = "uniform"

_SHORTEST_MS: Final = 6_000
_CONSUMER_SESSION_MS: Final = 45_000
_CONSUMER_HEARTBEAT_MS: Final = 5_000
_METADATA_MS: Final = 1_000
_LONGEST_HEARTBEAT_MS: Final = 3_000
_PROTOCOLS: Final = (GroupType.CLASSIC, GroupType.CONSUMER)

_HEARTBEAT: Final = API_BY_KEY[api_keys.CONSUMER_GROUP_HEARTBEAT]

Join = Callable[[str, ClusterClient, TopicSubscription, RebalanceListener], DrilledMember]
"""Makes a member by its name, which has not joined yet."""


def speaks_consumer_protocol(client: ClusterClient) -> bool:
    """Return whether the broker that a client is connected to knows of KIP-848."""
    versions = client.api_versions(client.any_node())
    return versions is not None and versions.range(_HEARTBEAT) is not None


def variants_of(protocols: Sequence[GroupType], assignors: Sequence[str]) -> list[ProbeVariant]:
    """Return the kinds of groups to compare.

    Args:
        protocols: those that were asked for; none for all.
        assignors: likewise. `uniform` is the broker's alone; others are the members', unless the
            consumer protocol alone was asked for.

    Raises:
        ConfigError: if there is no such assignor, or none for a protocol that was asked for.
    """
    of_broker = [each for each in assignors if each == BROKER_ASSIGNOR]
    of_members = [each for each in assignors if each != BROKER_ASSIGNOR]
    if list(protocols) == [GroupType.CONSUMER]:
        of_broker, of_members = list(assignors), []
    assignors_named(of_members)
    if not assignors:
        of_members, of_broker = list(CLASSIC_ASSIGNORS), [BROKER_ASSIGNOR]
    variants = [
        ProbeVariant(kind, each)
        for kind, named in zip(_PROTOCOLS, (of_members, of_broker), strict=True)
        if not protocols or kind in protocols
        for each in dict.fromkeys(named)
    ]
    missing = set(protocols) - {each.protocol for each in variants}
    if missing:
        why = f"no assignor of {', '.join(assignors)} is one of the {min(missing)} protocol"
        raise ConfigError("--assignor", "--assignor", why)
    return variants


def times_of(client: ClusterClient, config: ClientConfig, protocol: GroupType) -> MemberTimes:
    """Return the times of members: as they are set, else short ones.

    Args:
        client: connected; asks a broker for its settings, and does without if it must.
        config: of the members.
        protocol: of the group.
    """
    metadata_ms = _set_ms(config, "metadata.max.age.ms") or _METADATA_MS
    if protocol is GroupType.CONSUMER:
        session_ms = broker_setting(client, "group.consumer.session.timeout.ms")
        heartbeat_ms = broker_setting(client, "group.consumer.heartbeat.interval.ms")
        session_ms = session_ms or _CONSUMER_SESSION_MS
        heartbeat_ms = heartbeat_ms or _CONSUMER_HEARTBEAT_MS
    else:
        shortest_ms = broker_setting(client, "group.min.session.timeout.ms") or _SHORTEST_MS
        session_ms = _set_ms(config, "session.timeout.ms") or shortest_ms
        third_ms = max(1, min(_LONGEST_HEARTBEAT_MS, session_ms // 3))
        heartbeat_ms = _set_ms(config, "heartbeat.interval.ms") or third_ms
    return MemberTimes(*(each * NS_PER_MS for each in (session_ms, heartbeat_ms, metadata_ms)))


def joiner(plan: RebalancePlan, config: ClientConfig, group: str) -> Join:
    """Return what makes the members of a group.

    Args:
        plan: which kind of group, and how its members are.
        config: of the members' clients.
        group: its name.
    """
    variant, times = plan.variant, plan.times

    def join(
        name: str,
        client: ClusterClient,
        subscription: TopicSubscription,
        listener: RebalanceListener,
    ) -> DrilledMember:
        settings = MemberSettings(
            group,
            f"{group}-{name}" if plan.is_static else None,
            session_timeout_ns=times.session_timeout_ns,
            heartbeat_interval_ns=times.heartbeat_interval_ns,
            max_poll_interval_ns=config.max_poll_interval_ms * NS_PER_MS,
            rack=config.client_rack or None,
            retry_backoff_ns=config.retry_backoff_ms * NS_PER_MS,
            retry_backoff_max_ns=config.retry_backoff_max_ms * NS_PER_MS,
            metadata_max_age_ns=times.metadata_max_age_ns,
        )
        settings.check()
        if variant.protocol is GroupType.CONSUMER:
            assignor = variant.assignor
            return BrokerAssignedMember(client, settings, subscription, listener, assignor=assignor)
        assignors = assignors_named([variant.assignor or CLASSIC_ASSIGNORS[0]])
        return ConsumerCoordinator(client, settings, subscription, assignors, listener)

    return join


def _set_ms(config: ClientConfig, key: str) -> int | None:
    """Return a time that the user has set; None if it is Kafka's default."""
    return None if config.values.setting(key) is None else config.values.number(key)
