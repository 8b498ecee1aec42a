"""Encapsulations: their numbers and names, and the packets that went no further at one of them.

Silence never stands for "not looked at". Every packet of a capture counts once:

    packets = TCP segments + fragments that made a datagram with others + packets passed over

Most of what is passed over is not TCP at all, such as ARP and DNS. What matters is TCP that could
not be reached: headers that the snap length cut off, datagrams of which fragments are missing.
"""

from collections import Counter
from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

LINK_TYPE: Final = "link type"
ETHERTYPE: Final = "ethertype"
IP_PROTOCOL: Final = "IP protocol"
UDP_PORT: Final = "UDP port"
IP_LAYER: Final = "IP"
TCP_LAYER: Final = "TCP"

UDP_TUNNELS: Final[Mapping[str, int]] = {
    "geneve": 6081,
    "gre": 4754,
    "gtpu": 2152,
    "mpls": 6635,
    "vxlan": 4789,
    "vxlan-gpe": 4790,
}
"""The registered ports of what may be expected on any port of UDP, by name."""
NO_PORTS: Final[Mapping[int, str]] = MappingProxyType({})
"""No other ports than the registered ones carry these."""

_LARGEST_NUMBER: Final = 0xFFFF
_MOST_TOLD: Final = 4
_MOST_LISTED: Final = 100
_TUNNELS: Final = (4, 6, 41, 47, 137)
_NAMES: Final = {
    LINK_TYPE: {
        1: "Ethernet",
        9: "PPP",
        105: "802.11",
        113: "Linux cooked",
        127: "802.11",
        187: "Bluetooth",
        189: "USB",
        220: "USB",
        253: "netlink",
        276: "Linux cooked",
    },
    ETHERTYPE: {
        4: "LLC",
        0x0806: "ARP",
        0x0842: "Wake-on-LAN",
        0x8035: "RARP",
        0x8809: "LACP",
        0x8863: "PPPoE discovery",
        0x888E: "EAPOL",
        0x88CC: "LLDP",
        0x88E5: "MACsec",
        0x88F7: "PTP",
        0x9000: "loopback test",
    },
    IP_PROTOCOL: {
        1: "ICMP",
        2: "IGMP",
        4: "IP in IP",
        6: "TCP",
        17: "UDP",
        33: "DCCP",
        41: "IPv6 in IP",
        47: "GRE",
        50: "ESP",
        58: "ICMPv6",
        59: "nothing",
        88: "EIGRP",
        89: "OSPF",
        103: "PIM",
        112: "VRRP",
        132: "SCTP",
    },
    UDP_PORT: {
        53: "DNS",
        67: "DHCP",
        68: "DHCP",
        123: "NTP",
        137: "NetBIOS",
        138: "NetBIOS",
        161: "SNMP",
        443: "QUIC",
        500: "IKE",
        514: "syslog",
        546: "DHCPv6",
        547: "DHCPv6",
        1900: "SSDP",
        2152: "GTP-U",
        4500: "IPsec",
        4789: "VXLAN",
        5353: "mDNS",
        5355: "LLMNR",
        6081: "Geneve",
        8125: "StatsD",
        51820: "WireGuard",
    },
}


class Encapsulation(NamedTuple):
    """What follows a header, by the number that the header gives.

    Attributes:
        space: whose numbers these are: `link type`, `ethertype`.
        number: the number.
    """

    space: str
    number: int

    @property
    def name(self) -> str | None:
        """Return the name of what follows, if it is well known."""
        return _NAMES.get(self.space, {}).get(self.number)

    def __str__(self) -> str:
        number = f"0x{self.number:04x}" if self.space == ETHERTYPE else str(self.number)
        return f"{self.space} {number}"


class Obstacle(Enum):
    """Obstacle a packet gave no TCP segment."""

    NOT_READ = "not_read"
    """It holds something else, or in a form that nobody here reads."""
    CUT = "cut_header"
    """The capture ends within a header that leads to TCP."""
    BAD = "bad_header"
    """A header contradicts itself."""
    NEEDS_SCAPY = "needs_scapy"
    """scapy would read it, and is not installed."""
    TOO_DEEP = "too_deep"
    """There are more headers than are read."""
    LOST_FRAGMENT = "fragment"
    """It is a fragment of an IP datagram, and others of it are missing."""


class Cause(NamedTuple):
    """Obstacle packets were passed over, and in front of which header.

    Attributes:
        why: the reason.
        layer: the header that could not be read, or whose numbers `number` is one of.
        number: which one; None for IP and TCP themselves.
    """

    why: Obstacle
    layer: str
    number: int | None = None

    @property
    def may_be_kafka(self) -> bool:
        """Return whether TCP may have been lost with the packets."""
        if self.why is Obstacle.LOST_FRAGMENT:
            return self.number in _TUNNELS
        if self.why is Obstacle.BAD:
            return self.layer in {IP_LAYER, TCP_LAYER}
        return self.why is not Obstacle.NOT_READ

    @property
    def name(self) -> str | None:
        """Return the name of what is there, if it is well known."""
        return None if self.number is None else Encapsulation(self.layer, self.number).name

    def __str__(self) -> str:
        what = self._what()
        return {
            Obstacle.NOT_READ: what,
            Obstacle.CUT: f"cut off in a header ({what})",
            Obstacle.BAD: f"bad header ({what})",
            Obstacle.NEEDS_SCAPY: f"{what}, which needs scapy",
            Obstacle.TOO_DEEP: f"too deep in tunnels ({what})",
            Obstacle.LOST_FRAGMENT: f"fragments without their rest ({what})",
        }[self.why]

    def _what(self) -> str:
        if self.number is None:
            return self.layer
        encapsulation = Encapsulation(self.layer, self.number)
        if encapsulation.name is None:
            return str(encapsulation)
        if self.layer == UDP_PORT:
            return f"{encapsulation.name} (UDP {self.number})"
        return encapsulation.name


class PassedOver:
    """Counts the packets that gave no TCP segment.

    Attributes:
        counts: the packets by cause.
    """

    def __init__(self) -> None:
        self.counts: Counter[Cause] = Counter()

    @property
    def packets(self) -> int:
        """Return how many packets there are."""
        return self.counts.total()

    @property
    def may_be_kafka(self) -> bool:
        """Return whether TCP may have been lost with some of them."""
        return any(cause.may_be_kafka for cause in self.counts)

    def count(self, why: Obstacle, layer: str, number: int | None, packets: int) -> None:
        """Count packets."""
        if packets:
            number = None if number is None else min(number, _LARGEST_NUMBER)
            self.counts[Cause(why, layer, number)] += packets

    def text(self, *, most: int = _MOST_TOLD) -> str:
        """Return the biggest causes for people: `800 ARP, 12 DNS (UDP 53)`."""
        told = [f"{packets:,} {cause}" for cause, packets in self.counts.most_common(most)]
        rest = self.counts.total() - sum(each for _, each in self.counts.most_common(most))
        return ", ".join([*told, f"{rest:,} others"] if rest else told)

    def alarming(self) -> "PassedOver":
        """Return those with which TCP may have been lost."""
        found = PassedOver()
        found.counts.update({cause: n for cause, n in self.counts.items() if cause.may_be_kafka})
        return found

    def document(self) -> list[dict[str, Any]]:
        """Return the causes for programs, the biggest first, the rarest of many left out."""
        return [
            {
                "why": cause.why.value,
                "layer": cause.layer,
                "number": cause.number,
                "name": cause.name,
                "packets": packets,
            }
            for cause, packets in self.counts.most_common(_MOST_LISTED)
        ]
