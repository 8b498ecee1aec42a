"""Edits of the partitions in an answer: left out, without records, or with a damaged batch.

    leave_out          the answer says nothing of the partition, not even an error
    empty=3            no records, and the high watermark that the log has
    flip=base_offset   one bit of the head of the first batch is another; the checksum is not

The checksum covers what follows it: a reader finds damage before it by what it asked for alone.

    0 base offset   8 length   12 leader epoch   16 magic   17 CRC   21 attributes   61 records

Source: Kafka's `DefaultRecordBatch`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kdiag.lab.fault.request_subject import partition_of, topic_key
from kdiag.lab.fault.rule import FLIPS, FaultEffect, FaultMatch
from kdiag.net.server.file_send import FileRegion
from kdiag.wire.schema import Struct, fields_of

TopicNames = Mapping[tuple[str, bytes], str | None]
"""Names by what an answer has of a topic: its name, or its id."""


def edit_parts(effect: FaultEffect, match: FaultMatch, names: TopicNames, response: Struct) -> bool:
    """Change the partitions that a fault concerns; return whether it had a place in the answer."""
    if not (effect.is_left_out or effect.empty_count or effect.flip):
        return True
    is_met = False
    for parts, part in list(_concerned(response, match, names)):
        is_met |= _edit(effect, parts, part)
    return is_met


def _edit(effect: FaultEffect, parts: list[Any], part: Any) -> bool:
    if effect.is_left_out:
        parts.remove(part)
        return True
    if not getattr(part, "records", None):
        return False
    if effect.empty_count:
        part.records = b""
    elif effect.flip:
        records = part.records
        data = bytearray(records.read() if isinstance(records, FileRegion) else records)
        byte, bit = FLIPS[effect.flip]
        data[byte] ^= bit
        part.records = bytes(data)
    return True


def _concerned(
    struct: Struct, match: FaultMatch, names: TopicNames
) -> Iterator[tuple[list[Any], Any]]:
    """Yield the partitions that a fault concerns, each with the list that it is in."""
    for field in fields_of(type(struct)):
        if not (field.is_array and isinstance(field.kind, type)):
            continue
        values = getattr(struct, field.name) or []
        for each in values:
            key = topic_key(each)
            if key is not None:
                if match.covers_topic(key[0] or names.get(key)):
                    yield from _concerned(each, match, names)
                continue
            number = partition_of(each)
            if number is None:
                yield from _concerned(each, match, names)
            elif match.covers_partition(number):
                yield values, each
