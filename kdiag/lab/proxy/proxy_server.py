"""A proxy: a listener for each broker of a real cluster, and what goes wrong behind it.

    with ProxyServer(config, ProxySettings(faults=book), clock) as proxy:
        proxy.bootstrap        # 127.0.0.1:40001,127.0.0.1:40002

Clients speak plaintext to it, on this machine; towards the cluster it is a client with TLS and
SASL, as its configuration says. Without SASL in that configuration clients log in themselves: their
requests for that pass, too.
"""

from contextlib import ExitStack, suppress
from functools import partial
from threading import Lock, Thread
from typing import Any, Final, NamedTuple, Self

from kdiag.client.channel_builder import channel_maker
from kdiag.client.config.load import ClientConfig
from kdiag.client.configured_client import configured_client
from kdiag.clock import Clock
from kdiag.errors import ConnectError
from kdiag.lab.broker.traffic_recorder import TrafficRecorder
from kdiag.lab.fault.fault_book import FaultBook
from kdiag.lab.proxy.broker_addresses import BrokerAddresses
from kdiag.lab.proxy.proxy_relay import LOG, ProxyRelay
from kdiag.net.address import DnsLookup, host_and_port, resolve
from kdiag.net.authenticator import NoAuthenticator
from kdiag.net.channel import Channel
from kdiag.net.selector.selector import MakeChannel
from kdiag.net.server.listener import ServerListener
from kdiag.net.transport import PlaintextTransport, Transport

LOOPBACK: Final = "127.0.0.1"


class ProxySettings(NamedTuple):
    """What a proxy is started with.

    Attributes:
        host: where it listens, and what clients are told.
        port: of the listener for the first broker, the next ones follow; 0 for any that are free.
        faults: what goes wrong on purpose; None if nothing ever does.
        recorder: records the traffic of clients.
    """

    host: str = LOOPBACK
    port: int = 0
    faults: FaultBook | None = None
    recorder: TrafficRecorder | None = None


class ProxyServer:
    """A proxy, while a `with` block lasts.

    Attributes:
        relay: its connections.
        addresses: the brokers behind it, and its listeners.
    """

    def __init__(self, config: ClientConfig, settings: ProxySettings, clock: Clock) -> None:
        """Prepare a proxy; nothing is there before the `with` block.

        Args:
            config: of the cluster, with at least one bootstrap server.
            settings: what it is started with.
            clock: of faults.

        Raises:
            ConfigError: if a truststore, a keystore or a setting cannot be used.
        """
        self._config = config
        self._settings = settings
        self._clock = clock
        self._lock = Lock()
        self._closing = ExitStack()
        self._lookup = DnsLookup(config.client_dns_lookup)
        self.addresses = BrokerAddresses(settings.host, self._listen)
        make_upstream = channel_maker(config, clock)
        make_channel = partial(self._make_channel, make_upstream)
        self.relay = ProxyRelay(clock, make_channel, self.addresses, settings.faults)
        self._thread = Thread(target=self.relay.run, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        """Ask the cluster who its brokers are, and listen for each.

        Raises:
            ConnectError: if no broker can be reached, or a port cannot be had.
        """
        with ExitStack() as on_error:
            on_error.callback(self.relay.selector.close)
            on_error.callback(self._closing.close)
            with configured_client(self._config, self._clock) as client:
                client.connect()
                brokers = client.brokers
            for each in brokers:
                self.addresses.add(each.id, each.host, each.port)
            on_error.pop_all()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close every connection."""
        self._closing.close()
        self.relay.stop()
        self._thread.join()

    def __repr__(self) -> str:
        return f"<ProxyServer of {len(self.addresses.ports)} brokers>"

    @property
    def bootstrap(self) -> str:
        """Return its addresses, as `bootstrap.servers` takes them."""
        ports = self.addresses.ports
        return ",".join(host_and_port(self._settings.host, ports[each]) for each in sorted(ports))

    def _listen(self, node_id: int) -> int:
        """Return the port of a new listener for a broker.

        Raises:
            ConnectError: if it cannot be had.
        """
        with self._lock:
            first = self._settings.port
            port = first and first + self._listener_count
            listener = ServerListener(
                self._settings.host, port, lambda sock: self._accept(sock, node_id)
            )
            self._closing.enter_context(listener)
            self._listener_count += 1
            return listener.port

    _listener_count = 0

    def _accept(self, sock: Any, node_id: int) -> None:
        """Hand a client to the relay, in the thread of its listener: names are looked up here."""
        try:
            place = self.addresses.broker_at(node_id)
            addresses = resolve(place.host, place.port, self._lookup)
        except (ConnectError, KeyError) as error:
            LOG.warning("broker %d: %s", node_id, error)
            with suppress(OSError):
                sock.close()
            return
        self.relay.accept(sock, node_id, addresses)

    def _make_channel(
        self, make_upstream: MakeChannel, channel_id: str, sock: Any, peer: str, host: str
    ) -> Channel:
        if not channel_id.startswith("c"):
            return make_upstream(channel_id, sock, peer, host)
        transport: Transport = PlaintextTransport(sock, peer)
        recorder = self._settings.recorder
        if recorder is not None:
            reader = self.relay.reader_of(channel_id)
            broker = host_and_port(*sock.getsockname()[:2])
            transport = recorder.recorded(
                transport, broker, lambda: reader.is_logging_in, reader.masked
            )
        return Channel(channel_id, transport, NoAuthenticator(), self._clock)
