"""The descent to IP: packets on their way from header to header, many at a time.

A header ends with a number that says what follows: a link type, an ethertype, an IP protocol, a
port of UDP. Packets with the same number are read together, by the step for it:

    link type 1 --(Ethernet)--> ethertype 0x8847 --(MPLS)--> IP
                           `--> IP

A step reads its headers and sends the packets on; it calls no other step. All packets that are as
many headers deep and wait for the same step are read by one call of it, so that the time for a
block has a bound, however mixed and however deep its encapsulations are.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from kdiag.pcap.encapsulation import Encapsulation, Obstacle, PassedOver
from kdiag.pcap.files.block import distinct, is_any
from kdiag.pcap.packets.layer import ProtocolLayer, merged
from kdiag.pcap.packets.network import Networks

_MAX_STEPS: Final = 32
"""How many headers are read at the most on the way to one IP header."""
_LARGEST_NUMBER: Final = 0xFFFF
"""Numbers of 32 bits, which Apple has for link types, count as this one beyond."""


class Descent:
    """The packets of one block on their way to IP headers.

    Attributes:
        data: where they lie.
        networks: learns of VLANs and overlays, if it is given.
        passed_over: counts the packets that go no further.
    """

    def __init__(
        self,
        data: npt.NDArray[np.uint8],
        networks: Networks | None = None,
        known: Mapping[str, Sequence[int]] = MappingProxyType({}),
        passed_over: PassedOver | None = None,
    ) -> None:
        """Begin with no packet.

        Args:
            data: where the packets lie.
            networks: learns of VLANs and overlays, if it is given.
            known: the numbers of each space that are worth being sent on; every number is, where
                a space is not named.
            passed_over: counts the packets that go no further, if it is given.
        """
        self.data = data
        self.networks = networks
        self.passed_over = PassedOver() if passed_over is None else passed_over
        self._ip: list[ProtocolLayer] = []
        self._unread: dict[Encapsulation, list[ProtocolLayer]] = {}
        self._known = known
        self._waiting: dict[Encapsulation, list[ProtocolLayer]] = {}
        self._step = Encapsulation("", 0)
        self._settled = 0

    def send(self, space: str, number: int, packets: ProtocolLayer) -> None:
        """Send packets on that all carry the same."""
        if count := len(packets.row):
            self._settled += count
            self._waiting.setdefault(Encapsulation(space, number), []).append(packets)

    def sort(
        self,
        space: str,
        numbers: npt.NDArray[np.integer],
        packets: ProtocolLayer,
        told: npt.NDArray[np.integer] | None = None,
    ) -> None:
        """Send packets on, each by its number; what nobody reads is counted.

        Args:
            space: whose numbers these are.
            numbers: of each packet.
            packets: each behind its number.
            told: the number by which each is counted, if that is another one.
        """
        known, left = self._known.get(space), len(packets.row)
        for number in distinct(numbers.astype(np.int64)) if known is None else known:
            if (chosen := numbers == number).any():
                some = packets.pick(chosen)
                left -= len(some.row)
                self.send(space, number, some)
        if left:
            unknown = (numbers if told is None else told)[~is_any(numbers, known or ())]
            self._settled += left
            self._count_unknown(space, unknown)

    def reach_ip(self, packets: ProtocolLayer) -> None:
        """Let packets be IP packets."""
        if count := len(packets.row):
            self._settled += count
            self._ip.append(packets)

    def headed(self, packets: ProtocolLayer, size: int) -> ProtocolLayer:
        """Return the packets that hold a header of some bytes, and count the others."""
        has_header = packets.captured >= size
        if has_header.all():
            return packets
        short = packets.pick(~has_header)
        cut = int(np.count_nonzero(short.captured < short.wire))
        self.passed_over.count(Obstacle.CUT, *self._step, cut)
        self.passed_over.count(Obstacle.BAD, *self._step, len(short.row) - cut)
        self._settled += len(short.row)
        return packets.pick(has_header)

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
                    self._take_step(encapsulation, step, merged(parts))
        self.give_up()

    def give_up(self) -> None:
        """Count the packets that still wait as too deep, and forget them."""
        waiting, self._waiting = self._waiting, {}
        for encapsulation, parts in waiting.items():
            count = sum(len(part.row) for part in parts)
            self.passed_over.count(Obstacle.TOO_DEEP, *encapsulation, count)

    def _take_step(
        self, encapsulation: Encapsulation, step: "Step", packets: ProtocolLayer
    ) -> None:
        """Read a header, and count the packets that the step sends nowhere."""
        self._step, self._settled = encapsulation, 0
        step(self, packets)
        self.passed_over.count(Obstacle.NOT_READ, *encapsulation, len(packets.row) - self._settled)

    def _count_unknown(self, space: str, numbers: npt.NDArray[np.integer]) -> None:
        """Count packets with numbers that nobody reads."""
        counts = np.bincount(np.minimum(numbers, _LARGEST_NUMBER).astype(np.int64))
        for number in np.flatnonzero(counts).tolist():
            self.passed_over.count(Obstacle.NOT_READ, space, number, int(counts[number]))


Step: TypeAlias = Callable[[Descent, ProtocolLayer], None]
"""Reads one kind of header of some packets, and sends these on."""
