"""Throttling: when a broker asks a client to leave its connection alone.

A response says in `throttle_time_ms` for how long the quota is exceeded. Since KIP-219 (Kafka 2.0)
the broker answers at once and mutes the connection for that time, and the client should wait. In
older versions of each API the broker has waited before it answered, so the client should not.

Source: `shouldClientThrottle` of the response classes of Kafka 4.4.0; KIP-219.
"""

from typing import Final

from kdiag.wire.catalog import Api
from kdiag.wire.schema import Struct

_MS: Final = 1_000_000
_BEFORE_KIP_219: Final = 42
"""The last API key that existed when clients began to wait; DeleteGroups."""
_FIRST_VERSION: Final = {
    0: 6,
    1: 8,
    2: 3,
    3: 6,
    8: 4,
    9: 4,
    10: 2,
    11: 3,
    12: 2,
    13: 2,
    14: 2,
    15: 2,
    16: 2,
    18: 2,
    19: 3,
    20: 2,
    32: 2,
}
"""The first version in which a client waits, where it is not 1, of the APIs of that time."""


def throttle_ns(api: Api, version: int, body: Struct) -> int:
    """Return for how long, in ns, the client should leave the connection alone; 0 is not at all."""
    throttle_ms: int = getattr(body, "throttle_time_ms", 0)
    if throttle_ms <= 0:
        return 0
    first = 0 if api.key > _BEFORE_KIP_219 else _FIRST_VERSION.get(api.key, 1)
    return throttle_ms * _MS if version >= first else 0
