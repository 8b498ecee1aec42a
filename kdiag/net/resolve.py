"""Resolving: from the name of a broker to its addresses.

`socket.getaddrinfo` blocks for as long as the system's resolver takes.

Source: Kafka's `ClientUtils`, `ClientDnsLookup`; KIP-235, KIP-302, KIP-602.
"""

import socket
from enum import StrEnum

from kdiag.errors import ConnectError, Layer
from kdiag.net.address import Address, host_and_port


class DnsLookup(StrEnum):
    """The values of `client.dns.lookup`."""

    USE_ALL_DNS_IPS = "use_all_dns_ips"
    RESOLVE_CANONICAL_BOOTSTRAP_SERVERS_ONLY = "resolve_canonical_bootstrap_servers_only"


def resolve(host: str, port: int, lookup: DnsLookup = DnsLookup.USE_ALL_DNS_IPS) -> list[Address]:
    """Return every address of a host, each once, in the order that the system prefers.

    Args:
        host: a name, an IPv4 or an IPv6 literal, the latter with or without brackets.
        port: the port.
        lookup: whether to go by the canonical names of the host's addresses, one by one, as
            Kerberos needs it where one name stands for many brokers.

    Raises:
        ConnectError: if there is none, in the layer DNS.
    """
    host = host.removeprefix("[").removesuffix("]")
    addresses = _lookup(host, port)
    if lookup is DnsLookup.USE_ALL_DNS_IPS:
        return addresses
    canonical = dict.fromkeys(_canonical_name(address) for address in addresses)
    return [address for name in canonical for address in _lookup(name, port)]


def _lookup(host: str, port: int) -> list[Address]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError, OverflowError) as error:
        raise _unresolved(host, port, error) from None
    return list(dict.fromkeys(Address(host, port, str(row[4][0]), row[0]) for row in found))


def _canonical_name(address: Address) -> str:
    """Return the name that an address has of its own, or the address where it has none."""
    try:
        return socket.gethostbyaddr(address.ip)[0]
    except OSError:
        return address.ip


def _unresolved(host: str, port: int, error: Exception) -> ConnectError:
    return ConnectError(host_and_port(host, port), Layer.DNS, str(error))
