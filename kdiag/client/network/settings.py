"""The settings of a network client, with Kafka's defaults.

Times are in nanoseconds. Defaults are those of `kdiag.client.config.keys`, where they stand once.

Source: Kafka's `CommonClientConfigs`; KIP-144 (reconnect backoff), KIP-601 (setup timeout).
"""

from typing import Final, NamedTuple

from kdiag.client.config.keys import NUMBERS, default_ns
from kdiag.clock import NS_PER_S
from kdiag.net.address import Resolve, resolve
from kdiag.wire.client_release import ClientRelease


class ConnectionTimes(NamedTuple):
    """How patient a client is with connections.

    Attributes:
        reconnect_backoff_ns, reconnect_backoff_max_ns: `reconnect.backoff.ms` and its maximum.
        setup_timeout_ns, setup_timeout_max_ns: `socket.connection.setup.timeout.ms` and maximum.
        jitter: by which part of itself each may differ.
    """

    reconnect_backoff_ns: int = default_ns("reconnect.backoff.ms")
    reconnect_backoff_max_ns: int = default_ns("reconnect.backoff.max.ms")
    setup_timeout_ns: int = default_ns("socket.connection.setup.timeout.ms")
    setup_timeout_max_ns: int = default_ns("socket.connection.setup.timeout.max.ms")
    jitter: float = 0.2


IMPATIENT: Final = ConnectionTimes(setup_timeout_ns=2 * NS_PER_S, jitter=0.0)
"""Times for a person at a terminal, who wants to know soon what does not connect."""


class NetworkSettings(NamedTuple):
    """The settings of a network client.

    Attributes:
        client_id: `client.id`, which every request names.
        times: how patient it is with connections.
        request_timeout_ns: `request.timeout.ms`.
        max_in_flight: `max.in.flight.requests.per.connection`.
        discovers_versions: whether each connection begins with ApiVersions.
        release: Kafka's, as the clients of which it speaks; None for no such limit.
        lookup: finds the addresses of a host.
    """

    client_id: str | None = "kdiag"
    times: ConnectionTimes = ConnectionTimes()
    request_timeout_ns: int = default_ns("request.timeout.ms")
    max_in_flight: int = NUMBERS["max.in.flight.requests.per.connection"].default
    discovers_versions: bool = True
    release: ClientRelease | None = None
    lookup: Resolve = resolve


DEFAULT_SETTINGS: Final = NetworkSettings()
