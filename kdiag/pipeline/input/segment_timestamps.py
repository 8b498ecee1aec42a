"""Numbers and times of TCP segments of all connections, looked up in the captures when needed.

A decoder that gets the packets of some connections only does not see those of others, which decide
when a closed connection is over and where the capture ends. That matters only for a connection that
is incomplete at its end, such as with bytes after a hole. Then the segment is looked up in the
splits that may hold it.
"""

from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.clock import ALWAYS, TimeRange
from kdiag.pcap.tcp.reassembly import Moment
from kdiag.pipeline.input.segment_reader import SegmentReader, SplitRun
from kdiag.pipeline.input.split import Split
from kdiag.pipeline.input.split_index import SplitIndex, shared_index
from kdiag.pipeline.shared import Shared

_MAX_KEPT: Final = 4

_Times = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


class SegmentTimestamps:
    """The TCP segments of a run by number and time; see `kdiag.pcap.decoder.Recording`."""

    def __init__(
        self, splits: Sequence[Split] | Shared[list[Split]], times: TimeRange = ALWAYS
    ) -> None:
        """Read nothing yet.

        Args:
            splits: all of the run, in order.
            times: of the packets of the run.
        """
        self._splits = splits
        self._times = times
        self._last: Moment | None = None
        self._kept: OrderedDict[int, _Times] = OrderedDict()

    def first_after(self, packet: int, time_ns: int) -> Moment | None:
        """Return the first TCP segment after a packet and later than a time; None without one."""
        for number in self._index.later(packet, time_ns):
            if not self._index.splits[number].overlaps(*self._times):
                continue
            packets, times = self._read(number)
            found = np.flatnonzero((packets > packet) & (times > time_ns))
            if len(found):
                return Moment(int(packets[found[0]]), int(times[found[0]]))
        return None

    def last(self) -> Moment:
        """Return the last TCP segment of the run."""
        if self._last is None:
            self._last = Moment(0, 0)
            for number in reversed(range(len(self._index.splits))):
                packets, times = self._read(number)
                if len(packets):
                    self._last = Moment(int(packets[-1]), int(times[-1]))
                    break
        return self._last

    def lag_ns(self, packet: int) -> int:
        """Return how much earlier than another before it a packet can be, by the clock."""
        return self._index.lag_ns(packet)

    def capture_of(self, packet: int) -> str | None:
        """Return the name of the capture that holds a packet; None if it is none of these."""
        return self._index.capture_of(packet)

    @cached_property
    def _index(self) -> SplitIndex:
        if isinstance(self._splits, Shared):
            return shared_index(self._splits)
        return SplitIndex(self._splits)

    def _read(self, number: int) -> _Times:
        """Return the numbers and times of a split's segments."""
        if number not in self._kept:
            reader = SegmentReader(SplitRun(self._index.splits, number), self._times)
            batches = [(batch.packet, batch.time_ns) for batch in reader.read()]
            none: _Times = np.empty(0, np.int64), np.empty(0, np.int64)
            columns = list(zip(none, *batches, strict=True))
            self._kept[number] = np.concatenate(columns[0]), np.concatenate(columns[1])
            if len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
        return self._kept[number]
