"""Where in a capture a connection is: its packets, and the sequence numbers of its bytes.

    ends, first packet     its packets are those between its ends, up to the next connection there
    origin                 the sequence number of byte 0 of a direction's stream

Byte `n` of a direction lies in every packet whose sequence numbers cover `origin + n`, so copies
and retransmissions are found as the first packet is.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kdiag.exchange.model import Connection
from kdiag.pcap.tcp.sightings import Ends, Link

SEQUENCE_NUMBERS: Final = 1 << 32


class Extent(NamedTuple):
    """A connection, its packets and its bytes.

    Attributes:
        connection: which one.
        endpoints: its ends by number, the lower one first.
        first_packet: number of its first packet.
        client: the side of the client.
        origins: by side, the sequence number of its first byte; None if nothing of it was seen.
        is_encrypted: whether it carries TLS.
        preamble_bytes: by side, how many bytes of a proxy's preamble come first.
        preamble_secrets: where in the client's bytes that has a password.
        links: the connections that are this one once more.
    """

    connection: Connection
    endpoints: Ends
    first_packet: int
    client: int
    origins: tuple[int | None, int | None]
    is_encrypted: bool = False
    preamble_bytes: tuple[int, int] = (0, 0)
    preamble_secrets: Sequence[tuple[int, int]] = ()
    links: Sequence[Link] = ()


class Extents:
    """The extents of the connections of a run.

    Attributes:
        found: of the connections that have ended.
        discarded: ends and first packets of those that turned out to be others once more.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self.found: list[Extent] = []
        self.discarded: list[tuple[Ends, int]] = []
        self._earlier: dict[tuple[Ends, int], int] = {}

    def add(self, extent: Extent) -> None:
        """Note a connection that has ended."""
        earlier = self._earlier.pop((extent.endpoints, extent.first_packet), None)
        self.found.append(extent if earlier is None else extent._replace(first_packet=earlier))

    def begin_earlier(self, ends: Ends, first_packet: int, seen: int) -> None:
        """Note the first packet of a connection that was known to be one by a later packet."""
        self._earlier[ends, first_packet] = seen

    def discard(self, ends: Ends, first_packet: int) -> None:
        """Note a connection that is another one once more."""
        self.discarded.append((ends, first_packet))


def stream_origin(next_sequence: int | None, offset: int) -> int | None:
    """Return the sequence number of byte 0 of a stream, given that of byte `offset`."""
    return None if next_sequence is None else (next_sequence - offset) % SEQUENCE_NUMBERS
