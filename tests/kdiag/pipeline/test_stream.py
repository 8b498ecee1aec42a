import os
import random
import shutil
import signal
import subprocess
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from kdiag.errors import ReportError
from kdiag.pipeline.run import Job
from kdiag.pipeline.stream import State, StreamJob, close, drain, start
from kdiag_program import start_kdiag
from pipeline_parts import Tables, comparable, in_one_process, read_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAPTURES: Final = Path(__file__).parents[3] / "captures"
TABLES: Final = ("exchanges", "batches", "connections", "gaps")
KILLS: Final = int(os.environ.get("KDIAG_STREAM_KILLS", "2"))
_FIRST_S: Final = 1_000_000_000

pytestmark = pytest.mark.spark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of captures that were rotated: connections run through many of them."""
    data = (CAPTURES / "transaction.pcap").read_bytes()
    whole, packets = data[:24], [24]
    while packets[-1] < len(data):
        size = int.from_bytes(data[packets[-1] + 8 : packets[-1] + 12], "little")
        packets.append(packets[-1] + 16 + size)
    edges = [packets[len(packets) * number // 6] for number in range(6)] + [len(data)]
    (tmp_path / "in").mkdir()
    for number, (first, last) in enumerate(pairwise(edges)):
        file = tmp_path / "in" / f"{number}.pcap"
        file.write_bytes(whole + data[first:last])
        os.utime(file, (_FIRST_S + number, _FIRST_S + number))
    return tmp_path / "in"


def check(found: Tables, folder: Path) -> None:
    """Compare tables with those that one process makes of the folder."""
    expected = in_one_process(sorted(folder.iterdir()))
    for name in TABLES:
        assert comparable(found[name]) == comparable(expected[name]), name


def job_of(folder: Path, most_files: int) -> StreamJob:
    """Return a stream of a folder into folders beside it."""
    out, checkpoint = str(folder.parent / "out"), str(folder.parent / "checkpoint")
    job = Job((), out, name="s", parts=2)
    return StreamJob(str(folder), checkpoint, job, most_files=most_files, every="0 seconds")


def test_a_stream_gives_the_rows_of_one_process(spark: "SparkSession", folder: Path) -> None:
    """Also if it is stopped and started again; captures that come later are read later."""
    later = folder.parent / "later"
    later.mkdir()
    for number in (3, 4, 5):
        shutil.move(folder / f"{number}.pcap", later)
    stream = job_of(folder, most_files=2)
    said: list[str] = []
    drain(start(spark, stream, said.append))
    for file in later.iterdir():
        shutil.move(file, folder)
    drain(start(spark, stream, said.append))
    close(spark, stream)

    check(read_tables(folder.parent / "out"), folder)
    assert said == [
        f"batch {number}: {files} captures" for number, files in enumerate((2, 1, 2, 1))
    ]
    with pytest.raises(ReportError, match="is closed"):
        start(spark, stream)


def test_a_checkpoint_of_another_release_is_refused(spark: "SparkSession", folder: Path) -> None:
    """Decoders are kept as they are, and are no format."""
    stream = job_of(folder, most_files=2)
    state = Path(stream.checkpoint) / "state" / "00000000" / "state.json"
    state.parent.mkdir(parents=True)
    state.write_text('{"version": "0.0.0", "parts": 2}')
    assert State("0.0.0", 2).names == {}
    with pytest.raises(ReportError, match=r"is of kdiag 0\.0\.0"):
        start(spark, stream)


def test_a_stream_that_is_killed_goes_on_where_it_was(folder: Path) -> None:
    """At whatever moment; no exchange is lost or doubled."""
    chance = random.Random(7)
    arguments: list[object] = ["pipeline", "stream", folder, "--out", folder.parent / "out"]
    arguments += ["--checkpoint", folder.parent / "checkpoint", "--parts", 2, "--most-files", 1]
    arguments += ["--every", 0, "--once", "--close", "--master", "local[2]"]
    arguments += ["--conf", "spark.driver.memory=1g"]
    killed = sum(is_killed(arguments, folder.parent, chance.randint(0, 30)) for _ in range(KILLS))
    assert killed
    ended = start_kdiag(*arguments).wait()
    assert ended == (2 if killed < KILLS else 0)  # it was closed already, or is now

    check(read_tables(folder.parent / "out"), folder)


def is_killed(arguments: list[object], folder: Path, files: int) -> bool:
    """Start the program, and kill it when it has written so many files; false if it ends before."""
    most = files + count_files(folder)
    process = start_kdiag(*arguments, start_new_session=True)
    while process.poll() is None:
        if count_files(folder) > most:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
    return False


def count_files(folder: Path) -> int:
    """Return how many files there are below a folder, of which some may be about to go."""
    return sum(len(files) for _, _, files in os.walk(folder))
