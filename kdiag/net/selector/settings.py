"""Selector settings: the sizes and times that a selector is made with."""

from typing import Final, NamedTuple

from kdiag.net.memory_pool import UNLIMITED, MemoryPool
from kdiag.wire.frame import DEFAULT_MAX_FRAME_BYTES

DEFAULT_MAX_IDLE_NS: Final = 9 * 60 * 1_000_000_000
"""Kafka's clients' own default of `connections.max.idle.ms`."""
NEVER: Final = -1
"""Keep idle connections."""
SYSTEM_DEFAULT: Final = -1
"""Leave the size of a socket's buffer to the operating system."""


class SelectorSettings(NamedTuple):
    """What a selector may be told.

    Attributes:
        max_idle_ns: how long a connection may be unused before it is closed; `NEVER` keeps it.
        max_receive_bytes: the largest frame that is not refused.
        pool: the memory for frames on their way in.
        send_buffer_bytes: SO_SNDBUF, or `SYSTEM_DEFAULT`.
        receive_buffer_bytes: SO_RCVBUF, or `SYSTEM_DEFAULT`.
        failed_authentication_delay_ns: how long a server lets a client wait for its refusal.
    """

    max_idle_ns: int = DEFAULT_MAX_IDLE_NS
    max_receive_bytes: int = DEFAULT_MAX_FRAME_BYTES
    pool: MemoryPool = UNLIMITED
    send_buffer_bytes: int = SYSTEM_DEFAULT
    receive_buffer_bytes: int = SYSTEM_DEFAULT
    failed_authentication_delay_ns: int = 0


DEFAULT_SETTINGS: Final = SelectorSettings()
