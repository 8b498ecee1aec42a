"""Members as the configuration of a client describes them: settings, and assignors by name.

    settings = member_settings(config, "billing")
    assignors = assignors_named(config.values.words("partition.assignment.strategy"))

Assignors go by their names in the protocol, as librdkafka's settings have them, or by Java's
classes: `org.apache.kafka.clients.consumer.RangeAssignor`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kdiag.client.config.load import ClientConfig
from kdiag.client.group.assignor.assignor import Assignor
from kdiag.client.group.assignor.cooperative_sticky import CooperativeStickyAssignor
from kdiag.client.group.assignor.range import RangeAssignor
from kdiag.client.group.assignor.round_robin import RoundRobinAssignor
from kdiag.client.group.assignor.sticky import StickyAssignor
from kdiag.client.group.member import MemberSettings
from kdiag.clock import NS_PER_MS
from kdiag.errors import ConfigError

STRATEGY: Final = "partition.assignment.strategy"

ASSIGNORS: Final[Mapping[str, Callable[[], Assignor]]] = {
    "range": RangeAssignor,
    "roundrobin": RoundRobinAssignor,
    "sticky": StickyAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
"""Makes the assignor of each name."""

_CLASSES: Final = {f"{each.replace('-', '')}assignor": each for each in ASSIGNORS}
"""Names by those of Java's classes, in lower case."""


def member_settings(
    config: ClientConfig, group_id: str, group_instance_id: str | None = None
) -> MemberSettings:
    """Return the settings of a member that commits what it is told to.

    Args:
        config: of its client.
        group_id: the group to join.
        group_instance_id: of a static member; None for `group.instance.id` of the configuration.

    Raises:
        ConfigError: if settings contradict each other.
    """
    settings = MemberSettings(
        group_id,
        group_instance_id or config.values.text("group.instance.id") or None,
        session_timeout_ns=config.session_timeout_ms * NS_PER_MS,
        heartbeat_interval_ns=config.heartbeat_interval_ms * NS_PER_MS,
        max_poll_interval_ns=config.max_poll_interval_ms * NS_PER_MS,
        rack=config.client_rack or None,
        retry_backoff_ns=config.retry_backoff_ms * NS_PER_MS,
        retry_backoff_max_ns=config.retry_backoff_max_ms * NS_PER_MS,
        metadata_max_age_ns=config.metadata_max_age_ms * NS_PER_MS,
    )
    settings.check()
    return settings


def assignors_named(names: Iterable[str]) -> list[Assignor]:
    """Return new assignors by their names, or by those of Java's classes.

    Raises:
        ConfigError: if there is none of a name.
    """
    return [ASSIGNORS[_known(each)]() for each in names]


def _known(name: str) -> str:
    known = _CLASSES.get(name.rpartition(".")[2].lower(), name)
    if known not in ASSIGNORS:
        why = f"expected assignors of {', '.join(ASSIGNORS)}; found {name!r}"
        raise ConfigError(STRATEGY, STRATEGY, why)
    return known
