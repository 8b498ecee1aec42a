from pathlib import Path

import pytest

from kdiag.errors import ReportError
from kdiag.pcap.memory_budget import Limits
from kdiag.pipeline.input.split import Split, Walk
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.state_graph import FORMAT
from kdiag.pipeline.rows.partitioner import Weights
from kdiag.pipeline.streams.states import (
    NO_BATCH,
    HostTime,
    State,
    States,
    StreamJob,
    watermark_ns,
)

HOUR_NS = 3_600_000_000_000


def stream_in(folder: Path) -> StreamJob:
    """Return a stream of a folder that is not there."""
    job = Job((), f"{folder}/out", name="s")
    return StreamJob(f"{folder}/in", f"{folder}/checkpoint", job)


def walk_to(uri: str, last_ns: int) -> Walk:
    """Return the walk through a capture that ends at a time."""
    return Walk(uri, 0, [Split(uri, 0, 1, b"", 1, 1, 0, last_ns)], "", [], Weights())


def test_a_slow_host_holds_back_the_time_and_one_that_is_gone_does_not() -> None:
    """Else its connections would count as silent, or nothing would ever be forgotten."""
    hosts = {"quick": HostTime(10 * HOUR_NS, HOUR_NS), "slow": HostTime(8 * HOUR_NS, HOUR_NS)}

    assert watermark_ns(hosts, HOUR_NS, HOUR_NS) == 8 * HOUR_NS
    assert watermark_ns(hosts, HOUR_NS, 2 * HOUR_NS) == 8 * HOUR_NS
    assert watermark_ns({**hosts, "slow": HostTime(8 * HOUR_NS, 0)}, HOUR_NS, 2 * HOUR_NS) == (
        10 * HOUR_NS
    )
    assert watermark_ns({}, HOUR_NS, 0) == 0


def test_a_batch_says_how_far_its_hosts_are() -> None:
    """Others stay where they were; a late capture takes nobody back."""
    state = State(FORMAT, hosts={"a": HostTime(5, 1), "b": HostTime(7, 1)})
    walks = [walk_to("a1", 4), walk_to("a2", 9), walk_to("c1", 2)]
    hosts = state.hosts_with(walks, {"a1": "a", "a2": "a", "c1": "c"}, 3)

    assert hosts == {"a": HostTime(9, 3), "b": HostTime(7, 1), "c": HostTime(2, 3)}


def test_the_last_complete_state_counts(tmp_path: Path) -> None:
    """One before a batch that is repeated; older ones are forgotten."""
    states = States(stream_in(tmp_path))
    assert states.last(None) == (NO_BATCH, State(FORMAT))
    for batch in (0, 1):
        states.write(batch, State(FORMAT, packets=batch))
    (Path(states.folder(2))).mkdir()

    assert states.last(None)[0] == 1
    assert states.last(1)[1].packets == 0
    states.forget_before(1)
    assert [each.name for each in Path(states.folder(1)).parent.iterdir()] == [
        "00000001",
        "00000002",
    ]
    assert States(stream_in(tmp_path)).id == states.id


def test_a_state_of_another_format_is_refused(tmp_path: Path) -> None:
    """Also where it was written before there were formats."""
    states = States(stream_in(tmp_path))
    folder = Path(states.folder(0))
    folder.mkdir(parents=True)
    (folder / "state.json").write_text('{"version": "0.1.0", "parts": 8}')
    with pytest.raises(ReportError, match="has format 0"):
        states.begin()


def test_a_closed_stream_does_not_begin(tmp_path: Path) -> None:
    """Its open connections have ended."""
    states = States(stream_in(tmp_path))
    states.begin()
    states.mark_closed()
    with pytest.raises(ReportError, match="is closed"):
        States(stream_in(tmp_path)).begin()


def test_each_batch_names_its_key_logs(tmp_path: Path) -> None:
    """They are read when its captures are known; one that is gone has no secrets."""
    keys = tmp_path / "keys"
    stream = stream_in(tmp_path)._replace(idle_ns=5, keylogs=(str(keys), "/nowhere"))
    job = stream.batch(("a.pcap",), "00000001")

    assert (job.rules.keylogs, job.inputs, job.run) == (
        (str(keys), "/nowhere"),
        ("a.pcap",),
        "s-00000001",
    )
    assert job.rules.limits == Limits(idle_ns=5)
