"""Makes a cluster client from a configuration."""

from kdiag.client.channel_builder import channel_maker
from kdiag.client.cluster_client import ClusterClient, ClusterSettings
from kdiag.client.config.load import ClientConfig
from kdiag.client.network.observer import ExchangeObserver, OnExchange
from kdiag.client.network.settings import IMPATIENT, ConnectionTimes, NetworkSettings
from kdiag.clock import NS_PER_MS, Clock
from kdiag.net.address import Address, DnsLookup, resolve
from kdiag.net.selector.selector import NEVER, SelectorSettings
from kdiag.net.timed_channel import TimedChannels


def configured_client(
    config: ClientConfig, clock: Clock, on_exchange: OnExchange | None = None
) -> ClusterClient:
    """Return a client of the cluster that a configuration names, not connected yet.

    Args:
        config: with at least one bootstrap server.
        clock: all times are its own.
        on_exchange: is called with everything that crosses the wire, authentication too.

    Raises:
        ConfigError: if a truststore, a keystore or a setting cannot be used.
    """
    return timed_client(config, clock, on_exchange)[0]


def timed_client(
    config: ClientConfig, clock: Clock, on_exchange: OnExchange | None = None
) -> tuple[ClusterClient, TimedChannels]:
    """Return the same client, and the channels that record how far each connection came.

    Args:
        config: with at least one bootstrap server.
        clock: all times are its own.
        on_exchange: as above.

    Raises:
        ConfigError: if a truststore, a keystore or a setting cannot be used.
    """
    observer = None if on_exchange is None else ExchangeObserver(on_exchange, config.client_id)
    authenticating = None if observer is None else observer.record_authentication
    timed = TimedChannels(channel_maker(config, clock, authenticating), clock)
    return ClusterClient(cluster_settings(config), timed, clock, observer), timed


def cluster_settings(config: ClientConfig) -> ClusterSettings:
    """Return the settings of a client with a configuration.

    A person at a terminal is less patient than Kafka's clients: unless
    `socket.connection.setup.timeout.ms` is given, it is the short one of `IMPATIENT`.
    """
    lookup = DnsLookup(config.client_dns_lookup)

    def addresses(host: str, port: int) -> list[Address]:
        return resolve(host, port, lookup)

    idle_ms = config.connections_max_idle_ms
    return ClusterSettings(
        servers=config.bootstrap_servers,
        network=NetworkSettings(
            client_id=config.client_id,
            times=_times(config),
            request_timeout_ns=config.request_timeout_ms * NS_PER_MS,
            max_in_flight=config.max_in_flight_requests_per_connection,
            release=config.as_version,
            lookup=addresses,
        ),
        selector=SelectorSettings(
            max_idle_ns=NEVER if idle_ms < 0 else idle_ms * NS_PER_MS,
            send_buffer_bytes=config.send_buffer_bytes,
            receive_buffer_bytes=config.receive_buffer_bytes,
        ),
    )


def _times(config: ClientConfig) -> ConnectionTimes:
    times = IMPATIENT._replace(
        reconnect_backoff_ns=config.reconnect_backoff_ms * NS_PER_MS,
        reconnect_backoff_max_ns=config.reconnect_backoff_max_ms * NS_PER_MS,
    )
    if config.values.setting("socket.connection.setup.timeout.ms") is None:
        return times
    return times._replace(
        setup_timeout_ns=config.socket_connection_setup_timeout_ms * NS_PER_MS,
        setup_timeout_max_ns=config.socket_connection_setup_timeout_max_ms * NS_PER_MS,
    )
