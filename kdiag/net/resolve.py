"""Resolving: from the name of a broker to its addresses.

`socket.getaddrinfo` blocks for as long as the system's resolver takes.

Source: Kafka's `ClientUtils`, `ClientDnsLookup`; KIP-235, KIP-302, KIP-602.
"""

import socket
from enum import StrEnum
from typing import Final

from kdiag.errors import ConnectError, Fault, Layer
from kdiag.net.address import Address, host_and_port

_LARGEST_PORT: Final = 65535
_INSIDE: Final = (
    "Check the spelling; a name without a dot often resolves only inside its own network (Docker, "
    "Kubernetes): have the broker advertise a name that is known here"
)


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
        ConnectError: if there is none, in the layer DNS; if the port is none, in the layer TCP.
    """
    host = host.removeprefix("[").removesuffix("]")
    if not 0 < port <= _LARGEST_PORT:
        why = f"port {port} is not from 1 to {_LARGEST_PORT}"
        raise ConnectError(host_and_port(host, port), Layer.TCP, why, "Give the port of a listener")
    addresses = _look_up(host, port)
    if lookup is DnsLookup.USE_ALL_DNS_IPS:
        return addresses
    names = dict.fromkeys(_canonical_name(address) for address in addresses)
    return [address for name in names for address in _look_up(name, port)]


def _look_up(host: str, port: int) -> list[Address]:
    try:
        # An empty name would be this machine.
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM) if host else []
    except socket.gaierror as error:
        raise _unresolved(host, port, error.errno, str(error.strerror)) from None
    except (OSError, ValueError) as error:
        raise _unresolved(host, port, None, str(error)) from None
    if not found:
        raise _unresolved(host, port, None, "it is empty")
    return list(dict.fromkeys(Address(host, port, str(row[4][0]), row[0]) for row in found))


def _canonical_name(address: Address) -> str:
    """Return the name that an address has of its own, or the address where it has none."""
    try:
        return socket.gethostbyaddr(address.ip)[0]
    except OSError:
        return address.ip


def _unresolved(host: str, port: int, number: int | None, detail: str) -> ConnectError:
    fault = Fault.UNRESOLVED
    if number is None:
        why, fix = f"{host!r} is no host name: {detail}", "Give a host name or an IP address"
    elif number == socket.EAI_AGAIN:
        fault = Fault.NO_NAME_SERVER
        why = f"no name server could be asked for {host} ({detail})"
        fix = f"Check the network and the name servers of this machine: getent hosts {host}"
    else:
        why = f"no address is known for {host} ({detail})"
        fix = _INSIDE if "." not in host else f"Check the spelling, or ask DNS: getent hosts {host}"
    return ConnectError(host_and_port(host, port), Layer.DNS, why, fix, fault)
