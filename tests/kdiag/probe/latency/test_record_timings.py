from kdiag.diagnosis.latency.split import LatencySplit, OneWay, RequestTimes
from kdiag.probe.latency.record_timings import RecordStart, RecordTimings

START = RecordStart(due_ns=100, acks=1, node_id=2)
FETCH = RequestTimes(0, 0, 130, 130, 135)
SPLIT = LatencySplit(queued_ns=2, path_ns=10, broker_ns=18, decoding_ns=5)


class Arrivals(list[tuple[RecordStart, LatencySplit]]):
    """What is told."""

    def take(self, start: RecordStart, split: LatencySplit) -> None:
        """Keep it."""
        self.append((start, split))


def test_a_record_is_reported_once_both_its_ends_are_known() -> None:
    """Whichever comes first: a consumer may be faster than the answer to its producer."""
    for order in ("wr", "rw"):
        arrivals = Arrivals()
        timings = RecordTimings(arrivals.take)
        timings.begin(7, START)
        for step in order:
            assert arrivals == []
            if step == "w":
                timings.add_write(7, OneWay(102, 10))
            else:
                timings.add_read(7, FETCH, 10)
        assert arrivals == [(START, SPLIT)]
        assert len(timings) == 0


def test_a_record_that_comes_twice_has_arrived_once() -> None:
    """And one of nobody's, or that was given up, never does."""
    arrivals = Arrivals()
    timings = RecordTimings(arrivals.take)
    timings.begin(7, START)
    timings.begin(8, START)
    timings.give_up(8)
    for number in (7, 7, 8, 99):
        timings.add_read(number, FETCH, 10)
    timings.add_write(99, OneWay(102, 10))
    assert (arrivals, len(timings)) == ([], 1)
    timings.add_write(7, OneWay(102, 10))
    assert len(arrivals) == 1


def test_whoever_reads_a_record_may_be_told_as_well() -> None:
    """So a commit learns of the timing that it ends."""
    arrivals, own = Arrivals(), Arrivals()
    timings = RecordTimings(arrivals.take)
    timings.begin(7, START)
    timings.add_read(7, FETCH, 10, own.take)
    timings.add_write(7, OneWay(102, 10))
    assert own == arrivals == [(START, SPLIT)]
