"""Checks that the batches of an answer can be what is in the log.

    asked 40, high watermark 100     base 40   60   80       in order: all are handed out
                                     base 40   60 ~ 80       a wrong checksum: 40 alone, 60 again
                                     base 56                 a gap: the same again is believed

Bytes are damaged on the way now and then, past the checksums of TCP. The checksum of a batch does
not cover its base offset, its leader epoch, its size and its magic: these are compared with what
was asked for, with the batches around them, and with the leader's high watermark and epoch.

What cannot be true is *damage*. What may be true is a *doubt*: a gap may be what compaction left.
A doubt ends with a second answer that says the same. A batch that is followed by another in order
needs no second answer: two batches are not shifted by the same error.

Source: Kafka's `DefaultRecordBatch.ensureValid`, `CompletedFetch`; KIP-320 (epochs are monotonic).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kdiag.client.fetch.position import UNKNOWN_EPOCH, FetchPosition
from kdiag.wire.records.batch import MAGIC_2, RecordBatch
from kdiag.wire.records.batches import read_sound_batches

_SIZE_AT: Final = slice(8, 12)
_OVERHEAD_BYTES: Final = 12
_MOST_BYTES: Final = 64 << 20
"""The largest batch that is believed to be one; brokers take 1 MiB by default."""


class Doubt(NamedTuple):
    """The first batch of an answer that may not be what is in the log.

    Attributes:
        why: what is wrong with it, without its partition.
        header: its base and last offset and its epoch, by which an answer repeats another.
        is_damage: whether it cannot be true, however often it is answered.
        next_offset: where reading goes on behind it, if its header can be believed; None if not.
        needed_bytes: the size of a batch that the answer holds a part of; 0 for any other.
    """

    why: str
    header: tuple[int, int, int] | None = None
    is_damage: bool = True
    next_offset: int | None = None
    needed_bytes: int = 0


class Checked(NamedTuple):
    """The batches of an answer that can be handed out, and what is wrong with the one after."""

    batches: Sequence[RecordBatch]
    doubt: Doubt | None


def check_answer(
    data: bytes | memoryview, position: FetchPosition, believed: Doubt | None, *, has_gaps: bool
) -> Checked:
    """Return the batches of an answer up to the first that is in doubt.

    Args:
        data: the records of one partition.
        position: where they were asked for; its high watermark is that of the answer.
        believed: the doubt of the answer before, which this one may end by saying the same.
        has_gaps: whether the topic is known to have gaps.
    """
    (batches, trailing_bytes), error = read_sound_batches(data)
    at, epoch = position.offset, position.fetched_epoch
    is_strict = position.boundary == at
    for index, batch in enumerate(batches):
        doubt = None
        base = batch.base_offset if batch.magic == MAGIC_2 else min(at, batch.last_offset)
        if not batch.crc_ok:
            doubt = _wrong_checksum(batch, base, at, position.high_watermark)
        elif 0 <= position.high_watermark <= batch.last_offset:
            why = f"{_span(batch, base)} lies beyond the high watermark, {position.high_watermark}"
            doubt = Doubt(why, _header(batch, base))
        elif (base != at or batch.partition_leader_epoch != epoch) and (
            believed is None or believed.header != _header(batch, base)
        ):
            is_last = index == len(batches) - 1
            doubt = _doubt(
                batch,
                base,
                position,
                at=at,
                epoch=epoch,
                is_strict=is_strict,
                may_follow_gap=has_gaps or not is_last,
            )
        if doubt is not None:
            overlaps = index > 0 and base < at and batch.crc_ok
            return Checked(batches[: index - 1 if overlaps else index], doubt)
        at, is_strict = max(at, batch.last_offset + 1), batch.magic == MAGIC_2
        epoch = batch.partition_leader_epoch
    if error is not None:
        return Checked(batches, Doubt(f"{error.path.partition('.')[2]}: {error.why}"))
    if trailing_bytes and not batches:
        return Checked(batches, _incomplete(data))
    return Checked(batches, None)


def _doubt(  # noqa: PLR0913 - what surrounds a batch
    batch: RecordBatch,
    base: int,
    position: FetchPosition,
    *,
    at: int,
    epoch: int,
    is_strict: bool,
    may_follow_gap: bool,
) -> Doubt | None:
    """Return what about the header of a batch may not be true; None if all may."""
    why = None
    if batch.last_offset < at:
        why = f"lies before the offset that was asked for, {at}"
    elif base < at and is_strict:
        why = "begins within the batch before it"
    elif base > at and not may_follow_gap:
        why = f"comes with nothing from {at} on"
    elif batch.magic == MAGIC_2 and _is_epoch_wrong(batch, position, epoch):
        why = (
            f"has leader epoch {batch.partition_leader_epoch}; the leader has "
            f"{position.leader_epoch}, the batch before it {epoch}"
        )
    if why is None:
        return None
    return Doubt(f"{_span(batch, base)} {why}", _header(batch, base), is_damage=False)


def _is_epoch_wrong(batch: RecordBatch, position: FetchPosition, epoch: int) -> bool:
    """Return whether the epoch of a batch is before that of the one before, or of no leader yet."""
    if batch.partition_leader_epoch < epoch:
        return True
    return UNKNOWN_EPOCH < position.leader_epoch < batch.partition_leader_epoch


def _wrong_checksum(batch: RecordBatch, base: int, at: int, high_watermark: int) -> Doubt:
    """Return the damage of a batch, and where it ends if its header can still be believed."""
    is_placed = base <= batch.last_offset >= at
    is_whole = is_placed and not 0 <= high_watermark <= batch.last_offset
    next_offset = batch.last_offset + 1 if is_whole else None
    return Doubt("the checksum of the batch is wrong", next_offset=next_offset)


def _incomplete(data: bytes | memoryview) -> Doubt:
    size = int.from_bytes(data[_SIZE_AT], "big") + _OVERHEAD_BYTES
    why = f"the answers hold {len(data)} bytes of a batch of {size}, and no whole one"
    return Doubt(why, needed_bytes=min(size, _MOST_BYTES))


def _header(batch: RecordBatch, base: int) -> tuple[int, int, int]:
    return base, batch.last_offset, batch.partition_leader_epoch


def _span(batch: RecordBatch, base: int) -> str:
    return f"a batch of offsets {base} to {batch.last_offset}"
