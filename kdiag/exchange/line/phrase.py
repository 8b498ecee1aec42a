"""The words that phrases are made of: counts, sizes, lists, ids cut short."""

import re
from collections.abc import Sequence
from typing import Final

MAX_LISTED: Final = 8
"""The most elements of a list that are named; the others are counted."""

_MAX_QUOTED: Final = 200
_KILO: Final = 1000
_UUID: Final = r"\b([0-9a-fA-F]{8})-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
_KAFKA_UUID: Final = r"[0-9A-Za-z_-]{22}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 record`, `12 records`, `2 batches`, `3 entries`."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("ry"):
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}{'es' if noun.endswith(('ch', 's')) else 's'}"


def hex_text(data: bytes) -> str:
    """Return bytes in hexadecimal, in words of four: `00000017 8081`."""
    return data.hex(" ", -4)


def size(number: int) -> str:
    """Return a number of bytes in decimal units: `999 B`, `1.2 kB`, `34 MB`."""
    if number < _KILO:
        return f"{number} B"
    value, unit = float(number), "B"
    for unit in ("kB", "MB", "GB", "TB"):  # noqa: B007 - the unit that was reached
        value /= _KILO
        if round(value) < _KILO:
            break
    return f"{value:.1f} {unit}" if round(value, 1) < 10 else f"{value:.0f} {unit}"  # noqa: PLR2004


def listed(words: Sequence[str], separator: str = " ") -> str:
    """Return the first words of a list, and the number of the others."""
    if len(words) <= MAX_LISTED:
        return separator.join(words)
    return f"{separator.join(words[:MAX_LISTED])}{separator}+{len(words) - MAX_LISTED}"


def address_text(host: str, port: int) -> str:
    """Return `host:port`, with brackets around IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def quoted(text: str) -> str:
    """Return a text that a person wrote, or the start of a long one, in quotation marks."""
    return f'"{text}"' if len(text) <= _MAX_QUOTED else f'"{text[:_MAX_QUOTED]}…"'


def short_id(text: str) -> str:
    """Return a member id with the UUIDs in it cut down to their first eight characters."""
    if re.fullmatch(_KAFKA_UUID, text):
        return f"{text[:8]}…"
    return re.sub(_UUID, r"\1…", text)


def clause(*parts: str | None) -> str:
    """Return the parts that are not empty, as one clause."""
    return ", ".join(part for part in parts if part)
