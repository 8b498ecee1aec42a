"""Receives: incoming frames, which survive partial reads.

A length prefix is only a claim. A negative one, or one above the limit, is refused; below the limit
memory is reserved and the buffer grows as bytes arrive, never beyond twice those plus one step:

    claimed 104,857,600    4 bytes have come        4 KiB are reserved
                           4 KiB                    8 KiB
                           64 MiB               100 MiB

Source: Kafka's `NetworkReceive`.
"""

from struct import Struct
from typing import Final

from kdiag.clock import Clock
from kdiag.errors import AuthenticationError, ConnectError, Fault, Layer
from kdiag.net.foreign import foreign_protocol
from kdiag.net.memory_pool import UNLIMITED, MemoryPool
from kdiag.net.transport import Transport
from kdiag.wire.frame import DEFAULT_MAX_FRAME_BYTES, LENGTH_BYTES

_LENGTH: Final = Struct(">i")
_STEP_BYTES: Final = 4 * 1024
_BURST_BYTES: Final = 64 * 1024
"""A frame of so many bytes is read in one call, in steps only where memory is limited."""
_MORE_BYTES: Final = 256
"""How many more bytes are read to recognise a foreign protocol."""
_FIX: Final = "Check that the port is a Kafka listener's, and that both ends use TLS or neither"


class InvalidReceiveError(ConnectError):
    """The other end sent a length that no frame may have: it is not Kafka, or broken.

    Attributes:
        first_bytes: the bytes read in place of a frame, the length first.
    """

    def __init__(
        self, address: str, layer: Layer, why: str, fix: str = "", *, first_bytes: bytes = b""
    ) -> None:
        super().__init__(address, layer, why, fix, Fault.BROKEN_PROTOCOL)
        self.first_bytes = first_bytes


class NetworkReceive:
    """One frame from one channel.

    Attributes:
        channel_id: the channel it comes from.
        size: how many bytes the prefix states; None before it is known.
        first_byte_ns: when the first byte of the prefix was read, since 1970; None before.
        last_byte_ns: when the last byte was read; None before the receive is completed.
        payload: the frame without its prefix; empty before the receive is completed.
        is_memory_needed: whether the pool has refused the memory for the next bytes.
    """

    def __init__(
        self,
        channel_id: str,
        max_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        pool: MemoryPool = UNLIMITED,
    ) -> None:
        """Expect the prefix of a frame.

        Args:
            channel_id: the channel it comes from.
            max_bytes: the largest size that is not refused.
            pool: where memory is reserved, as the bytes of the frame arrive, until `close`.
        """
        self.channel_id = channel_id
        self.size: int | None = None
        self.first_byte_ns: int | None = None
        self.last_byte_ns: int | None = None
        self.payload = b""
        self.is_memory_needed = False
        self._max_bytes = max_bytes
        self._pool = pool
        self._reserved_bytes = 0
        self._chunks: list[bytearray] = []  # to be joined once: one that grew would be copied
        self._free = 0
        self._filled = 0

    def __repr__(self) -> str:
        size = "an unknown number of" if self.size is None else self.size
        return f"<NetworkReceive from {self.channel_id}: {self._filled} of {size} bytes>"

    @property
    def missing_bytes(self) -> int:
        """Return how much of the frame is missing; 0 before its size is known."""
        return 0 if self.size is None or self.is_completed else self.size - self._filled

    @property
    def received_bytes(self) -> int:
        """Return how much has arrived of the frame, or of its prefix before its size is known."""
        return self._filled

    @property
    def is_completed(self) -> bool:
        """Return whether the frame is complete."""
        return self.last_byte_ns is not None

    def read_from(self, transport: Transport, clock: Clock) -> int:
        """Read the available bytes, up to the end of the frame, and return how many.

        Raises:
            InvalidReceiveError: if no frame may have such a length.
            EndOfStreamError: if the peer has closed.
            AuthenticationError: if the peer refuses us after the handshake (TLS 1.3).
            OSError: if the connection broke.
        """
        count = 0
        if self.size is None:
            count = self._fill(transport, LENGTH_BYTES)
            if count and self.first_byte_ns is None:
                self.first_byte_ns = clock.epoch_ns()
            if self._filled < LENGTH_BYTES:
                return count
            self.size = self._read_size(transport)
        count += self._fill(transport, self.size)
        while not self._free and self._filled < min(self.size, _BURST_BYTES):
            more = self._fill(transport, self.size)
            if not more:
                break
            count += more
        if self._filled == self.size and not self.is_completed:
            self.payload = b"".join(self._chunks)
            self._chunks.clear()
            self.last_byte_ns = clock.epoch_ns()
        return count

    def close(self) -> None:
        """Give the memory back to the pool; a second call does nothing."""
        if self._reserved_bytes:
            self._pool.release(self._reserved_bytes)
            self._reserved_bytes = 0

    def _fill(self, transport: Transport, stop: int) -> int:
        """Read once into the last chunk; chunks are added step by step, up to `stop` bytes."""
        if self._filled == stop or not (self._free or self._try_grow(stop)):
            return 0
        with memoryview(self._chunks[-1]) as chunk, chunk[len(chunk) - self._free :] as free:
            count = transport.read_into(free)
        self._free -= count
        self._filled += count
        return count

    def _read_size(self, transport: Transport) -> int:
        """Return the size in the prefix, if a frame may have it."""
        prefix = b"".join(self._chunks)
        size: int = _LENGTH.unpack(prefix)[0]
        limit = min(self._max_bytes, self._pool.max_single_bytes or self._max_bytes)
        if not 0 <= size <= limit:
            raise _refusal(transport, prefix, limit)
        self._chunks.clear()
        self._filled = 0
        return size

    def _try_grow(self, stop: int) -> bool:
        """Add a chunk; one of the frame itself only if the pool has the memory for it now."""
        step = _BURST_BYTES if self._pool.size_bytes is None else _STEP_BYTES
        size = min(max(step, self._filled), stop - self._filled)
        if self.size is not None:
            self.is_memory_needed = not self._pool.try_allocate(size)
            if self.is_memory_needed:
                return False
            self._reserved_bytes += size
        self._free = size
        self._chunks.append(bytearray(size))
        return True


def _refusal(transport: Transport, prefix: bytes, limit: int) -> InvalidReceiveError:
    """Return why a length is refused, and the foreign protocol if it is known."""
    more = bytearray(_MORE_BYTES)
    try:
        count = transport.read_into(memoryview(more))
    except (OSError, AuthenticationError):
        count = 0  # what has come is enough to refuse it; the connection ends either way
    first = prefix + more[:count]
    foreign = foreign_protocol(first)
    if foreign is not None:
        refusal = InvalidReceiveError(
            transport.peer, foreign.layer, foreign.why, foreign.fix, first_bytes=first
        )
        refusal.fault = foreign.fault
        return refusal
    size = _LENGTH.unpack(prefix)[0]
    expected = f"a frame's length from 0 to {limit} was expected"
    why = f"{expected}, but the first bytes are {prefix.hex(' ')}, which is {size}"
    return InvalidReceiveError(transport.peer, Layer.KAFKA, why, _FIX, first_bytes=first)
