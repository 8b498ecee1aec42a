"""Nodes: where brokers listen, as connections are made to them."""

from typing import NamedTuple

from kdiag.net.address import Address, host_and_port


class Node(NamedTuple):
    """One place where a broker listens.

    Attributes:
        id: of its connection: a broker's id as text, `-1`, `-2` ... for bootstrap servers; a
            second connection to the same broker has an id of its own.
        host: as configured, or as the broker advertises it.
        port: the same.
        address: the one address to connect to; None to look `host` up.
    """

    id: str
    host: str
    port: int
    address: Address | None = None

    @property
    def endpoint(self) -> str:
        """Return `host:port`, an IPv6 address in brackets."""
        return host_and_port(self.host, self.port)
