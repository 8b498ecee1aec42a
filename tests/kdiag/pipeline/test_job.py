from pathlib import Path

from kdiag.clock import TimeRange
from kdiag.pipeline.input.split import Split
from kdiag.pipeline.job import Job
from kdiag.pipeline.shared import share


def split(uri: str, first_packet: int, packets: int) -> Split:
    """Return a whole file as a split."""
    return Split(uri, 0, 1, b"", first_packet, packets, 0, 1)


def test_a_run_is_named_by_its_captures_and_times() -> None:
    """However they are spelled, and in whatever order; a name that is given stays."""
    job = Job(("/captures/a.pcap", "/captures/b.pcap"), "out")
    again = Job(("/captures//b.pcap", "/captures/../captures/a.pcap"), "elsewhere")

    assert job.run == again.run
    assert job.run != job._replace(times=TimeRange(to_ns=5)).run
    assert job._replace(name="mine").run == "mine"


def test_a_job_knows_the_captures_of_packets_while_it_runs(tmp_path: Path) -> None:
    """A batch of a stream also knows those of the batch before."""
    before, new = split("/captures/a.pcap", 1, 10), split("/captures/b.pcap", 11, 10)
    shared = share(str(tmp_path), [new], list[Split])
    recorded = share(str(tmp_path), [before, new], list[Split])
    job = Job(("/captures",), str(tmp_path))

    assert job.capture_of(1) is None
    assert [job.on(shared).capture_of(packet) for packet in (10, 11)] == [None, "/captures/b.pcap"]
    assert job.on(shared, recorded=recorded).capture_of(10) == "/captures/a.pcap"
    assert list(job.on(shared, recorded=recorded).rules.files) == ["/captures/b.pcap"]
