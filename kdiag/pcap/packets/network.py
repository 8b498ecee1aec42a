"""Networks: the VLANs and overlays that packets were seen in, where they shall be distinguished.

Usually they are not. A packet that a switch mirrors on its way in and on its way out is the same
packet in two VLANs, and where overlays are routed a request goes by another VXLAN network than its
response. But where tenants use the same addresses, only the network tells their connections apart.

A network is the path of tags that led to a packet: VLAN ids from the outside in, then the
identifiers of VXLAN or Geneve networks, then the tags in there. No tag is network 0.

Source: IEEE 802.1Q (VLAN id), RFC 7348 (VXLAN network identifier), RFC 8926 (Geneve's).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.packets.layer import Payloads

_TAG_BITS: Final = 24  # of a VXLAN network identifier; VLAN ids have 12
_MAX_NETWORK: Final = (1 << 62) - 1


class Networks:
    """The networks of the packets of one block.

    Attributes:
        of_row: of each packet (int64).
    """

    def __init__(self, count: int) -> None:
        """Begin with packets in no network."""
        self.of_row = np.zeros(count, np.int64)

    def enter(self, rows: npt.NDArray[np.int64], tags: npt.NDArray[np.integer]) -> None:
        """Note that packets lie one network further in."""
        inner = (self.of_row[rows] << _TAG_BITS) + tags.astype(np.int64)
        self.of_row[rows] = inner & _MAX_NETWORK

    def apart(self, payloads: Payloads, book: AddressBook) -> Payloads:
        """Return payloads with addresses that differ where their networks do."""
        networks = self.of_row[payloads.layer.row]
        if not networks.any():
            return payloads
        return payloads._replace(
            source=book.number_within(networks, payloads.source),
            destination=book.number_within(networks, payloads.destination),
        )
