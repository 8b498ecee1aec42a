"""However a run is divided, its rows are those of one process, value for value."""

import random
from pathlib import Path
from typing import Final

import pytest

from kdiag.pcap.reader import CaptureReader
from made_values import packet_damage
from recordings.capture_sets import CaptureSet, recorded_sets, write_hard_cases
from spark_runs.pipeline_parts import (
    TABLE_NAMES,
    comparable,
    has_sightings,
    in_one_process,
    in_parts,
)
from tiers.sampling import IS_EXHAUSTIVE, SEED, sample

pytestmark = pytest.mark.thorough

DIVISIONS: Final = ((1, 64 << 20), (2, 64 << 10), (7, 4 << 10))
"""Parts of the connections, and bytes of a split."""
LARGE_BYTES: Final = 1 << 20
DAMAGED: Final = 2_000 if IS_EXHAUSTIVE else 3


def divisions_of(capture: CaptureSet) -> tuple[tuple[int, int], ...]:
    """Return how to divide a capture: a large one not into thousands of splits."""
    size = sum(file.stat().st_size for file in capture.files)
    return DIVISIONS if size < LARGE_BYTES else DIVISIONS[:2]


def check(capture: CaptureSet) -> None:
    """Compare what one process and what parts make of a capture."""
    expected = in_one_process(capture.files, capture.keylog)
    for parts, split_bytes in divisions_of(capture):
        found = in_parts(capture.files, parts, split_bytes, capture.keylog)
        indexed = in_parts(capture.files, parts, split_bytes, capture.keylog, is_indexed=True)
        for table in TABLE_NAMES:
            assert comparable(indexed[table]) == comparable(found[table]), f"{table}, indexed"
            is_same = comparable(found[table]) == comparable(expected[table])
            assert is_same, f"{capture.name}: {table} in {parts} parts of {split_bytes} bytes"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "capture",
    [pytest.param(each, id=f"{each.files[0].parent.name}-{each.name}") for each in recorded_sets()],
)
def test_a_recorded_capture_gives_the_same_rows(capture: CaptureSet) -> None:
    """Every client's traffic, with losses, rotation, TLS and sessions over connections."""
    check(capture)


def test_hard_cases_give_the_same_rows(tmp_path: Path) -> None:
    """Loss, reordering, reuse, cut packets: the state machines are the same, and what they see."""
    for capture in sample("hard cases in parts", list(write_hard_cases(tmp_path)), 1):
        check(capture)


def has_late_packets(file: Path) -> bool:
    """Return whether packets were written late."""
    reader = CaptureReader([file])
    for _ in reader.read_segments():
        pass
    return reader.time_order.late > 0


def test_damaged_captures_give_the_same_rows(tmp_path: Path) -> None:
    """Packets lost, cut, doubled, moved and changed cost no part what the others have."""
    file = tmp_path / "damaged.pcap"
    for number in range(DAMAGED):
        capture = packet_damage.damaged_piece(random.Random(f"{SEED}-{number}"))
        file.write_bytes(capture.data)
        if has_late_packets(file):  # which the pipeline does not put in the order of their times
            continue
        expected = in_one_process([file], capture.keylog)
        if has_sightings(expected):  # of a doubled packet with another address
            expected = in_one_process([file], capture.keylog, links_sightings=False)
        for parts, split_bytes in (DIVISIONS[0], DIVISIONS[-1]):
            found = in_parts([file], parts, split_bytes, capture.keylog)
            for table in TABLE_NAMES:
                is_same = comparable(found[table]) == comparable(expected[table])
                assert is_same, f"input {number} of seed {SEED}, {capture.name}: {table}, {parts}"
