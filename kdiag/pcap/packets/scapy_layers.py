"""scapy, as far as reading captures needs it: bytes in, the place of the first IP header out.

scapy keeps global state, so little of it is used: no function that dissects a frame by settings,
but the class that the bytes begin with, and nothing behind the first IP header. Its loggers and
warnings are off while it works here, and as they were for whoever else uses it.
"""

import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, Final

_LOGGERS: Final = ("scapy", "scapy.interactive", "scapy.loading", "scapy.runtime")


@contextmanager
def _quiet() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, was_disabled in zip(loggers, before, strict=True):
            logger.disabled = was_disabled


with _quiet():
    from scapy.layers.inet import IP
    from scapy.layers.inet6 import IPv6


def find_ip(dissector: str, heads: Iterable[bytes]) -> list[int | None]:
    """Return where in each of some packets the first IP header is.

    Args:
        dissector: the class that they begin with, `scapy.layers.ppp.PPP`.
        heads: their first bytes.

    Returns:
        A place for each packet: -1 if it has no IP header, None if the dissector failed.
    """
    with _quiet():
        return [_find_one(dissector, head) for head in heads]


@cache
def _load(dissector: str) -> Any:
    module, _, name = dissector.rpartition(".")
    return getattr(import_module(module), name)


def _find_one(dissector: str, head: bytes) -> int | None:
    try:
        packet = _load(dissector)(head, stop_dissection_after=(IP, IPv6))
        for layer in packet.iterpayloads():
            if isinstance(layer, IP | IPv6):
                return head.find(layer.original)
    except Exception:  # noqa: BLE001 - a dissector raises whatever it comes across
        return None
    return -1
