"""`--debug`: the log of the library on stderr, as it happens.

    kdiag: times are in UTC
    kdiag: 12:30:01.204 node 1: connecting to kafka1:9092
    kdiag: 12:30:01.206 node 1: connected, 10.0.0.3:51644 to 10.0.0.7:9092
    kdiag: 12:30:01.206 node 1: ApiVersions v4 0: sent, 34 bytes
    kdiag: 12:30:01.209 node 1: ApiVersions v4 0: answered in 2.410 ms, 718 bytes

`--trace` prints exchanges once they have ended; here a request is seen that never gets an answer.
The library logs no contents, so that there are no secrets to be masked.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kdiag.clock import NS_PER_S
from kdiag.exchange.line.shown_time import ZoneNotice, time_of_day
from kdiag_cli.output.terminal import say

_LIBRARY: Final = "kdiag"


class _Lines(logging.Handler):
    """Prints each record in a line of its own."""

    def __init__(self) -> None:
        super().__init__()
        self._zone = ZoneNotice()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        time_ns = int(record.created * NS_PER_S)
        if notice := self._zone.due(time_ns):
            say(notice)
        say(f"{time_of_day(time_ns)} {self.format(record)}")


@contextmanager
def debug_log() -> Iterator[None]:
    """Print what the library logs, until the end."""
    logger = logging.getLogger(_LIBRARY)
    lines = _Lines()
    before = logger.level
    logger.addHandler(lines)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(lines)
        logger.setLevel(before)
