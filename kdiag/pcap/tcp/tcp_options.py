"""The options in the header of a SYN: what each end can do.

Source: RFC 9293 (3.2 maximum segment size), RFC 7323 (window scale, timestamps), RFC 2018 (SACK).
"""

from typing import Final, NamedTuple

_END: Final = 0
_NO_OPERATION: Final = 1
_MSS: Final = 2
_WINDOW_SCALE: Final = 3
_SACK_PERMITTED: Final = 4
_TIMESTAMPS: Final = 8
_LEAST_BYTES: Final = 2
_SIZES: Final = {_MSS: 4, _WINDOW_SCALE: 3, _SACK_PERMITTED: 2, _TIMESTAMPS: 10}
_MOST_SHIFT: Final = 14


class SynOptions(NamedTuple):
    """What the sender of a SYN offers.

    Attributes:
        mss: the largest payload that it takes in a segment; None if it does not say.
        window_scale: by how many bits it wants to shift its window; None if not at all.
        sack_permitted: whether it takes selective acknowledgements.
        timestamps: whether it sends timestamps.
    """

    mss: int | None = None
    window_scale: int | None = None
    sack_permitted: bool = False
    timestamps: bool = False


def read_syn_options(options: bytes) -> SynOptions:
    """Return what the options of a SYN say; those behind one that makes no sense are not read."""
    found: dict[int, bytes] = {}
    at = 0
    while at < len(options) and options[at] != _END:
        if options[at] == _NO_OPERATION:
            at += 1
            continue
        size = options[at + 1] if at + 1 < len(options) else 0
        if size < _LEAST_BYTES or at + size > len(options):
            break
        if size == _SIZES.get(options[at]):
            found.setdefault(options[at], options[at + 2 : at + size])
        at += size
    mss, shift = found.get(_MSS), found.get(_WINDOW_SCALE)
    return SynOptions(
        None if mss is None else int.from_bytes(mss),
        None if shift is None else min(shift[0], _MOST_SHIFT),
        _SACK_PERMITTED in found,
        _TIMESTAMPS in found,
    )
