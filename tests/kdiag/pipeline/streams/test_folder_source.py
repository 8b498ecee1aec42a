import os
import time
from pathlib import Path

from kdiag.pipeline.streams.folder_source import FolderReader, FolderSource
from spark_runs.folder_captures import pcap


def add(folder: Path, name: str, age_s: float) -> None:
    """Write a capture that was last written some time ago."""
    (folder / name).write_bytes(pcap(name))
    written_s = time.time() - age_s
    os.utime(folder / name, (written_s, written_s))


def reader(folder: Path, **options: str) -> FolderReader:
    """Return what follows a folder, with a log beside it."""
    (folder / "in").mkdir(exist_ok=True)
    return FolderReader({"path": f"{folder}/in/", "log": f"{folder}/log", **options})


def read(of: FolderReader, first: int, last: int) -> list[str]:
    """Return the names of the captures of a batch."""
    (partition,) = of.partitions({"files": first}, {"files": last})
    return [Path(uri).name for uri, content, _ in of.read(partition) if content == "new"]


def test_captures_come_in_the_order_of_their_writing(tmp_path: Path) -> None:
    """Each once; one that is older than others but appears later comes later."""
    follower = reader(tmp_path)
    assert follower.initialOffset() == {"files": 0}
    assert follower.latestOffset({"files": 0}, None) == {"files": 0}
    add(tmp_path / "in", "b", 300)
    add(tmp_path / "in", "a", 200)
    assert follower.latestOffset({"files": 0}, None) == {"files": 2}
    add(tmp_path / "in", "c", 400)
    add(tmp_path / "in", ".hidden", 400)
    assert reader(tmp_path).latestOffset({"files": 2}, None) == {"files": 3}

    assert read(follower, 0, 3) == ["b", "a", "c"]
    assert read(follower, 2, 3) == ["c"]


def test_a_capture_is_left_alone_while_it_may_be_written(tmp_path: Path) -> None:
    """Also if another host has begun the next one meanwhile."""
    follower = reader(tmp_path)
    add(tmp_path / "in", "a", -2000)
    add(tmp_path / "in", "b", -1000)
    assert follower.latestOffset({"files": 0}, None) == {"files": 0}
    add(tmp_path / "in", "a", 100)
    assert follower.latestOffset({"files": 0}, None) == {"files": 1}
    assert read(follower, 0, 1) == ["a"]


def test_a_batch_has_no_more_captures_than_it_may(tmp_path: Path) -> None:
    """The others wait for the next."""
    follower = reader(tmp_path, most="2")
    for name in "abc":
        add(tmp_path / "in", name, 100)

    assert follower.latestOffset({"files": 0}, None) == {"files": 2}
    assert follower.latestOffset({"files": 2}, None) == {"files": 3}
    assert FolderSource({}).schema() == "uri string, content string, host string"


def test_what_comes_after_the_start_waits_for_the_next_time(tmp_path: Path) -> None:
    """With Trigger.AvailableNow; what was there is read in as many batches as it takes."""
    follower = reader(tmp_path, most="2")
    for name in "abc":
        add(tmp_path / "in", name, 100)
    follower.prepareForTriggerAvailableNow()
    add(tmp_path / "in", "d", 100)

    assert follower.latestOffset({"files": 0}, None) == {"files": 2}
    assert follower.latestOffset({"files": 2}, None) == {"files": 3}
    assert follower.latestOffset({"files": 3}, None) == {"files": 3}
    assert reader(tmp_path).latestOffset({"files": 3}, None) == {"files": 4}
