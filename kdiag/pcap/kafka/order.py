"""The order in which exchanges are numbered: by the packet with their first byte.

A frame is not always known when its first byte has been captured: bytes before it may be missing
still, or its length may be split. Others wait for it, but not for ever: after `MAX_WAIT_PACKETS`
more packets of the capture nobody waits, and its place is where it becomes known. So the order
depends on the packets alone, not on how they were read.
"""

from typing import Final

MAX_WAIT_PACKETS: Final = 4096


def place(first_packet: int, known_packet: int) -> int:
    """Return the number of the packet that gives a frame its place among all frames.

    Args:
        first_packet: the packet with its first byte.
        known_packet: the packet that made known that a frame starts there.
    """
    if known_packet - first_packet > MAX_WAIT_PACKETS:
        return known_packet
    return first_packet
