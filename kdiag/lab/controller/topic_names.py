"""Which names topics may have.

    orders, orders.eu, orders_eu-2        1 to 249 characters: letters, digits, `.`, `_` and `-`
    . and ..                              are folders, not topics
    orders.eu and orders_eu               cannot both be: Kafka's metrics write `_` for `.`

Source: Kafka's `Topic` (`validate`, `hasCollision`).
"""

import re
from collections.abc import Iterable
from typing import Final

MAX_NAME_LENGTH: Final = 249
"""A folder's name has up to 255 characters, of which a partition's number takes some."""

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)


def fault_in_name(name: str) -> str | None:
    """Return what is wrong with a topic's name; None if it may be one."""
    if not name:
        return "a topic's name is not empty"
    if name in {".", ".."}:
        return f"{name!r} is a folder's name, not a topic's"
    if len(name) > MAX_NAME_LENGTH:
        return f"a topic's name has up to {MAX_NAME_LENGTH} characters, this one has {len(name)}"
    if not _LEGAL.fullmatch(name):
        return f"a topic's name has ASCII letters, digits, '.', '_' and '-' only, not {name!r}"
    return None


def colliding_name(name: str, others: Iterable[str]) -> str | None:
    """Return the topic with which a new one would share its metrics; None without one."""
    if "." not in name and "_" not in name:
        return None
    unified = name.replace(".", "_")
    return next(
        (other for other in others if other != name and other.replace(".", "_") == unified), None
    )
