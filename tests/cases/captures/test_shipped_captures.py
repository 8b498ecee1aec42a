"""The captures that ship with kdiag: what it says of them, and what their clients counted."""

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from folders import CAPTURES
from recordings.expected_exchanges import decode_lines
from tiers.cases import for_each

NAMES = sorted(path.stem for path in CAPTURES.glob("*.pcap"))


@pytest.mark.thorough
@for_each("name", NAMES)
def test_a_capture_decodes_to_the_lines_beside_it(name: str) -> None:
    """Every line is as it was when somebody last read the difference."""
    expected = (CAPTURES / f"{name}.jsonl").read_bytes().splitlines()

    assert decode_lines(CAPTURES / f"{name}.pcap").splitlines() == expected


def exchanges(name: str) -> Iterator[dict[str, Any]]:
    """Yield the exchanges that were written beside a capture."""
    for line in (CAPTURES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        if document["kind"] == "exchange":
            yield document


def records(side: dict[str, Any], path: tuple[str, str]) -> list[dict[str, Any]]:
    """Return the records of a Produce request's or a Fetch response's body."""
    return [
        record
        for topic in side["body"][path[0]]
        for partition in topic[path[1]]
        for batch in partition["records"] or []
        for record in batch["records"]
        if not batch["isControl"]
    ]


@pytest.mark.parametrize(
    ("name", "produced", "consumed"),
    [("produce_consume_group", 30, 30), ("old_versions", 16, 24), ("sasl_plain", 10, 10)],
)
def test_records_are_as_many_as_the_clients_counted(
    name: str, produced: int, consumed: int
) -> None:
    """The numbers are those of clients.json, retries and repeated fetches left out."""
    written, read = 0, set()
    for exchange in exchanges(name):
        if exchange["api"] == "Produce":
            written += len(records(exchange["request"], ("topicData", "partitionData")))
        elif exchange["api"] == "Fetch" and exchange["response"]:
            for topic in exchange["response"]["body"]["responses"]:
                for partition in topic["partitions"]:
                    place = (topic.get("topic", topic.get("topicId")), partition["partitionIndex"])
                    for batch in partition["records"] or []:
                        read |= {
                            (exchange["client_id"], *place, record["offset"])
                            for record in batch["records"]
                        }

    assert produced == written
    assert consumed == len(read)


def test_a_request_with_acks_0_has_no_response() -> None:
    """Five requests were sent with acks=0, five each with 1 and all."""
    found = [
        (exchange["request"]["body"]["acks"], exchange["status"])
        for exchange in exchanges("acks")
        if exchange["api"] == "Produce"
    ]

    assert sorted(found) == [(-1, "ok")] * 5 + [(0, "no_response")] * 5 + [(1, "ok")] * 5


def test_no_password_is_in_what_is_printed() -> None:
    """The tokens of SASL are redacted: neither password, right or wrong, is anywhere."""
    text = (CAPTURES / "sasl_plain.jsonl").read_bytes()
    wire = (CAPTURES / "sasl_plain.pcap").read_bytes()
    for secret in (b"alice-invented", b"not-the-word"):
        assert secret in wire
        assert secret not in text
        assert b64encode(b"\0alice\0" + secret) not in text

    assert b"<redacted>" in text
    assert b"SASL_AUTHENTICATION_FAILED" in text


@for_each(
    "kind",
    [
        "ApiVersions v5",
        "DeleteGroups v3",
        "StreamsGroupHeartbeat v1",
        "StreamsGroupTopologyDescriptionUpdate v0",
        "StreamsGroupDescribe v1",
        "UnregisterController v0",
    ],
)
def test_what_only_kafka_4_4_speaks_is_decoded(kind: str) -> None:
    """The newest versions are read whole, in both directions."""
    found = [
        exchange["status"]
        for exchange in exchanges("kafka_4_4")
        if f"{exchange['api']} v{exchange['version']}" == kind
    ]

    assert found
    assert set(found) == {"ok"}


def test_captures_are_small_and_explained() -> None:
    """Each capture is below 60 kB, has its lines, and is named in the README."""
    readme = (CAPTURES / "README.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert (CAPTURES / f"{name}.pcap").stat().st_size < 60_000
        assert (CAPTURES / f"{name}.jsonl").exists()
        assert f"`{name}`" in readme
    assert {path.name for path in CAPTURES.iterdir()} == {
        "README.md",
        "clients.json",
        "disk_full.svg",
        *(f"{name}.{ending}" for name in NAMES for ending in ("pcap", "jsonl")),
    }
