"""A lab of one broker, and a proxy before it.

with proxied_lab() as proxied:
    proxied.book.add(parse_fault("Fetch delay=1s"))
    LabClient(proxied.port)
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kdiag.client.config.load import ClientConfig, ConfigSources, load_config
from kdiag.client.config.sources import settings_of
from kdiag.clock import SystemClock
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.fault.fault_book import FaultBook
from kdiag.lab.proxy.proxy_server import ProxyServer, ProxySettings


class ProxiedLab(NamedTuple):
    """A lab, a proxy before it, and its faults."""

    lab: LabCluster
    proxy: ProxyServer
    book: FaultBook

    @property
    def port(self) -> int:
        """Return the port for the first broker."""
        return self.proxy.addresses.ports[1]


def client_config(bootstrap: str, settings: dict[str, str] | None = None) -> ClientConfig:
    """Return the configuration of a client."""
    given = {"bootstrap.servers": bootstrap} | (settings or {})
    options = [each for name, value in given.items() for each in settings_of(name, value, "test")]
    return load_config(ConfigSources(options=options))


@contextmanager
def proxied_lab() -> Iterator[ProxiedLab]:
    """Run a lab with a topic of two partitions, and a proxy before it."""
    clock = SystemClock()
    settings = LabSettings(topics=(NewTopic("orders", 2),))
    with LabCluster(settings) as lab:
        book = FaultBook(clock)
        config = client_config(lab.bootstrap)
        with ProxyServer(config, ProxySettings(faults=book), clock) as proxy:
            yield ProxiedLab(lab, proxy, book)
