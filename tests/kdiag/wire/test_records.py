import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.errors import DecodeError
from kdiag.wire.compression import FORMS
from kdiag.wire.records import (
    BatchHeader,
    Record,
    RecordBatch,
    TimestampType,
    read_batches,
    write_batch,
)

ORACLE = Path(__file__).parents[2] / "oracle" / "records.jsonl.gz"
MAGIC_2_ONLY = ("leader_epoch", "producer_id", "producer_epoch", "base_sequence")

type_texts = st.sampled_from([TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME])
int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)


def _read_lines() -> list[dict[str, Any]]:
    with gzip.open(ORACLE, "rt", encoding="ascii") as lines:
        return [json.loads(line) for line in lines]


LINES = _read_lines()


def describe_record(record: Record) -> dict[str, Any]:
    """Return a record as the oracle prints it, but for its sequence number."""
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": None if record.key is None else record.key.hex(),
        "value": None if record.value is None else record.value.hex(),
        "headers": [
            [key.decode(), None if value is None else value.hex()] for key, value in record.headers
        ],
    }


def describe_batch(batch: RecordBatch) -> dict[str, Any]:
    """Return a batch as the oracle prints it."""
    described: dict[str, Any] = {
        "magic": batch.magic,
        "size_bytes": batch.size_in_bytes,
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "crc": batch.crc,
        "crc_valid": batch.crc_ok,
        "attributes": batch.attributes,
        "codec": batch.compression,
        "timestamp_type": batch.timestamp_type,
        "max_timestamp": batch.max_timestamp,
        "transactional": batch.is_transactional,
        "control": batch.is_control,
        "records": [describe_record(record) for record in batch.records()],
    }
    if batch.magic == 2:
        described |= {
            "leader_epoch": batch.partition_leader_epoch,
            "producer_id": batch.producer_id,
            "producer_epoch": batch.producer_epoch,
            "base_sequence": batch.base_sequence,
            "last_sequence": batch.last_sequence,
            "record_count": batch.record_count,
            "base_timestamp": batch.base_timestamp,
            "delete_horizon_ms": batch.delete_horizon_ms,
        }
    return described


def expected(line: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the oracle says of the batches, without the sequence numbers of records."""
    return [
        batch
        | {
            "records": [
                {key: value for key, value in record.items() if key != "sequence"}
                for record in batch["records"]
            ]
        }
        for batch in line["batches"]
    ]


def rewrite(batch: RecordBatch) -> bytes:
    """Return a batch that was read, written again."""
    return write_batch(batch.records(stored_timestamps=True), batch.header())


def test_batches_hold_what_kafka_sees_in_them() -> None:
    """Every header field, checksum and record of 200 record sets is what Kafka itself reads."""
    assert len(LINES) == 200
    for line in LINES:
        batches, trailing_bytes = read_batches(bytes.fromhex(line["hex"]))

        assert expected(line) == [describe_batch(batch) for batch in batches], line["case"]
        assert line["trailing_bytes"] == trailing_bytes


def test_an_uncompressed_batch_is_written_as_kafka_wrote_it() -> None:
    """What was read and is not compressed becomes the same bytes, but for a wrong checksum."""
    compared = 0
    for line in LINES:
        for batch in read_batches(bytes.fromhex(line["hex"])).batches:
            if batch.compression == "none" and batch.crc_ok:
                end = batch.start + batch.size_in_bytes
                assert batch.data[batch.start : end] == rewrite(batch), line["case"]
                compared += 1
    assert compared > 100
