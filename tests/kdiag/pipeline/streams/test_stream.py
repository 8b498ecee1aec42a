import os
import random
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest

from folders import CAPTURES
from kdiag.errors import ReportError
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.checkpoint import load_state
from kdiag.pipeline.run import run
from kdiag.pipeline.streams.capture_log import FolderRules
from kdiag.pipeline.streams.group_state import StreamGroups
from kdiag.pipeline.streams.status import status_of
from kdiag.pipeline.streams.stream import Messages, close, run_stream, start, wait
from programs.kdiag_program import start_kdiag
from recordings.capture_sets import recorded_sets
from spark_runs.killed_driver import is_killed
from spark_runs.pipeline_parts import (
    TABLE_NAMES,
    Tables,
    comparable,
    in_one_process,
    read_tables,
)
from spark_runs.rotated_captures import FIRST_S, job_of, packet_starts, rotated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

KILLS: Final = int(os.environ.get("KDIAG_STREAM_KILLS", "1"))
RECORDED: Final = {each.name: each for each in recorded_sets()}

pytestmark = pytest.mark.soak


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of six captures."""
    return rotated(tmp_path, 6)


def check(found: Tables, folder: Path) -> None:
    """Compare tables with those that one process makes of the folder."""
    expected = in_one_process(sorted(folder.iterdir()))
    for name in TABLE_NAMES:
        assert comparable(found[name]) == comparable(expected[name]), name


def unnumbered(batches: list[pa.RecordBatch]) -> list[str]:
    """Return rows without the numbers of packets, which count in the order of reading."""
    rows = comparable(
        [
            batch.select([name for name in batch.schema.names if not name.endswith("packet")])
            for batch in batches
        ]
    )
    return sorted(re.sub(r"'packets': \[[\d, ]*\]", "'packets': []", row) for row in rows)


@pytest.mark.real
def test_a_stream_gives_the_rows_of_one_process(spark: "SparkSession", folder: Path) -> None:
    """Also if it is stopped and started again, by itself too; later captures are read later."""
    later = folder.parent / "later"
    later.mkdir()
    for number in (3, 4, 5):
        shutil.move(folder / f"{number:02}.pcap", later)
    stream = job_of(folder, most_files=2)
    said: list[str] = []
    wait(start(spark, stream, Messages(said.append)))
    for file in later.iterdir():
        shutil.move(file, folder)
    late = [ReportError("stream", "Python worker failed to connect back.")]
    warned: list[str] = []

    def is_over(query: "StreamingQuery") -> None:
        wait(query)
        if late:
            raise late.pop()

    run_stream(spark, stream, Messages(said.append, note=warned.append), is_over)
    close(spark, stream)
    assert len(warned) == 1

    check(read_tables(folder.parent / "out"), folder)
    assert said == [
        f"batch {number}: {files} captures" for number, files in enumerate((2, 1, 2, 1))
    ]
    with pytest.raises(ReportError, match="is closed"):
        start(spark, stream)


def test_an_idle_connection_leaves_the_state(spark: "SparkSession", tmp_path: Path) -> None:
    """Its exchanges are those of one process, and it is told as idle."""
    folder = tmp_path / "in"
    folder.mkdir()
    early, late = folder / "early.pcap", folder / "late.pcap"
    data = bytearray((CAPTURES / "transaction.pcap").read_bytes())
    starts = packet_starts(data)
    early.write_bytes(data[: starts[len(starts) // 2]])
    data = bytearray((CAPTURES / "acks.pcap").read_bytes())
    for at in packet_starts(data)[:-1]:
        second = int.from_bytes(data[at : at + 4], "little") + 2 * 365 * 86_400
        data[at : at + 4] = second.to_bytes(4, "little")
    late.write_bytes(data)
    for number, file in enumerate((early, late)):
        os.utime(file, (FIRST_S + number, FIRST_S + number))
    wait(start(spark, job_of(folder, most_files=1)))
    found, expected = read_tables(tmp_path / "out"), in_one_process([early, late])
    idle = [
        {
            row["connection_id"]
            for batch in tables["connections"]
            for row in batch.to_pylist()
            if row["close_reason"] == "idle"
        }
        for tables in (expected, found)
    ]

    assert idle[0]
    assert idle[1] == idle[0]
    for name in ("exchanges", "rebalances", "members"):
        assert comparable(found[name]) == comparable(expected[name]), name
    groups = load_state(f"{tmp_path}/checkpoint/state/00000001/groups", StreamGroups)
    assert groups is not None
    assert sum(each.rows for each in groups.settled) > 0


def test_two_hosts_and_slow_copies_lose_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    """Also where a key log comes late, and something else lies there; its status tells all."""
    folder, keys = rotated(tmp_path, 2), tmp_path / "keys"
    copied = next(each for each in recorded_sets() if each.name == "tls13_kafkapython")
    slow = folder / "slow-host" / "copy.pcap"
    slow.parent.mkdir()
    whole = copied.files[0].read_bytes()
    slow.write_bytes(whole[: len(whole) // 2])
    (folder / "notes.txt").write_text("no capture, but long enough to be looked into\n")
    stream = job_of(folder, most_files=16)._replace(
        rules=FolderRules(quiet_ns=0), keylogs=(str(keys),)
    )
    losses: list[str] = []
    tell = Messages(loss=losses.append)
    run_stream(spark, stream, tell)
    assert status_of(stream.checkpoint).waiting == [str(slow)]
    slow.write_bytes(whole)
    keys.write_bytes(copied.keylog)
    run_stream(spark, stream, tell)
    close(spark, stream)
    files = [*sorted(folder.glob("*.pcap")), slow]
    found, expected = read_tables(tmp_path / "out"), in_one_process(files, copied.keylog)

    for name in TABLE_NAMES:
        assert unnumbered(found[name]) == unnumbered(expected[name]), name
    assert losses == [f"{folder}/notes.txt: is no capture: left out"]
    status = status_of(stream.checkpoint)
    assert [(each.host, each.captures) for each in status.hosts] == [("", 2), ("slow-host", 1)]
    assert status.rows["exchanges"] == sum(batch.num_rows for batch in expected["exchanges"])
    assert (status.waiting, len(status.left_out), status.is_closed) == ([], 1, True)


@pytest.mark.real
def test_a_checkpoint_of_another_release_is_refused(spark: "SparkSession", folder: Path) -> None:
    """Decoders are kept as they are, and are no format."""
    stream = job_of(folder, most_files=2)
    state = Path(stream.checkpoint) / "state" / "00000000" / "state.json"
    state.parent.mkdir(parents=True)
    state.write_text('{"version": "0.0.0", "parts": 2}')
    with pytest.raises(
        ReportError, match=r"has format 0, which another release wrote; kdiag .* reads 2: close"
    ):
        start(spark, stream)


def test_a_second_stream_replaces_no_batch_of_the_first(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """By the same name it is refused; by another it leaves out what the first has read."""
    folder = rotated(tmp_path, 2)
    first = job_of(folder, most_files=2)
    wait(start(spark, first))
    before = sorted((tmp_path / "out").rglob("*"))
    second = first._replace(checkpoint=str(tmp_path / "other"))
    with pytest.raises(ReportError, match=f"stream with checkpoint {tmp_path}/checkpoint, and"):
        start(spark, second)
    warned: list[str] = []
    third = second._replace(job=second.job._replace(name="t"), checkpoint=str(tmp_path / "third"))
    wait(start(spark, third, Messages(note=warned.append)))
    with pytest.raises(ReportError, match="would be replaced"):
        run(spark, Job((str(folder),), str(tmp_path / "out"), name="s-00000000", parts=2))

    assert warned == ["2 of 2 captures are in the tables already: left out"]
    assert sorted((tmp_path / "out").rglob("*")) == before


def test_a_stream_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """At whatever moment; no exchange is lost or doubled."""
    folder = rotated(tmp_path, 3 * KILLS)
    chance = random.Random(7)
    arguments: list[object] = ["pipeline", "stream", folder, "--out", folder.parent / "out"]
    arguments += ["--checkpoint", folder.parent / "checkpoint", "--parts", 2, "--most-files", 1]
    arguments += ["--every", 0, "--once", "--close", "--master", "local[2]"]
    arguments += ["--conf", "spark.driver.memory=1g", "--values", "--tcp"]
    killed = sum(is_killed(arguments, folder.parent, chance.randint(0, 30)) for _ in range(KILLS))

    assert killed == KILLS
    is_closed = (folder.parent / "checkpoint" / "state.closed").exists()  # killed as it ended
    assert is_closed or start_kdiag(*arguments).wait() == 0
    check(read_tables(folder.parent / "out"), folder)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(RECORDED))
def test_a_stream_of_many_captures_gives_the_rows_of_one_process(
    spark: "SparkSession", tmp_path: Path, name: str
) -> None:
    """Whatever clients, versions, losses and secrets are in them."""
    recorded = RECORDED[name]
    folder = tmp_path / "in"
    folder.mkdir()
    files = [folder / f"{number:02}-{each.name}" for number, each in enumerate(recorded.files)]
    for number, (file, original) in enumerate(zip(files, recorded.files, strict=True)):
        shutil.copyfile(original, file)
        os.utime(file, (FIRST_S + number, FIRST_S + number))
    keys = tmp_path / "keys"
    keys.write_bytes(recorded.keylog)
    stream = job_of(folder, most_files=16)._replace(keylogs=(str(keys),))
    run_stream(spark, stream)
    close(spark, stream)
    found, expected = read_tables(tmp_path / "out"), in_one_process(files, recorded.keylog)
    for table in TABLE_NAMES:
        assert comparable(found[table]) == comparable(expected[table]), table
