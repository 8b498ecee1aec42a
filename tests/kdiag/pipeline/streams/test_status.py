from pathlib import Path

import pytest

from kdiag.errors import ReportError
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.state_graph import FORMAT
from kdiag.pipeline.output.whole_files import locked
from kdiag.pipeline.streams.capture_log import CaptureLog, FolderRules
from kdiag.pipeline.streams.states import HostTime, State, States, StreamJob
from kdiag.pipeline.streams.status import HostStatus, status_of
from spark_runs.folder_captures import NOW_NS, pcap, write

RULES = FolderRules(60_000_000_000, 600_000_000_000)


def test_how_far_a_stream_is(tmp_path: Path) -> None:
    """By hosts; what waits, and what was left out."""
    folder, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    stream = StreamJob(str(folder), str(checkpoint), Job((), f"{tmp_path}/out", name="s"), RULES)
    states = States(stream)
    states.begin()
    write(folder / "a.pcap", pcap("one"))
    write(folder / "notes.txt", b"no capture, but long enough to be looked into\n")
    CaptureLog(str(folder), f"{checkpoint}/files.json", RULES).poll(NOW_NS)
    write(folder / "b.pcap", pcap("one")[:-1])
    states.write(0, State(FORMAT, packets=5, hosts={"": HostTime(7, 8)}))
    found = status_of(f"{checkpoint}/")

    assert found.facts.folder == str(folder)
    assert found.facts.rules == FolderRules(*RULES)
    assert (found.batches, found.packets, found.rows) == (1, 5, {})
    assert found.hosts == [HostStatus("", 1, 7, 8)]
    assert found.waiting == [f"{folder}/b.pcap"]
    assert found.left_out == [f"{folder}/notes.txt"]
    assert found.state_bytes > 10
    assert (found.is_running, found.is_closed) == (False, False)
    with locked(str(checkpoint)):
        assert status_of(str(checkpoint)).is_running
        with pytest.raises(ReportError, match="in use by another process"), locked(str(checkpoint)):
            raise AssertionError("two have it")
    states.mark_closed()
    assert status_of(str(checkpoint)).is_closed


def test_a_folder_that_is_no_checkpoint_is_named(tmp_path: Path) -> None:
    """As one whose document cannot be read."""
    with pytest.raises(ReportError, match="no stream has this checkpoint"):
        status_of(str(tmp_path))
    (tmp_path / "stream.json").write_text("{}")
    with pytest.raises(ReportError, match=r"stream\.json: cannot be read"):
        status_of(str(tmp_path))
