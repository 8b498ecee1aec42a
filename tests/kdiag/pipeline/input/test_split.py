import gzip
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from folders import CAPTURES
from kdiag.errors import CaptureError
from kdiag.pcap.files.pcapng import TLS_KEY_LOG
from kdiag.pcap.files.window import open_window
from kdiag.pcap.reader import read_blocks
from kdiag.pipeline.input.split import (
    in_order,
    note_overlap,
    read_positioned,
    walk,
    whole,
)
from recordings.hard_captures import base, write
from tiers.cases import for_each

SPLIT_BYTES = (1, 700, 4096, 64 << 10)


def times_of(file: Path) -> list[int]:
    """Return the times of all packets of a capture, in the order of the file."""
    times: list[int] = []
    with open_window(file) as window, suppress(CaptureError):
        for block in read_blocks(window, []):
            times += block.time_ns.tolist()
    return times


@pytest.mark.thorough
@for_each("split_bytes", SPLIT_BYTES)
def test_splits_follow_each_other_and_hold_all_packets(split_bytes: int) -> None:
    """A split ends where the next one begins, and the packets are those of one reader."""
    for file in sorted(CAPTURES.glob("*.pcap")):
        splits = walk(str(file), split_bytes).splits
        packets = [block for split in splits for _, block in read_positioned(split)]

        assert [each.end for each in splits[:-1]] == [each.start for each in splits[1:]]
        assert (splits[0].start, splits[-1].end) == (0, file.stat().st_size)
        assert [each.first_packet for each in splits] == [
            1 + sum(each.packets for each in splits[:number]) for number in range(len(splits))
        ]
        assert np.concatenate([block.time_ns for block in packets]).tolist() == times_of(file)


@pytest.mark.thorough
@pytest.mark.parametrize("split_bytes", SPLIT_BYTES)
def test_a_split_of_pcapng_knows_the_interfaces_of_its_section(
    split_bytes: int, two_sections: Path
) -> None:
    """Each section has its byte order, its interfaces and their clocks."""
    splits = walk(str(two_sections), split_bytes).splits
    packets = [block for split in splits for _, block in read_positioned(split)]

    assert len(splits) > 1 or split_bytes > 4096
    assert np.concatenate([block.time_ns for block in packets]).tolist() == times_of(two_sections)


@pytest.mark.thorough
@for_each("split_bytes", SPLIT_BYTES)
def test_no_packet_lags_more_than_its_split_says(split_bytes: int, tmp_path: Path) -> None:
    """Behind any other of the run: one that was moved, and those of a file that began earlier."""
    data = (CAPTURES / "acks.pcap").read_bytes()
    first_end = 40 + int.from_bytes(data[32:36], "little")
    moved = tmp_path / "moved.pcap"
    moved.write_bytes(data[:24] + data[first_end:] + data[24:first_end])
    assert {each.lag_ns for each in walk(str(CAPTURES / "acks.pcap"), split_bytes).splits} == {0}

    splits = in_order([walk(str(moved), split_bytes)] * 2)
    times = [block.time_ns for split in splits for _, block in read_positioned(split)]
    lag = np.maximum.accumulate(np.concatenate(times)) - np.concatenate(times)
    edges = np.cumsum([0, *(each.packets for each in splits)]).tolist()
    for split, first, last in zip(splits, edges, edges[1:], strict=False):
        assert split.lag_ns >= lag[first:last].max()
    assert splits[-1].lag_ns == lag.max() > 0


def test_what_is_compressed_is_one_split(tmp_path: Path) -> None:
    """It cannot be entered in the middle."""
    file = tmp_path / "a.pcap.gz"
    file.write_bytes(gzip.compress((CAPTURES / "acks.pcap").read_bytes()))
    (split,) = walk(str(file), 1000).splits

    assert split.packets == len(times_of(file))
    assert sum(len(block.time_ns) for _, block in read_positioned(split)) == split.packets


def test_a_damaged_file_ends_where_the_damage_begins(tmp_path: Path) -> None:
    """As when it is read in one go."""
    file = write(base(), tmp_path / "cut.pcap")
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size - 10)
    found = walk(str(file), 4096)

    assert "ends within a packet" in found.warning
    assert found.splits[-1].first_packet + found.splits[-1].packets - 1 == len(times_of(file))
    with pytest.raises(CaptureError):
        list(read_positioned(found.splits[-1]))


def test_files_are_numbered_through_by_their_first_packets() -> None:
    """Whichever order they were given in."""
    walks = [walk(str(CAPTURES / name)) for name in ("transaction.pcap", "acks.pcap")]
    splits = in_order(walks)

    assert [split.first_ns for split in splits] == sorted(split.first_ns for split in splits)
    assert splits[1].first_packet == splits[0].packets + 1


def test_files_that_two_recorders_wrote_of_one_connection_are_told(tmp_path: Path) -> None:
    """Spark reads them one after the other, other than one process does."""
    packets = base()
    both = (write(packets[at::2], tmp_path / f"{at}.pcap") for at in (0, 1))
    walks = [walk(str(file)) for file in both]
    (warning,) = note_overlap(walks)

    assert warning.startswith(f"{walks[0].uri} and {walks[1].uri} overlap in time")
    assert note_overlap(walks[:1]) == []
    rotated = [
        walk(str(write(part, tmp_path / f"part{at}.pcap")))
        for at, part in enumerate((packets[:9], packets[9:]))
    ]
    assert note_overlap(rotated) == []


def test_secrets_in_a_capture_are_found(two_sections: Path) -> None:
    """Whoever decodes a part needs those of all."""
    assert [each.kind for each in walk(str(two_sections)).secrets] == [TLS_KEY_LOG]


def test_a_range_of_times_tells_which_splits_are_needed() -> None:
    """The end of a range is not part of it."""
    split = whole(str(CAPTURES / "acks.pcap"))._replace(first_ns=10, last_ns=20)

    wanted = [(None, None), (20, None), (None, 11), (0, 100)]
    assert all(split.overlaps(*each) for each in wanted)
    assert not any(split.overlaps(*each) for each in [(21, None), (None, 10)])


def test_what_is_no_capture_is_refused(tmp_path: Path) -> None:
    """At once, with what it is."""
    file = tmp_path / "text"
    file.write_bytes(b"PK\x03\x04" * 20)
    with pytest.raises(CaptureError, match="zip archive"):
        walk(str(file))
