"""Encapsulations that the columns do not know, left to scapy's dissectors packet by packet.

scapy is an extra of kdiag and takes longer to load than kdiag takes to read a small capture. So it
is loaded when there is a packet for it, and what is left to it is a list: traffic that never holds
TCP, such as ARP or spanning trees, is in every capture and does not load it.

A dissector finds the next IP header; from there on the columns read. It gets the first bytes of a
packet alone, so that no packet can keep it long.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.errors import install_command
from kdiag.pcap.encapsulation import (
    ETHERTYPE,
    IP_PROTOCOL,
    LINK_TYPE,
    UDP_PORT,
    Encapsulation,
    Obstacle,
    PassedOver,
)
from kdiag.pcap.packets.layer import ProtocolLayer

_HEAD_BYTES: Final = 512

DISSECTORS: Final = {
    Encapsulation(LINK_TYPE, 119): "scapy.layers.dot11.PrismHeader",
    Encapsulation(LINK_TYPE, 163): "scapy.contrib.avs.AVSWLANHeader",
    Encapsulation(LINK_TYPE, 192): "scapy.layers.ppi.PPI",
    Encapsulation(LINK_TYPE, 274): "scapy.layers.l2.MPacketPreamble",
    Encapsulation(ETHERTYPE, 0x88E7): "scapy.layers.l2.Dot1AH",
    Encapsulation(IP_PROTOCOL, 97): "scapy.contrib.etherip.EtherIP",
    Encapsulation(UDP_PORT, 1701): "scapy.layers.l2tp.L2TP",
    Encapsulation(UDP_PORT, 37008): "scapy.contrib.tzsp.TZSP",
}
"""What is left to scapy, and the class of scapy's that its bytes begin with."""


class Dissector:
    """Finds the IP headers in packets that the columns do not know, and counts those.

    Attributes:
        dissected: packets that scapy has looked at.
        lacking: packets that it would have, were it installed.
        failed: packets that its dissectors failed at.
        unknown: packets that it knows no more than the columns do.
    """

    def __init__(self, passed_over: PassedOver | None = None) -> None:
        self._passed_over = PassedOver() if passed_over is None else passed_over
        self.dissected: Counter[Encapsulation] = Counter()
        self.lacking: Counter[Encapsulation] = Counter()
        self.failed: Counter[Encapsulation] = Counter()
        self.unknown: Counter[Encapsulation] = Counter()

    def find_ip(
        self, data: npt.NDArray[np.uint8], encapsulation: Encapsulation, packets: ProtocolLayer
    ) -> ProtocolLayer:
        """Return the packets that hold IP packets, each at the header of the first of these."""
        count = len(packets.row)
        offsets = np.full(count, -1, np.int64)
        if encapsulation not in DISSECTORS:
            self.unknown[encapsulation] += count
            self._passed_over.count(Obstacle.NOT_READ, *encapsulation, count)
        elif (find_ip := _load_scapy()) is None:
            self.lacking[encapsulation] += count
            self._passed_over.count(Obstacle.NEEDS_SCAPY, *encapsulation, count)
        else:
            sizes = np.clip(packets.captured, 0, _HEAD_BYTES)
            spans = zip(packets.offset.tolist(), sizes.tolist(), strict=True)
            heads = (data[start : start + size].tobytes() for start, size in spans)
            places = find_ip(DISSECTORS[encapsulation], heads)
            offsets[:] = [-1 if place is None else place for place in places]
            self.dissected[encapsulation] += count
            failed = places.count(None)
            self.failed[encapsulation] += failed
            self._passed_over.count(Obstacle.BAD, *encapsulation, failed)
            self._passed_over.count(Obstacle.NOT_READ, *encapsulation, places.count(-1))
        found = offsets >= 0
        return packets.pick(found).skip(offsets[found])

    def notes(self) -> list[str]:
        """Return what was passed over, as lines for people."""
        notes = []
        if +self.unknown:
            what = "`kdiag help packets` lists what is read"
            notes.append(f"not read: {_text(self.unknown)} ({what})")
        if +self.lacking:
            notes.append(f"{_text(self.lacking)} need scapy: {install_command('scapy')}")
        if +self.failed:
            notes.append(f"scapy fails to dissect {_text(+self.failed)}")
        return notes

    def clear(self) -> None:
        """Count anew."""
        for counts in (self.dissected, self.lacking, self.failed, self.unknown):
            counts.clear()


def _text(counts: Counter[Encapsulation]) -> str:
    """Return `3 packets of link type 9`, or several of those."""
    first, *others = (
        f"{count} {{}}of {encapsulation}" for encapsulation, count in counts.most_common()
    )
    noun = "packet " if counts.total() == 1 else "packets "
    return ", ".join([first.format(noun), *(other.format("") for other in others)])


def _load_scapy() -> Callable[[str, Iterable[bytes]], list[int | None]] | None:
    try:
        from kdiag.pcap.packets.scapy_layers import find_ip  # noqa: PLC0415 - an extra, 250 ms
    except ImportError:
        return None
    return find_ip
