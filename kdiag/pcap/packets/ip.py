"""IP headers in columns: from the first byte of IP packets to the transport header inside.

Source: RFC 791 (IPv4), RFC 8200 (IPv6), RFC 4302 (authentication header).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.pcap.files.block import gather, is_any
from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.packets.layer import Payloads, ProtocolLayer, joined

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
_MAX_EXTENSIONS: Final = 256


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
    payloads = Payloads(
        body,
        header["protocol"].astype(np.int64),
        header["source"].astype(np.uint64),
        header["destination"].astype(np.uint64),
        header["id"].astype(np.int64),
        (fragment & 0x1FFF) * 8,
        (fragment & 0x2000) != 0,
    ).pick((header_bytes >= _IPV4.itemsize) & (body.captured >= 0))
    return strip_extensions(data, payloads, (_AUTHENTICATION,))


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


def strip_extensions(
    data: npt.NDArray[np.uint8], payloads: Payloads, kinds: Sequence[int] = _EXTENSIONS
) -> Payloads:
    """Return the payloads behind extension headers, without those that are cut off there."""
    extended = _are_extended(payloads, kinds)
    if not extended.any():
        return payloads.pick(payloads.layer.captured >= 0)
    parts, waiting = [payloads.pick(~extended)], payloads.pick(extended)
    for _ in range(_MAX_EXTENSIONS):
        waiting = _strip_extension(data, waiting)
        extended = _are_extended(waiting, kinds)
        parts.append(waiting.pick(~extended))
        waiting = waiting.pick(extended)
        if not len(waiting.protocol):
            break
    payloads = joined(parts)
    return payloads.pick(payloads.layer.captured >= 0)


def _are_extended(payloads: Payloads, kinds: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Return which payloads begin with an extension header that is all there."""
    extended = is_any(payloads.protocol, kinds) & ~payloads.fragmented()
    return extended & (payloads.layer.captured >= _EXTENSION.itemsize)


def _strip_extension(data: npt.NDArray[np.uint8], payloads: Payloads) -> Payloads:
    """Return payloads that begin with an extension header, each behind it."""
    header = gather(data, payloads.layer.offset, _EXTENSION)
    kind, units = payloads.protocol, header["size"].astype(np.int64)
    is_fragment = kind == _FRAGMENT
    size = np.select(
        [is_fragment, kind == _AUTHENTICATION],
        [_EXTENSION.itemsize, (units + 2) * 4],
        (units + 1) * 8,
    )
    fragment = np.where(is_fragment, header["fragment"], 0).astype(np.int64)
    return payloads._replace(
        layer=payloads.layer.skip(size),
        protocol=header["next"].astype(np.int64),
        identity=header["id"].astype(np.int64),
        start=fragment & 0xFFF8,
        more=(fragment & 1) != 0,
    )
