import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from folders import ORACLE

KAFKA_VERSIONS = ("3.9.1", "4.3.1", "4.4.0")


def read_lines(name: str) -> list[dict[str, Any]]:
    """Return the lines of a file of vectors."""
    with gzip.open(ORACLE / name, "rt", encoding="ascii") as lines:
        return [json.loads(line) for line in lines]


def test_the_vectors_hold_every_api_version_that_kafka_ever_shipped() -> None:
    """Three Kafkas together speak 368 pairs of API and version, each in both directions."""
    kinds: dict[tuple[int, int], set[str]] = {}
    for version in KAFKA_VERSIONS:
        for line in read_lines(f"vectors-{version}.jsonl.gz"):
            kinds.setdefault((line["api_key"], line["version"]), set()).add(line["kind"])
    assert len(kinds) == 368
    assert {api_key for api_key, _ in kinds} == set(range(95))
    assert all(each == {"request", "response"} for each in kinds.values())


@pytest.mark.real
@pytest.mark.parametrize("version", KAFKA_VERSIONS)
def test_kafka_reads_the_vectors_as_they_say(
    version: str,
    kafka_reads: Callable[[str, Iterable[Mapping[str, object]]], list[dict[str, Any]]],
) -> None:
    """A Kafka sees in its vectors what they hold, no byte more or less."""
    lines = read_lines(f"vectors-{version}.jsonl.gz")
    answers = kafka_reads(version, lines)
    assert [answer["json"] for answer in answers] == [line["json"] for line in lines]
    assert all(answer["canonical"] and not answer["remaining_bytes"] for answer in answers)


@pytest.mark.real
def test_kafka_says_what_is_wrong_with_bytes_that_it_cannot_read(
    kafka_reads: Callable[[str, Iterable[Mapping[str, object]]], list[dict[str, Any]]],
) -> None:
    """A cut message is an answer with an error, not the end of the run."""
    cut = {"api_key": 3, "kind": "request", "version": 1, "hex": "000000"}
    whole = {"api_key": 3, "kind": "request", "version": 1, "hex": "00000000"}
    first, second = kafka_reads("4.3.1", [cut, whole])
    assert "error" in first
    assert second["json"] == {"topics": []}
