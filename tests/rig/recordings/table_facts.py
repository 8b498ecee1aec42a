"""What tables must hold, taken from the JSON documents of the same capture."""

import json
from base64 import b64decode
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pyarrow import parquet

_SCALARS: Final = (
    "number",
    "connection",
    "connection_id",
    "client",
    "broker",
    "client_id",
    "api_key",
    "api",
    "version",
    "correlation_id",
    "status",
    "latency_us",
    "error",
    "transfer_us",
)
_FRAME: Final = (
    "bytes",
    "segments",
    "first_packet",
    "last_packet",
    "starts_in_segment_with",
    "gap_bytes",
)
_BATCH: Final = {
    "base_offset": "baseOffset",
    "record_count": "recordCount",
    "size_bytes": "sizeInBytes",
    "magic": "magic",
    "compression": "compression",
    "timestamp_type": "timestampType",
    "producer_id": "producerId",
    "producer_epoch": "producerEpoch",
    "base_sequence": "baseSequence",
    "partition_leader_epoch": "partitionLeaderEpoch",
    "is_transactional": "isTransactional",
    "is_control": "isControl",
    "crc_ok": "crcOk",
}
_SPREADS: Final = (
    ("window_bytes", "bytes", ("least", "median", "most")),
    ("in_flight_bytes", "bytes", ("median", "p95", "most")),
    ("ack_rtt_us", "us", ("least", "median", "p95", "most")),
)
_CONNECTION: Final = (
    "connection",
    "connection_id",
    "client",
    "broker",
    "protocol",
    "tls_version",
    "sni",
    "requests",
    "responses",
    "request_bytes",
    "response_bytes",
    "duplicates",
    "gaps",
    "gap_bytes",
    "close_reason",
)


