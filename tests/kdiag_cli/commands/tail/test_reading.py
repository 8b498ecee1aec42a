"""How far a reading has come is known at each moment."""

import pytest

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.probe.tail.follower import Tail
from kdiag.probe.tail.placement import TailRequest
from kdiag.probe.tail.record_runs import RecordRun
from kdiag.probe.tail.topic_selection import parse_selector
from kdiag_cli.commands.tail.filter import RecordFilter
from kdiag_cli.commands.tail.options import TailOptions
from kdiag_cli.commands.tail.reading import RecordOutput, TailReading
from kdiag_cli.exit_code import ExitCode
from scripted_kafka.log_cluster import LogCluster
from tiers.cases import for_each

FIRST = PartitionKey("orders", 0)


class KeptRecords:
    """A printer that keeps offsets, and fails where it is told to."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.run_bytes = 1 << 10
        self.only_values = False
        self.offsets: list[int] = []
        self.is_finished = False
        self._fails_at = fails_at

    def write(self, run: RecordRun) -> None:
        """Keep the offsets of a run."""
        offsets = run.columns.offsets()
        if self._fails_at in offsets:
            raise KeyboardInterrupt
        self.offsets += offsets

    def finish(self) -> None:
        """Note that it is over."""
        self.is_finished = True


def reading_of(printer: KeptRecords, cluster: LogCluster, limit: int | None) -> TailReading:
    """Return a reading of a topic with two batches of three records."""
    log = cluster.add("orders", 0)
    log.append(b"a", b"b", b"c")
    log.append(b"d", b"e", b"f")
    options = TailOptions(["orders"], limit=limit)
    client = cluster._opened.enter_context(cluster.client())
    limits = FetchLimits(max_wait_ms=10)
    tail = Tail(client, TailRequest([parse_selector("orders")], stops_at_end=True, limits=limits))
    return TailReading(client.clock, tail, RecordOutput(printer, options, RecordFilter()))


@for_each(("limit", "printed"), [(None, 6), (2, 2), (4, 4), (6, 6)])
def test_what_was_printed_is_noted_to_the_record(limit: int | None, printed: int) -> None:
    """In the middle of a batch, too."""
    printer = KeptRecords()
    with LogCluster(1) as cluster:
        reading = reading_of(printer, cluster, limit)
        assert reading.run() is ExitCode.DONE
    assert (printer.offsets, printer.is_finished) == ([*range(printed)], True)
    assert reading.printed == {FIRST: printed}


def test_what_was_not_printed_whole_is_not_noted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is to be read again; and where that is, is told."""
    monkeypatch.setattr("kdiag_cli.commands.tail.reading.close_quietly", lambda: None)
    printer = KeptRecords(fails_at=0)
    with LogCluster(1) as cluster:
        reading = reading_of(printer, cluster, None)
        with pytest.raises(KeyboardInterrupt):
            reading.run()
    assert (reading.printed, printer.is_finished) == ({FIRST: 0}, True)
    assert "to go on from here: kdiag tail orders:0@0,new" in capsys.readouterr().err
