import re
import sys
from collections.abc import Iterator

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from kdiag.diagnosis.latency.histogram import LatencyHistogram
from kdiag.diagnosis.latency.split import LatencySplit
from kdiag.errors import ConfigError, install_command

US = 1_000
MS = 1_000_000


def histogram_of(*totals_ns: int) -> LatencyHistogram:
    """Return a histogram of latencies that the broker alone took."""
    histogram = LatencyHistogram()
    for each in totals_ns:
        histogram.add(LatencySplit(broker_ns=each))
    return histogram


def test_a_percentile_is_told_with_its_bounds() -> None:
    """Of the latencies from 1 to 100 ms, to the thousandth."""
    histogram = histogram_of(*(number * MS for number in range(1, 101)))
    median = histogram.percentile(0.5)
    assert median.split.total_ns == pytest.approx(50 * MS, rel=0.001)
    assert median.lower_ns == pytest.approx(40 * MS, rel=0.001)
    assert median.upper_ns == pytest.approx(61 * MS, rel=0.001)
    assert histogram.percentile(0.99).upper_ns is None
    assert (histogram.least.total_ns, histogram.most.total_ns) == (MS, 100 * MS)


def test_the_parts_of_a_percentile_are_those_of_the_latencies_there() -> None:
    """Short ones wait for the network, long ones for the broker."""
    histogram = LatencyHistogram()
    for _ in range(50):
        histogram.add(LatencySplit(path_ns=2 * MS))
        histogram.add(LatencySplit(path_ns=2 * MS, broker_ns=38 * MS))
    assert histogram.percentile(0.4).split == LatencySplit(path_ns=2 * MS)
    assert histogram.percentile(0.95).split == LatencySplit(path_ns=2 * MS, broker_ns=38 * MS)
    assert histogram.mean == LatencySplit(path_ns=2 * MS, broker_ns=19 * MS)


def test_the_parts_of_a_percentile_do_not_depend_on_a_single_latency() -> None:
    """One at the very median waited for the client; all around it waited for the broker."""
    histogram = histogram_of(*((number + 1) * MS for number in range(101) if number != 50))
    histogram.add(LatencySplit(queued_ns=51 * MS))
    median = histogram.percentile(0.5).split
    assert median.total_ns == 51 * MS
    assert median.broker_ns > 0.9 * median.total_ns


@given(st.lists(st.integers(0, 4 * 10**12), min_size=1, max_size=200), st.floats(0.01, 0.999))
def test_a_percentile_is_within_a_thousandth_of_the_exact_one(
    totals_ns: list[int], quantile: float
) -> None:
    """Or within a microsecond, which is the finest that is told apart."""
    found_ns = histogram_of(*totals_ns).percentile(quantile).split.total_ns
    below = sum(each < found_ns - max(US, found_ns // 1000) for each in totals_ns)
    not_above = sum(each <= found_ns + max(US, found_ns // 1000) for each in totals_ns)
    assert below <= quantile * len(totals_ns) + 1
    assert not_above >= quantile * len(totals_ns) - 1e-9 or max(totals_ns) > 3600 * 1000 * MS


class InterruptedSplit(LatencySplit):
    """Parts of a latency during which Ctrl-C comes."""

    @property
    def total_ns(self) -> int:
        """Return as much as the others of the test."""
        return 1_000_000

    def __iter__(self) -> Iterator[int]:
        """Be interrupted."""
        raise KeyboardInterrupt


def test_an_interruption_leaves_the_latencies_before_it_whole() -> None:
    """Each percentile is there; the one that was being added does not count."""
    histogram = LatencyHistogram()
    histogram.add(LatencySplit(path_ns=1_000_000))
    with pytest.raises(KeyboardInterrupt):
        histogram.add(InterruptedSplit())
    assert histogram.count == 1
    assert histogram.percentile(0.999).split == LatencySplit(path_ns=1_000_000)


def test_other_tools_can_read_the_histogram() -> None:
    """It is written in the form that all ports of HdrHistogram share."""
    text = histogram_of(*(number * MS for number in range(1, 101))).encoded()
    decoded = HdrHistogram.decode(text)
    assert decoded.get_total_count() == 100
    assert decoded.get_value_at_percentile(50) == pytest.approx(50_000, rel=0.001)


def test_whoever_lacks_the_library_is_told_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "hdrh.histogram", None)
    with pytest.raises(ConfigError, match=re.escape(install_command("latency"))):
        LatencyHistogram()
