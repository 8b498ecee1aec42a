"""IP headers, in columns: from the first byte of IP packets to the transport header inside.

Source: RFC 791 (IPv4), RFC 8200 (IPv6).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.pcap.address import AddressBook
from kdiag.pcap.block import gather
from kdiag.pcap.layer import Layer, Transport

_IPV4: Final = np.dtype(
    [
        ("version_and_size", "u1"),
        ("service", "u1"),
        ("total", ">u2"),
        ("id", ">u2"),
        ("fragment", ">u2"),
        ("hops", "u1"),
        ("protocol", "u1"),
        ("checksum", ">u2"),
        ("source", ">u4"),
        ("destination", ">u4"),
    ]
)
_IPV6: Final = np.dtype(
    [
        ("version_class_label", ">u4"),
        ("payload", ">u2"),
        ("protocol", "u1"),
        ("hops", "u1"),
        ("source", "V16"),
        ("destination", "V16"),
    ]
)


def read_ipv4(data: npt.NDArray[np.uint8], packets: Layer) -> Transport:
    """Return the payloads of IPv4 packets; packets with an impossible header are left out.

    A total length of 0 is what segmentation offload leaves (the frame was made by the card): the
    frame's own length counts then.
    """
    packets = packets.pick(packets.captured >= _IPV4.itemsize)
    header = gather(data, packets.offset, _IPV4)
    header_bytes = (header["version_and_size"] & 15).astype(np.int64) * 4
    total = header["total"].astype(np.int64)
    total = np.where(total == 0, packets.wire, total)
    payload = Layer(
        packets.row,
        packets.offset + header_bytes,
        np.minimum(packets.captured, total) - header_bytes,
        total - header_bytes,
    )
    good = (header_bytes >= _IPV4.itemsize) & (payload.captured >= 0)
    return Transport(
        payload,
        header["protocol"],
        header["source"].astype(np.uint64),
        header["destination"].astype(np.uint64),
    ).pick(good)


def read_ipv6(data: npt.NDArray[np.uint8], packets: Layer, book: AddressBook) -> Transport:
    """Return the payloads of IPv6 packets; packets with an impossible header are left out."""
    packets = packets.pick(packets.captured >= _IPV6.itemsize)
    header = gather(data, packets.offset, _IPV6)
    wire = header["payload"].astype(np.int64)
    rest = packets.skip(_IPV6.itemsize)
    wire = np.where(wire == 0, rest.wire, wire)
    payload = Layer(packets.row, rest.offset, np.minimum(rest.captured, wire), wire)
    return Transport(
        payload,
        header["protocol"],
        book.number_ipv6(header["source"]),
        book.number_ipv6(header["destination"]),
    )
