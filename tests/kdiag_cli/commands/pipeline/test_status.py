import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.terminal import columns_of
from programs.kdiag_program import kdiag, kdiag_on_terminal

pytestmark = pytest.mark.skipif(not find_spec("pyspark"), reason="PySpark is not installed")


def checkpoint_of(tmp_path: Path) -> Path:
    """Return the checkpoint of a stream that has read a batch of two hosts."""
    from kdiag.pipeline.job import Job  # noqa: PLC0415 - an extra
    from kdiag.pipeline.output.state_graph import FORMAT  # noqa: PLC0415 - as above
    from kdiag.pipeline.streams.states import (  # noqa: PLC0415 - as above
        HostTime,
        State,
        States,
        StreamJob,
    )

    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "new.pcap").touch()
    job = Job((), f"{tmp_path}/out", name="nightly")
    states = States(StreamJob(str(folder), f"{tmp_path}/checkpoint", job))
    states.begin()
    hosts = {"a": HostTime(1_000_000_000, 2_000_000_000), "\x1b[2Jb": HostTime(0, 0)}
    states.write(0, State(FORMAT, packets=1234, hosts=hosts))
    return tmp_path / "checkpoint"


def test_people_read_how_far_a_stream_is(tmp_path: Path) -> None:
    """A line about it, and one for each host; names have no control characters."""
    done = kdiag("pipeline", "status", checkpoint_of(tmp_path))
    told, header, *lines = done.out.splitlines()

    assert (done.code, done.err) == (ExitCode.DONE, "")
    assert told.startswith("nightly is stopped: 1 batches, 1,234 packets. 1 captures wait")
    assert header.split() == ["HOST", "CAPTURES", "LATEST", "BEHIND"]
    assert [line.split()[0] for line in lines] == ["\\x1b[2Jb", "a"]
    assert "1970-01-01T00:00:01Z" in lines[1]


def test_programs_read_the_same(tmp_path: Path) -> None:
    """As a document of its own shape."""
    document = json.loads(kdiag("pipeline", "status", checkpoint_of(tmp_path), "-o", "json").out)
    (data,) = document["data"]

    assert document["command"] == "pipeline status"
    assert (data["name"], data["batches"], data["packets"]) == ("nightly", 1, 1234)
    assert [host["host"] for host in data["hosts"]] == ["\x1b[2Jb", "a"]
    assert data["hosts"][1]["latest_time"] == "1970-01-01T00:00:01Z"
    assert data["waiting"] == [f"{tmp_path}/in/new.pcap"]
    assert (data["is_running"], data["is_closed"], data["rows"]) == (False, False, {})


def test_it_fits_any_terminal(tmp_path: Path) -> None:
    """However narrow."""
    checkpoint = checkpoint_of(tmp_path)
    for width in (80, 100, 200):
        done = kdiag_on_terminal(width, "pipeline", "status", checkpoint)
        assert done.code == ExitCode.DONE
        assert max(map(columns_of, done.out.splitlines())) <= width


def test_another_folder_is_refused(tmp_path: Path) -> None:
    """It says what it lacks."""
    done = kdiag("pipeline", "status", tmp_path)

    assert done.code == ExitCode.USAGE
    assert "no stream has this checkpoint" in done.err
