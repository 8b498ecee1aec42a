"""The descent to IP: packets on their way from header to header, many at a time.

A header ends with a number that says what follows: a link type, an ethertype, an IP protocol, a
port of UDP. Packets with the same number are read together, by the step for it:

    link type 1 --(Ethernet)--> ethertype 0x8847 --(MPLS)--> IP
                           `--> IP

A step reads its headers and sends the packets on; it calls no other step. All packets that are as
many headers deep and wait for the same step are read by one call of it, so that the time for a
block has a bound, however mixed and however deep its encapsulations are.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kdiag.pcap.files.block import distinct
from kdiag.pcap.packets.layer import ProtocolLayer, merged
from kdiag.pcap.packets.network import Networks

LINK_TYPE: Final = "link type"
ETHERTYPE: Final = "ethertype"
IP_PROTOCOL: Final = "IP protocol"
UDP_PORT: Final = "UDP port"

_MAX_STEPS: Final = 32
"""How many headers are read at the most on the way to one IP header."""


class Encapsulation(NamedTuple):
    """What follows a header, by the number that the header gives.

    Attributes:
        space: whose numbers these are: `link type`, `ethertype`.
        number: the number.
    """

    space: str
    number: int

    def __str__(self) -> str:
        number = f"0x{self.number:04x}" if self.space == ETHERTYPE else str(self.number)
        return f"{self.space} {number}"


class Descent:
    """The packets of one block on their way to IP headers.

    Attributes:
        data: where they lie.
        networks: learns of VLANs and overlays, if it is given.
    """

    def __init__(
        self,
        data: npt.NDArray[np.uint8],
        networks: Networks | None = None,
        known: Mapping[str, Iterable[int]] = MappingProxyType({}),
    ) -> None:
        """Begin with no packet.

        Args:
            data: where the packets lie.
            networks: learns of VLANs and overlays, if it is given.
            known: the numbers of each space that are worth being sent on; every number is, where
                a space is not named.
        """
        self.data = data
        self.networks = networks
        self._ip: list[ProtocolLayer] = []
        self._unread: dict[Encapsulation, list[ProtocolLayer]] = {}
        self._known = known
        self._waiting: dict[Encapsulation, list[ProtocolLayer]] = {}

    def send(self, space: str, number: int, packets: ProtocolLayer) -> None:
        """Send packets on that all carry the same."""
        if len(packets.row):
            self._waiting.setdefault(Encapsulation(space, number), []).append(packets)

    def sort(self, space: str, numbers: npt.NDArray[np.integer], packets: ProtocolLayer) -> None:
        """Send packets on, each by its number; what nobody reads leads nowhere."""
        known = self._known.get(space)
        for number in distinct(numbers.astype(np.int64)) if known is None else known:
            if (chosen := numbers == number).any():
                self.send(space, number, packets.pick(chosen))

    def reach_ip(self, packets: ProtocolLayer) -> None:
        """Let packets be IP packets."""
        if len(packets.row):
            self._ip.append(packets)

    def enter(self, rows: npt.NDArray[np.int64], tags: npt.NDArray[np.integer]) -> None:
        """Note that packets are in a network, inside of those they are in already."""
        if self.networks is not None:
            self.networks.enter(rows, tags)

    def take_ip(self) -> list[ProtocolLayer]:
        """Return the IP packets that were reached, and forget them."""
        packets, self._ip = self._ip, []
        return packets

    def take_unread(self) -> list[tuple[Encapsulation, ProtocolLayer]]:
        """Return the packets in front of headers that no step reads, and forget them."""
        packets, self._unread = self._unread, {}
        return [(encapsulation, merged(parts)) for encapsulation, parts in packets.items()]

    @property
    def is_done(self) -> bool:
        """Return whether no packet waits for a step."""
        return not self._waiting

    def run(self, steps: Mapping[Encapsulation, "Step"]) -> None:
        """Read headers until no packet waits for a step, or has had its share of them."""
        for _ in range(_MAX_STEPS):
            if self.is_done:
                return
            waiting, self._waiting = self._waiting, {}
            for encapsulation, parts in waiting.items():
                if (step := steps.get(encapsulation)) is None:
                    self._unread.setdefault(encapsulation, []).extend(parts)
                else:
                    step(self, merged(parts))
        self._waiting.clear()


Step: TypeAlias = Callable[[Descent, ProtocolLayer], None]
"""Reads one kind of header of some packets, and sends these on."""