def read_rows(folder: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    rows: list[dict[str, Any]] = parquet.read_table(folder / f"{table}.parquet").to_pylist()
    return rows


def time_ns(text: str) -> int:
    """Return an RFC 3339 time with nanoseconds as a number since 1970."""
    whole, _, digits = text.removesuffix("Z").partition(".")
    return int(datetime.fromisoformat(f"{whole}+00:00").timestamp()) * 10**9 + int(digits)


def exchange_facts(document: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of `exchanges` that the document of an exchange tells."""
    facts = {name: document[name] for name in _SCALARS}
    facts["time_ns"] = time_ns(document["time"])
    facts["guessed"] = document.get("guessed", False)
    session = document.get("session_topics")
    if session is not None:
        session = [{"topic": topic, "partition": partition} for topic, partition in session]
    facts["session_topics"] = session
    for name in ("request", "response"):
        side = document[name]
        for fact in ("status", "why", "body"):
            facts[f"{name}_{fact}"] = None if side is None else side.get(fact)
        for fact in _FRAME:
            facts[f"{name}_{fact}"] = None if side is None else side["frame"][fact]
    return facts


def exchange_facts_of_row(row: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Return the same columns of a row, its bodies read as the documents write them."""
    facts = {name: row[name] for name in names}
    for name in ("request_body", "response_body"):
        facts[name] = None if row[name] is None else json.loads(row[name])
    return facts


def without_records(body: Any) -> Any:
    """Return a body without the records inside its batches, which tables have elsewhere."""
    if isinstance(body, dict):
        is_batch = "magic" in body and "records" in body
        return {
            key: without_records(value)
            for key, value in body.items()
            if not (is_batch and key == "records")
        }
    if isinstance(body, list):
        return [without_records(each) for each in body]
    return body


def batch_facts(document: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield the columns of `batches` that a document tells, and the records of each batch."""
    for index, (topic, partition, batch) in enumerate(_batches(document)):
        name = topic.get("name") or topic.get("topic")
        topic_id = topic.get("topicId")
        facts = {column: batch[key] for column, key in _BATCH.items()}
        facts |= {
            "connection_id": document["connection_id"],
            "time_ns": time_ns(document["time"]),
            "correlation_id": document["correlation_id"],
            "batch_index": index,
            "topic": name or document["topic_names"].get(topic_id, topic_id),
            "topic_id": topic_id,
            "partition": partition.get("index", partition.get("partitionIndex")),
        }
        yield facts, batch["records"]


def _batches(
    document: dict[str, Any],
) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Yield each batch of a document with the topic and the partition that it is in."""
    places = {
        "Produce": ("request", "topicData", "partitionData"),
        "Fetch": ("response", "responses", "partitions"),
        "ShareFetch": ("response", "responses", "partitions"),
    }
    if document["api"] not in places:
        return
    side, topics, partitions = places[document["api"]]
    body = (document[side] or {}).get("body") or {}
    for topic in body.get(topics) or ():
        for partition in topic.get(partitions) or ():
            for batch in partition.get("records") or ():
                yield topic, partition, batch


def record_facts(record: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of `records` that the JSON of a record tells.

    Of a key or a value that is cut there, its size and its hash are compared.
    """
    cut = {
        name: (record[f"{name}_bytes"], record[f"{name}_sha256"])
        for name in ("key", "value")
        if f"{name}_sha256" in record
    }
    facts = {
        "record_offset": record["offset"],
        "timestamp_ms": record["timestamp"],
        "type": record.get("type") or record.get("control"),
        "key": record.get("key"),
        "key_b64": record.get("key_b64"),
        "value": record.get("value"),
        "value_b64": record.get("value_b64"),
        "headers": record["headers"],
        "fault": None,
    }
    return facts | cut


def record_facts_of_row(row: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """Return the same columns of a row, JSON read where the documents have JSON."""
    facts = {name: row[name] for name in expected}
    facts["headers"] = json.loads(row["headers"])
    for name in ("key", "value"):
        if isinstance(expected[name], tuple):
            data = b64decode(row[f"{name}_b64"]) if row[name] is None else row[name].encode()
            facts |= {name: (len(data), sha256(data).hexdigest()), f"{name}_b64": None}
    if row["type"] is not None:
        for name in ("key", "value"):
            if isinstance(facts[name], str) and facts[name].startswith("{"):
                facts[name] = json.loads(row[name])
    return facts


def connection_facts(document: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of `connections` that the document of a connection tells."""
    facts = {name: document[name] for name in _CONNECTION}
    facts["first_ns"] = time_ns(document["first_time"])
    facts["last_ns"] = time_ns(document["last_time"])
    return facts


def tcp_facts(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the columns of `tcp` that the document of a connection tells; times in microseconds."""
    tcp = document["tcp"]
    whole = {
        "connection_id": document["connection_id"],
        **{name: value for name, value in tcp.items() if name not in {"requests", "responses"}},
    }
    for direction in ("request", "response"):
        way = tcp[f"{direction}s"]
        counts = {name: value for name, value in way.items() if not isinstance(value, dict)}
        mss = counts.pop("mss")
        for name, _, _ in _SPREADS:
            counts.pop(name, None)  # null where nothing was measured
        waits = {f"{name}_us": value for name, value in way["waits_us"].items()}
        spreads = {
            f"{name.removesuffix(f'_{unit}')}_{part}_{unit}": (way[name] or {}).get(part)
            for name, unit, parts in _SPREADS
            for part in parts
        }
        yield whole | counts | waits | spreads | {"direction": direction, "mss_bytes": mss}


def in_us(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its times in whole microseconds, as documents have them."""
    return {
        f"{name[:-3]}_us" if name.endswith("_ns") else name: (
            value // 1000 if name.endswith("_ns") and value is not None else value
        )
        for name, value in row.items()
    }


def gap_facts(document: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of `gaps` that the document of a gap tells."""
    return {
        "connection": document["connection"],
        "connection_id": document["connection_id"],
        "direction": document["direction"],
        "time_ns": time_ns(document["time"]),
        "stream_offset": document["offset"],
        "bytes": document["bytes"],
        "reason": document["reason"],
    }
