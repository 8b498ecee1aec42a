import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from folders import ORACLE
from real_kafka import kafka_oracle
from real_kafka.oracle_tables import spoken_pairs
from real_kafka.releases import NEWEST, USUAL, VERSIONS


def read_lines(name: str) -> list[dict[str, Any]]:
    """Return the lines of a file of vectors."""
    with gzip.open(ORACLE / name, "rt", encoding="ascii") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.thorough
def test_the_vectors_hold_every_api_version_that_kafka_ever_shipped() -> None:
    """Each pair of API and version that some release speaks, in both directions."""
    kinds: dict[tuple[int, int], set[str]] = {}
    for version in VERSIONS:
        for line in read_lines(f"vectors-{version}.jsonl.gz"):
            kinds.setdefault((line["api_key"], line["version"]), set()).add(line["kind"])
    assert kinds.keys() == spoken_pairs()
    assert all(each == {"request", "response"} for each in kinds.values())


@pytest.mark.real
@pytest.mark.soak
@pytest.mark.parametrize("command", ["table", "names"])
def test_the_tables_are_what_the_newest_kafka_says(
    command: str, get_kafka_jars: Callable[[str], Path]
) -> None:
    """Other tests believe them without asking Kafka."""
    get_kafka_jars(NEWEST)
    assert kafka_oracle.tell(NEWEST, command) == (ORACLE / f"{command}-{NEWEST}.jsonl").read_text()


@pytest.mark.real
@pytest.mark.soak
@pytest.mark.parametrize("version", VERSIONS)
def test_kafka_reads_the_vectors_as_they_say(
    version: str,
    kafka_reads: Callable[[str, Iterable[Mapping[str, object]]], list[dict[str, Any]]],
) -> None:
    """A Kafka sees in its vectors what they hold, no byte more or less."""
    lines = read_lines(f"vectors-{version}.jsonl.gz")
    answers = kafka_reads(version, lines)
    assert [answer["json"] for answer in answers] == [line["json"] for line in lines]
    assert all(answer["canonical"] and not answer["remaining_bytes"] for answer in answers)


@pytest.mark.soak
def test_kafka_says_what_is_wrong_with_bytes_that_it_cannot_read(
    kafka_reads: Callable[[str, Iterable[Mapping[str, object]]], list[dict[str, Any]]],
) -> None:
    """A cut message is an answer with an error, not the end of the run."""
    cut = {"api_key": 3, "kind": "request", "version": 1, "hex": "000000"}
    whole = {"api_key": 3, "kind": "request", "version": 1, "hex": "00000000"}
    first, second = kafka_reads(USUAL, [cut, whole])
    assert "error" in first
    assert second["json"] == {"topics": []}
