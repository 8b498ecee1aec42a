"""Addresses: from the name of a host to where a connection goes.

    host_and_port("::1", 9092)          [::1]:9092
    resolve("kafka1", 9092)             every address of one name, or a ConnectError that says why
    look_up_all([("kafka1", 9092), ...])    many names at once, none waited for longer than a limit

Only this module asks for names; a `ConnectError` of the layer DNS comes from here.
"""

import socket
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from threading import Condition, Thread
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S, Clock
from kdiag.errors import ConnectError, Fault, Layer

LARGEST_PORT: Final = 65535
_SPELLING_FIX: Final = "Check the spelling, or ask DNS: getent hosts {host}"
_SHORT_NAME_FIX: Final = (
    "Check the spelling; a name without a dot often resolves only inside its own network (Docker, "
    "Kubernetes): have the broker advertise a name that is known here"
)
_NAME_SERVER_FIX: Final = (
    "Check the network and the name servers of this machine: getent hosts {host}"
)


class Address(NamedTuple):
    """One resolved address of a broker.

    Attributes:
        host: the name or literal that was resolved, without brackets; TLS verifies it.
        port: from 1 to 65535.
        ip: the IP address as text; with `%zone` where IPv6 needs one.
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


Resolve = Callable[[str, int], Sequence[Address]]
"""Returns the addresses of a host and port, at least one, or raises ConnectError."""


class DnsLookup(StrEnum):
    """The values of `client.dns.lookup`."""

    USE_ALL_DNS_IPS = "use_all_dns_ips"
    RESOLVE_CANONICAL_BOOTSTRAP_SERVERS_ONLY = "resolve_canonical_bootstrap_servers_only"


class Lookup(NamedTuple):
    """The result of looking up one name.

    Attributes:
        addresses: at least one, unless there is an error.
        error: why there is none.
        took_ns: how long it took.
    """

    addresses: Sequence[Address]
    error: ConnectError | None
    took_ns: int


def host_and_port(host: str, port: int) -> str:
    """Return `host:port`, with brackets around IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def resolve(host: str, port: int, lookup: DnsLookup = DnsLookup.USE_ALL_DNS_IPS) -> list[Address]:
    """Return every address of a host, each once, in the order that the system prefers.

    Args:
        host: a name, an IPv4 or an IPv6 literal, the latter with or without brackets.
        port: the port.
        lookup: whether to use the canonical names of the host's addresses, one by one, as Kerberos
            needs it where one name stands for many brokers.

    Raises:
        ConnectError: if there is none (layer DNS), or the port is out of range (layer TCP).
    """
    host = host.removeprefix("[").removesuffix("]")
    if not 0 < port <= LARGEST_PORT:
        why = f"port {port} is not from 1 to {LARGEST_PORT}"
        raise ConnectError(host_and_port(host, port), Layer.TCP, why, "Give the port of a listener")
    addresses = _look_up(host, port)
    if lookup is DnsLookup.USE_ALL_DNS_IPS:
        return addresses
    names = dict.fromkeys(_canonical_name(address) for address in addresses)
    return [address for name in names for address in _look_up(name, port)]


def look_up_all(
    endpoints: Iterable[tuple[str, int]], resolve: Resolve, clock: Clock, limit_ns: int
) -> dict[tuple[str, int], Lookup]:
    """Look up many hosts at the same time, and return the results in the order given.

    Args:
        endpoints: host and port.
        resolve: looks one up, in a thread.
        clock: measures how long each took.
        limit_ns: after which a name counts as not found, in the machine's own time.
    """
    wanted = list(dict.fromkeys(endpoints))
    found: dict[tuple[str, int], Lookup] = {}
    changed = Condition()
    began_ns = clock.monotonic_ns()

    def look_up(endpoint: tuple[str, int]) -> None:
        addresses: Sequence[Address] = ()
        error = None
        try:
            addresses = resolve(*endpoint)
        except ConnectError as failure:
            error = failure
        with changed:
            found[endpoint] = Lookup(addresses, error, clock.monotonic_ns() - began_ns)
            changed.notify()

    for endpoint in wanted:
        Thread(target=look_up, args=[endpoint], daemon=True).start()
    with changed:
        changed.wait_for(lambda: len(found) == len(wanted), limit_ns / NS_PER_S)
        return {each: found.get(each) or _unanswered(*each, limit_ns) for each in wanted}


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
    """Return the name of an address, or the address itself if it has none."""
    try:
        return socket.gethostbyaddr(address.ip)[0]
    except OSError:
        return address.ip


def _unresolved(host: str, port: int, number: int | None, detail: str) -> ConnectError:
    fault = Fault.UNRESOLVED
    if number is None:
        why, fix = f"{host!r} is not a host name: {detail}", "Give a host name or an IP address"
    elif number == socket.EAI_AGAIN:
        fault = Fault.NO_NAME_SERVER
        why = f"no name server could be asked for {host} ({detail})"
        fix = _NAME_SERVER_FIX.format(host=host)
    else:
        why = f"no address is known for {host} ({detail})"
        fix = _SHORT_NAME_FIX if "." not in host else _SPELLING_FIX.format(host=host)
    return ConnectError(host_and_port(host, port), Layer.DNS, why, fix, fault)


def _unanswered(host: str, port: int, limit_ns: int) -> Lookup:
    why = f"no name server has answered for {host} within {limit_ns / NS_PER_S:.3g} s"
    address, fix = host_and_port(host, port), _NAME_SERVER_FIX.format(host=host)
    error = ConnectError(address, Layer.DNS, why, fix, Fault.NO_NAME_SERVER)
    return Lookup((), error, limit_ns)
