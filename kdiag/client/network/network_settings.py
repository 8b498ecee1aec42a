"""Network settings: what a network client is made with."""

from typing import Final, NamedTuple

from kdiag.client.network.connection_states import ConnectionTimes
from kdiag.client.network.connections import Lookup
from kdiag.net.resolve import resolve

_S: Final = 1_000_000_000


class NetworkSettings(NamedTuple):
    """What a network client may be told; the defaults are Kafka's own.

    Attributes:
        client_id: `client.id`, which every request names.
        times: how long to wait for connections.
        request_timeout_ns: `request.timeout.ms`.
        max_in_flight: `max.in.flight.requests.per.connection`.
        discovers_versions: whether each connection begins with ApiVersions.
        lookup: finds the addresses of a host.
    """

    client_id: str | None = "kdiag"
    times: ConnectionTimes = ConnectionTimes()
    request_timeout_ns: int = 30 * _S
    max_in_flight: int = 5
    discovers_versions: bool = True
    lookup: Lookup = resolve


DEFAULT_SETTINGS: Final = NetworkSettings()
