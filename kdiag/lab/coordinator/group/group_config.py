"""The settings of a group coordinator, with Kafka's names and defaults, and who a client is.

    GroupCoordinatorConfig(group_initial_rebalance_delay_ms=0)

A lab keeps Kafka's default of three seconds for the first rebalance, so that what one sees is what
Kafka does; tests, which want it sooner, give another.

Source: Kafka's `GroupCoordinatorConfig`.
"""

from typing import NamedTuple

_INT32_MAX = (1 << 31) - 1


class GroupCoordinatorConfig(NamedTuple):
    """The settings of a group coordinator; each has the name of Kafka's, with `_` for `.`.

    Attributes:
        group_min_session_timeout_ms: what members of classic groups may ask for, at least.
        group_max_session_timeout_ms: and at the most.
        group_initial_rebalance_delay_ms: how long the first members of a group are waited for.
        group_max_size: the most members of a classic group.
        group_consumer_session_timeout_ms: how long a member of a consumer group may be silent.
        group_consumer_heartbeat_interval_ms: how often it is to be heard of.
        group_consumer_max_size: the most members of a consumer group.
        offset_metadata_max_bytes: the longest text that is committed with an offset.
        offsets_retention_minutes: how long offsets are kept that nobody needs.
        offsets_retention_check_interval_ms: how often that is looked at.
    """

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = _INT32_MAX
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_max_size: int = _INT32_MAX
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000


class GroupClient(NamedTuple):
    """Who asks.

    Attributes:
        client_id: the name that the client has given itself.
        client_host: its address, as Java writes it: `/127.0.0.1`.
        version: of its request.
    """

    client_id: str
    client_host: str
    version: int
