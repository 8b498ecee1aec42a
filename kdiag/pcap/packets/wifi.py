"""IEEE 802.11: data frames, with and without the header of a monitoring card in front.

What is encrypted cannot be read: a capture has to be taken on an open network, above the card's
decryption, or decrypted by other means. Of the frames that one MAC frame aggregates (A-MSDU) the
first is read.

Source: IEEE 802.11-2020, 9.2 to 9.3; radiotap.org.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.pcap.encapsulation import ETHERTYPE, LINK_TYPE, Encapsulation
from kdiag.pcap.files.block import gather
from kdiag.pcap.packets.descent import Descent, Step
from kdiag.pcap.packets.layer import ProtocolLayer
from kdiag.pcap.packets.link import ETHERTYPE_LLC

_CONTROL: Final = np.dtype([("kind", "u1"), ("flags", "u1")])
_KIND: Final = 0x0C
_DATA: Final = 0x08
_NO_DATA: Final = 0x40
_HAS_QOS: Final = 0x80
_BETWEEN_STATIONS: Final = 0x03
_IS_PROTECTED: Final = 0x40
_HAS_ORDER: Final = 0x80
_HEADER_BYTES: Final = 24
_SEQUENCE: Final = np.dtype([("number", "<u2")])
_SEQUENCE_AT: Final = 22
_FRAGMENT: Final = 0x000F
_MAC_BYTES, _QOS_BYTES, _HT_BYTES = 6, 2, 4
_IS_AGGREGATE: Final = 0x80
_SUBFRAME_BYTES: Final = 14

_RADIOTAP: Final = np.dtype([("version", ">u2"), ("size", "<u2"), ("present", "<u4")])
_PRESENT: Final = np.dtype([("words", "<u4")])
_MORE_WORDS: Final = 1 << 31
_MAX_WORDS: Final = 8
_HAS_TIME, _HAS_FLAGS = 1, 2
_TIME_BYTES: Final = 8
_IS_PADDED: Final = 0x20


def _read_80211(descent: Descent, frames: ProtocolLayer) -> None:
    _read_frames(descent, frames, np.zeros(len(frames.row), np.bool_))


def _read_frames(descent: Descent, frames: ProtocolLayer, is_padded: npt.NDArray[np.bool_]) -> None:
    """Send on what data frames hold.

    Args:
        descent: where to.
        frames: those.
        is_padded: whether the card has made the size of the header a multiple of four.
    """
    data = descent.data
    whole = frames.captured >= _HEADER_BYTES + _MAC_BYTES + _QOS_BYTES + _HT_BYTES
    frames, is_padded = frames.pick(whole), is_padded[whole]
    control = gather(data, frames.offset, _CONTROL)
    kind, flags = control["kind"], control["flags"]
    number = gather(data, frames.offset + _SEQUENCE_AT, _SEQUENCE)["number"]
    is_data = (kind & (_KIND | _NO_DATA)) == _DATA
    is_open = (flags & _IS_PROTECTED) == 0
    has_qos = (kind & _HAS_QOS) != 0
    size = np.full(len(kind), _HEADER_BYTES)
    size += _MAC_BYTES * ((flags & _BETWEEN_STATIONS) == _BETWEEN_STATIONS)
    is_aggregate = has_qos & ((data[frames.offset + size] & _IS_AGGREGATE) != 0)
    size += _QOS_BYTES * has_qos + _HT_BYTES * (has_qos & ((flags & _HAS_ORDER) != 0))
    size = np.where(is_padded, (size + 3) & ~3, size) + _SUBFRAME_BYTES * is_aggregate
    chosen = is_data & is_open & ((number & _FRAGMENT) == 0)
    descent.send(ETHERTYPE, ETHERTYPE_LLC, frames.skip(size).pick(chosen))


def _read_radiotap(descent: Descent, frames: ProtocolLayer) -> None:
    frames = descent.headed(frames, _RADIOTAP.itemsize)
    size = gather(descent.data, frames.offset, _RADIOTAP)["size"].astype(np.int64)
    good = (size >= _RADIOTAP.itemsize) & (size <= frames.captured)
    frames, size = frames.pick(good), size[good]
    _read_frames(descent, frames.skip(size), _are_padded(descent, frames, size))


def _are_padded(
    descent: Descent, frames: ProtocolLayer, size: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return for which frames radiotap's flags say that their headers are padded.

    The flags are the second of the fields that a bit map announces, which may have several words.
    """
    at = np.full(len(size), _PRESENT.itemsize)
    goes_on = np.ones(len(size), np.bool_)
    for _ in range(_MAX_WORDS):
        goes_on &= at + _PRESENT.itemsize <= size
        words = gather(descent.data, frames.offset[goes_on] + at[goes_on], _PRESENT)["words"]
        at[goes_on] += _PRESENT.itemsize
        goes_on[goes_on] = (words & _MORE_WORDS) != 0
        if not goes_on.any():
            break
    first = gather(descent.data, frames.offset, _RADIOTAP)["present"]
    at = np.where((first & _HAS_TIME) != 0, (at + 7 & ~7) + _TIME_BYTES, at)
    has_flags = ((first & _HAS_FLAGS) != 0) & (at < size)
    flags = descent.data[frames.offset + np.where(has_flags, at, 0)]
    is_padded: npt.NDArray[np.bool_] = has_flags & ((flags & _IS_PADDED) != 0)
    return is_padded


STEPS: Final[Mapping[Encapsulation, Step]] = {
    Encapsulation(LINK_TYPE, 105): _read_80211,
    Encapsulation(LINK_TYPE, 127): _read_radiotap,
}
"""How to read frames of wireless networks."""
