"""CRC-32C, the checksum of record batches of magic 2; magic 0 and 1 have the CRC-32 of `zlib`.

Source: RFC 3720, appendix B.4 (Castagnoli's polynomial).
"""

from collections.abc import Callable
from functools import cache


def crc32c(data: bytes | memoryview) -> int:
    """Return the CRC-32C of bytes, unsigned."""
    return _library()(data)


@cache
def _library() -> Callable[[bytes | memoryview], int]:
    from crc32c import crc32c as compute  # noqa: PLC0415 - 25 ms, it asks for its own version

    return compute
