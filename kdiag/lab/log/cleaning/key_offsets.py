"""The last offset of each key in the dirty part of a log.

Keys are kept as they are up to sixteen bytes and as a hash of sixteen beyond that, so that memory
is bounded by the number of keys (about 150 bytes each). When it is full, the dirty part ends there,
and the rest is for the next cleaning.

Source: Kafka's `SkimpyOffsetMap`, which hashes with MD5.
"""

from hashlib import blake2b
from typing import Final

MAX_KEYS: Final = 1_000_000

_DIGEST_BYTES: Final = 16


class KeyOffsets:
    """Offsets by key.

    Attributes:
        latest_offset: up to where the log was read; -1 before.
        max_keys: when it is full.
    """

    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        """Begin without keys."""
        self.latest_offset = -1
        self.max_keys = max_keys
        self._offsets: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    def put(self, key: bytes, offset: int) -> bool:
        """Record the offset of a key; return false, and record nothing, if there is no room."""
        short = _shortened(key)
        if len(self._offsets) >= self.max_keys and short not in self._offsets:
            return False
        self._offsets[short] = offset
        return True

    def get(self, key: bytes) -> int:
        """Return the last offset of a key; -1 if it is not in the dirty part."""
        return self._offsets.get(_shortened(key), -1)


def _shortened(key: bytes) -> bytes:
    if len(key) < _DIGEST_BYTES:
        return key
    return blake2b(key, digest_size=_DIGEST_BYTES).digest()
