"""What faults leave of the partitions in an answer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import Any

import pytest

from kdiag.errors import ConfigError
from kdiag.lab.fault.answers.answer_edit import edit_answer
from kdiag.lab.fault.fault_plan import FaultCall, FaultPlan, PlannedEffect
from kdiag.lab.fault.grammar import parse_fault
from kdiag.lab.fault.rule import FLIPS
from kdiag.net.server.file_send import FileRegion
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kdiag.wire.records.batches import read_batches
from lab_ends.one_node import batch
from tiers.cases import for_each

MakeCall = Callable[..., FaultCall]
BATCH = batch(3)


@contextmanager
def stored(data: bytes) -> Iterator[FileRegion]:
    """Return bytes as a broker sends them."""
    with TemporaryFile() as file:
        file.write(b"before" + data)
        file.flush()
        yield FileRegion(file, file.fileno(), len(b"before"), len(data))


def edit(call_of: MakeCall, text: str, *records: Any) -> tuple[list[PartitionData], int]:
    """Return partitions 0 and so on after a fault, and how many faults had no place."""
    numbers = range(len(records))
    asked = FetchRequest(topics=[FetchTopic("orders", partitions=[*map(FetchPartition, numbers)])])
    parts = [PartitionData(each, high_watermark=3, records=records[each]) for each in numbers]
    response = FetchResponse(responses=[FetchableTopicResponse("orders", partitions=parts)])
    rule = parse_fault(text)
    plan = FaultPlan(call_of(asked, 12), (PlannedEffect(rule.match, rule.effect),))
    passed = edit_answer(plan, response)
    return response.responses[0].partitions, len(passed)


def test_an_answer_without_records_keeps_the_high_watermark(call_of: MakeCall) -> None:
    """Of the partitions that the fault concerns; it happens so often as it says."""
    (empty, other), passed = edit(call_of, "Fetch partition=0 empty=2", BATCH, BATCH)
    assert (empty.records, empty.high_watermark, empty.error_code) == (b"", 3, 0)
    assert (other.records, passed) == (BATCH, 0)
    assert parse_fault("Fetch empty=2").match.times == 2
    assert parse_fault("Fetch empty=2 times=9").match.times == 9


def test_a_partition_is_left_out_of_an_answer(call_of: MakeCall) -> None:
    """Others stay, and those of other topics."""
    (left,), passed = edit(call_of, "partition=1 leave_out", BATCH, BATCH)
    assert (left.partition_index, left.records, passed) == (0, BATCH, 0)
    assert len(edit(call_of, "topic=paid leave_out", BATCH)[0]) == 1


@for_each("field", [*FLIPS])
def test_one_bit_of_a_batch_is_flipped_where_it_is_named(call_of: MakeCall, field: str) -> None:
    """Whether the records are in memory or in a file; the checksum stays what it was."""
    with stored(BATCH) as region:
        (one, two), passed = edit(call_of, f"Fetch flip={field}", BATCH, region)
    assert one.records == two.records
    changed = [at for at, byte in enumerate(one.records or b"") if byte != BATCH[at]]
    byte, bit = FLIPS[field]
    assert changed == [byte % len(BATCH)]
    assert one.records is not None
    assert one.records[byte] ^ BATCH[byte] == bit
    assert passed == 0


def test_a_reader_can_find_damage_outside_the_checksum_by_what_it_asked_for(
    call_of: MakeCall,
) -> None:
    """The base offset leaps, and the batch is whole by its checksum."""
    ((damaged,), _) = edit(call_of, "Fetch flip=base_offset", BATCH)
    (found,) = read_batches(damaged.records or b"").batches
    assert (found.base_offset, found.crc_ok) == (1 << 16, True)


def test_a_fault_has_no_place_where_there_are_no_records(call_of: MakeCall) -> None:
    """It is counted so; and APIs without records are refused."""
    assert edit(call_of, "Fetch flip=magic", None)[1] == 1
    for text in ("Produce empty=1", "Heartbeat flip=crc"):
        with pytest.raises(ConfigError, match="for answers with records"):
            parse_fault(text)
    with pytest.raises(ConfigError, match="is none of base_offset, length"):
        parse_fault("Fetch flip=offset")
