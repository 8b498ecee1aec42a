"""IP headers in columns: from the first byte of IP packets to the transport header inside.

Source: RFC 791 (IPv4), RFC 8200 (IPv6), RFC 4302 (authentication header).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.pcap.files.block import gather, is_any
from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.packets.layer import Payloads, ProtocolLayer

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
_EXTENSION: Final = np.dtype([("next", "u1"), ("size", "u1"), ("fragment", ">u2"), ("id", ">u4")])
_FRAGMENT, _AUTHENTICATION = 44, 51
_EXTENSIONS: Final = (0, 43, _FRAGMENT, _AUTHENTICATION, 60, 135, 139, 140)
_EXTENSION_DEPTH: Final = 8


def read_ipv4(data: npt.NDArray[np.uint8], packets: ProtocolLayer) -> Payloads:
    """Return what IPv4 packets carry, without those whose header is cut or impossible.

    A total length of 0 is what segmentation offload leaves (the card would have filled it in):
    the frame's own length counts then.
    """
    packets = packets.pick(packets.captured >= _IPV4.itemsize)
    header = gather(data, packets.offset, _IPV4)
    header_bytes = (header["version_and_size"] & 15).astype(np.int64) * 4
    total = header["total"].astype(np.int64)
    total = np.where(total == 0, packets.wire, total)
    body = packets.within(total).skip(header_bytes)
    fragment = header["fragment"].astype(np.int64)
    return Payloads(
        body,
        header["protocol"].astype(np.int64),
        header["source"].astype(np.uint64),
        header["destination"].astype(np.uint64),
        header["id"].astype(np.int64),
        (fragment & 0x1FFF) * 8,
        (fragment & 0x2000) != 0,
    ).pick((header_bytes >= _IPV4.itemsize) & (body.captured >= 0))


def read_ipv6(data: npt.NDArray[np.uint8], packets: ProtocolLayer, book: AddressBook) -> Payloads:
    """Return what IPv6 packets carry, behind the extension headers.

    A payload length of 0 is a jumbogram or left by segmentation offload, as in IPv4.
    """
    packets = packets.pick(packets.captured >= _IPV6.itemsize)
    header = gather(data, packets.offset, _IPV6)
    body = packets.skip(_IPV6.itemsize)
    size = header["payload"].astype(np.int64)
    none = np.zeros(len(size), np.int64)
    payloads = Payloads(
        body.within(np.where(size == 0, body.wire, size)),
        header["protocol"].astype(np.int64),
        book.number_ipv6(header["source"]),
        book.number_ipv6(header["destination"]),
        none,
        none,
        none != 0,
    )
    return strip_extensions(data, payloads)


def strip_extensions(data: npt.NDArray[np.uint8], payloads: Payloads) -> Payloads:
    """Return the payloads behind IPv6 extension headers, without those that are cut off there."""
    for _ in range(_EXTENSION_DEPTH):
        extended = is_any(payloads.protocol, _EXTENSIONS) & ~payloads.fragmented()
        extended &= payloads.layer.captured >= _EXTENSION.itemsize
        if not extended.any():
            break
        payloads = _strip_extension(data, payloads, extended)
    return payloads.pick(payloads.layer.captured >= 0)


def _strip_extension(
    data: npt.NDArray[np.uint8], payloads: Payloads, extended: npt.NDArray[np.bool_]
) -> Payloads:
    """Return the payloads, the chosen ones behind their next extension header."""
    layer, protocol, source, destination, identity, start, more = payloads
    header = gather(data, layer.offset[extended], _EXTENSION)
    kind, units = protocol[extended], header["size"].astype(np.int64)
    size = np.zeros(len(protocol), np.int64)
    size[extended] = np.select(
        [kind == _FRAGMENT, kind == _AUTHENTICATION],
        [_EXTENSION.itemsize, (units + 2) * 4],
        (units + 1) * 8,
    )
    fragment = np.where(kind == _FRAGMENT, header["fragment"], 0).astype(np.int64)
    protocol, identity = protocol.copy(), identity.copy()
    start, more = start.copy(), more.copy()
    protocol[extended], identity[extended] = header["next"], header["id"]
    start[extended], more[extended] = fragment & 0xFFF8, (fragment & 1) != 0
    return Payloads(layer.skip(size), protocol, source, destination, identity, start, more)
