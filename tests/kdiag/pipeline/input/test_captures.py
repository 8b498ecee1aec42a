import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from folders import CAPTURES
from kdiag.clock import ALWAYS
from kdiag.pipeline.input.captures import Wanted, find_captures, find_new_captures, note_changes
from kdiag.pipeline.input.split import Walk, walk
from kdiag.pipeline.output.read_captures import ReadCaptures
from kdiag.report.run_log import LoggedRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPLIT_BYTES = 64 << 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two captures, and a file that is none."""
    (tmp_path / "in").mkdir()
    for name in ("acks.pcap", "transaction.pcap"):
        shutil.copy(CAPTURES / name, tmp_path / "in")
    (tmp_path / "in" / "notes.txt").write_text("no capture, but long enough to be looked into\n")
    return tmp_path / "in"


def names(walks: list[Walk]) -> list[str]:
    """Return the names of the files."""
    return [Path(each.uri).name for each in walks]


@pytest.mark.soak
def test_a_capture_that_is_named_twice_is_read_once(spark: "SparkSession", folder: Path) -> None:
    """By another spelling, by a link, and as one of its folder."""
    (folder.parent / "link").symlink_to("in")
    inputs = [str(folder), f"{folder}/", f"{folder.parent}/link", f"{folder}/../in/acks.pcap"]
    walks = find_captures(spark, Wanted(inputs, SPLIT_BYTES, ALWAYS))

    assert sorted(names(walks)) == ["acks.pcap", "transaction.pcap"]


@pytest.mark.soak
def test_only_captures_that_no_run_has_read_are_new(spark: "SparkSession", folder: Path) -> None:
    """One that has grown since is told; one that was copied is known."""
    acks, transaction = folder / "acks.pcap", folder / "transaction.pcap"
    shutil.copy(acks, folder / "copy.pcap")
    whole = transaction.read_bytes()
    transaction.write_bytes(whole[: len(whole) // 2])
    read = [walk(str(each)).capture for each in (acks, transaction)]
    transaction.write_bytes(whole)
    shutil.copy(CAPTURES / "rebalance.pcap", folder)
    wanted = Wanted([str(folder)], SPLIT_BYTES, ALWAYS)
    new, warnings = find_new_captures(spark, wanted, ReadCaptures([LoggedRun("x", captures=read)]))

    assert names(new) == ["rebalance.pcap"]
    (warning,) = warnings
    assert warning.startswith(f"{transaction}: is in the tables in part: it has grown")
    assert warning.endswith("repeat run x without --new")


def test_a_capture_that_is_written_to_while_it_is_read_is_told(folder: Path) -> None:
    """Its end is not in the tables; one that a ring buffer has removed by then is."""
    walks = [walk(str(folder / name)) for name in ("acks.pcap", "transaction.pcap")]
    assert note_changes(walks) == []
    with (folder / "acks.pcap").open("ab") as file:
        file.write(b"more")
    (folder / "transaction.pcap").unlink()

    (warning,) = note_changes(walks)
    assert warning.startswith(f"{folder}/acks.pcap: was written to while it was read")
