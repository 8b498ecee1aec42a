"""Memory pools: limit the memory that all receives of a selector take together.

A pool counts; it hands out no buffers. A receive reserves memory step by step as bytes arrive, and
gives it back when it is closed. What a length prefix states reserves nothing: Kafka reserves it all
at once, so there four connections of eight bytes can take the whole pool.

Clients use `UNLIMITED`; `SimpleMemoryPool` is for the brokers of kdiag's lab (`queued.max.request.
bytes`).

Source: Kafka's `MemoryPool`, `SimpleMemoryPool`.
"""

from typing import Final, Protocol


class MemoryPool(Protocol):
    """An account of bytes."""

    def try_allocate(self, size_bytes: int) -> bool:
        """Reserve bytes and return True; return False if there are too few now.

        Raises:
            ValueError: if the pool can never give so many.
        """
        ...

    def release(self, size_bytes: int) -> None:
        """Return reserved bytes to the pool."""
        ...

    @property
    def size_bytes(self) -> int | None:
        """Return the size of the pool; None is unlimited."""
        ...

    @property
    def available_bytes(self) -> int | None:
        """Return how much is left, negative if overdrawn; None is unlimited."""
        ...

    @property
    def max_single_bytes(self) -> int | None:
        """Return the largest single reservation; None is unlimited."""
        ...

    @property
    def is_out_of_memory(self) -> bool:
        """Return whether nothing is left."""
        ...


class _UnlimitedMemoryPool:
    """A pool that never runs out."""

    size_bytes: int | None = None
    available_bytes: int | None = None
    max_single_bytes: int | None = None
    is_out_of_memory = False

    def try_allocate(self, size_bytes: int) -> bool:
        return size_bytes > 0

    def release(self, size_bytes: int) -> None:
        pass


UNLIMITED: Final[MemoryPool] = _UnlimitedMemoryPool()


class SimpleMemoryPool:
    """A pool of a fixed size.

    Attributes:
        size_bytes: the size of the pool.
        available_bytes: how much is left; negative if overdrawn, by less than the largest single
            reservation.
        max_single_bytes: the largest single reservation.
    """

    def __init__(self, size_bytes: int, max_single_bytes: int, *, is_strict: bool = False) -> None:
        """Create a pool of which nothing is reserved.

        Args:
            size_bytes: the size of the pool.
            max_single_bytes: the largest single reservation.
            is_strict: whether a reservation needs its full amount to be left. Otherwise one byte
                that is left is enough, so that large receives do not starve.
        """
        if not 0 < max_single_bytes <= size_bytes:
            raise ValueError(
                f"a pool of {size_bytes} bytes cannot give up to {max_single_bytes} at once"
            )
        self.size_bytes: int = size_bytes
        self.available_bytes: int = size_bytes
        self.max_single_bytes: int = max_single_bytes
        self._is_strict = is_strict

    def try_allocate(self, size_bytes: int) -> bool:
        """Reserve bytes and return True; return False if there are too few now."""
        if not 0 < size_bytes <= self.max_single_bytes:
            raise ValueError(f"{size_bytes} bytes are not from 1 to {self.max_single_bytes}")
        if self.available_bytes < (size_bytes if self._is_strict else 1):
            return False
        self.available_bytes -= size_bytes
        return True

    def release(self, size_bytes: int) -> None:
        """Return reserved bytes to the pool."""
        self.available_bytes += size_bytes

    @property
    def is_out_of_memory(self) -> bool:
        """Return whether nothing is left."""
        return self.available_bytes <= 0
