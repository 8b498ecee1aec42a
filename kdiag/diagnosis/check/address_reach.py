"""How far an address reaches: this machine only, a network, a container host, or everywhere.

A broker that advertises an address which reaches less far than the one its clients began with
sends them where they cannot follow.

Source: RFC 1122, 1918, 3927, 4193, 4291, 6598 (special addresses); Docker's default networks.
"""

import re
from enum import IntEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address
from typing import Final

_DOCKER: Final = IPv4Network("172.17.0.0/16")
_SHARED: Final = IPv4Network("100.64.0.0/10")
_CONTAINER_ID: Final = re.compile(r"[0-9a-f]{12}")
_CLUSTER_NAMES: Final = (".svc", ".cluster.local")
_DOCKER_NAMES: Final = (".docker.internal",)


class Reach(IntEnum):
    """How far an address reaches, the least first."""

    NOWHERE = 0
    MACHINE = 1
    LINK = 2
    NETWORK = 3
    EVERYWHERE = 4


def reach_of(ip: str) -> Reach:
    """Return how far an IP address reaches.

    Args:
        ip: as text, an IPv6 one maybe with `%zone`.
    """
    address = _plain(ip)
    if address.is_unspecified:
        return Reach.NOWHERE
    if address.is_loopback:
        return Reach.MACHINE
    if address.is_link_local:
        return Reach.LINK
    return Reach.NETWORK if _is_private(address) else Reach.EVERYWHERE


def where(host: str, ip: str | None) -> str | None:
    """Return what is special about an address, as a noun; None if nothing is.

    Args:
        host: as it is advertised.
        ip: what it resolved to here; None if it did not.
    """
    by_name = _by_name(host, ip)
    if by_name is not None or ip is None:
        return by_name
    address = _plain(ip)
    reach = reach_of(ip)
    if reach is Reach.NETWORK and address.version == _DOCKER.version and address in _DOCKER:
        return "an address inside Docker's default network, known on its host only"
    return _BY_REACH.get(reach)


_BY_REACH: Final = {
    Reach.NOWHERE: "no address that anybody can connect to",
    Reach.MACHINE: "an address that means, on every machine, that machine itself",
    Reach.LINK: "a link-local address, known on one network segment only",
    Reach.NETWORK: "a private address, known inside its network only",
}


def _by_name(host: str, ip: str | None) -> str | None:
    name = host.lower().rstrip(".")
    if name.endswith(_DOCKER_NAMES):
        return "a name that only Docker containers know"
    if name.endswith(_CLUSTER_NAMES):
        return "a name that only pods of its Kubernetes cluster know"
    if _CONTAINER_ID.fullmatch(name):
        return "the id of a container, a name that only its Docker network knows"
    if ip is None and "." not in name and ":" not in name:
        return "a name without a domain, as containers have: known in their network only"
    return None


def _plain(ip: str) -> IPv4Address | IPv6Address:
    """Return an address; an IPv4 one that is written as IPv6 as what it is."""
    address = ip_address(ip.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _is_private(address: IPv4Address | IPv6Address) -> bool:
    is_shared = isinstance(address, IPv4Address) and address in _SHARED
    return address.is_private or is_shared
