"""Addresses: where a connection goes, by name and by number."""

from typing import NamedTuple


def host_and_port(host: str, port: int) -> str:
    """Return `host:port`, with brackets around IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Address(NamedTuple):
    """One resolved address of a broker.

    Attributes:
        host: the name or literal that was resolved, without brackets; TLS verifies it.
        port: from 1 to 65535.
        ip: what it resolved to, as text; with `%zone` where IPv6 needs one.
        family: `socket.AF_INET` or `socket.AF_INET6`.
    """

    host: str
    port: int
    ip: str
    family: int

    @property
    def peer(self) -> str:
        """Return `host:port` as it was asked for, with brackets around IPv6."""
        return host_and_port(self.host, self.port)
