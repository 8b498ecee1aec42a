"""What a release of Kafka says of itself in numbers and names, as the oracle wrote it down.

`table-4.4.0.jsonl` has a line for each API, `names-4.4.0.jsonl` one for each constant of Kafka's
enumerations and each setting of its clients (only of the newest release).
"""

import json
from functools import cache
from typing import Any

from folders import ORACLE
from real_kafka.releases import VERSIONS


@cache
def api_table(version: str) -> list[dict[str, Any]]:
    """Return the APIs of a release, one row for each."""
    return _lines(f"table-{version}.jsonl")


def spoken_pairs(*versions: str) -> frozenset[tuple[int, int]]:
    """Return the pairs of API key and version that some of the releases speak; of all, if none."""
    return frozenset(
        (row["api_key"], number)
        for version in versions or VERSIONS
        for row in api_table(version)
        for number in range(row["min"], row["max"] + 1)
    )


@cache
def names(version: str) -> dict[str, list[dict[str, Any]]]:
    """Return the constants of Kafka's enumerations by the name of the enumeration."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in _lines(f"names-{version}.jsonl"):
        found.setdefault(line["enum"], []).append(line)
    return found


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ORACLE / name).read_text().splitlines()]
