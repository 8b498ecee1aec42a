"""The splits of a run, found by packet and by time without a walk through all of them.

    packets    split 0: 1 to 900    split 1: 901 to 1,700    split 2: 1,701 to 2,400   ...
    last_ns    blocks of 256 splits, each with the latest time in it

A search for a packet is a bisection. A search for a later time skips whole blocks of splits that
are not late enough: in 160,000 splits it reads about as many numbers as in 1,000.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, overload

import numpy as np

from kdiag.pipeline.input.split import Split, uris_of
from kdiag.pipeline.shared import Shared
from kdiag.report.uri import canonical

_BLOCK: Final = 256


class SplitIndex:
    """The splits of a run, in order.

    Attributes:
        splits: all of them.
        uris: their files, each once; a file's number is its index.
    """

    def __init__(self, splits: Sequence[Split]) -> None:
        self.splits = splits
        self.uris = uris_of(splits)
        self._last_packets = np.array(
            [each.first_packet + each.packets - 1 for each in splits], np.int64
        )
        self._lag_ns = [each.lag_ns for each in splits]
        self._last_ns = np.array([each.last_ns for each in splits], np.int64)
        self._last_packet = int(self._last_packets[-1]) if len(splits) else 0
        self._file_starts, self._captures = _files_of(splits)
        starts = np.arange(0, len(splits), _BLOCK)
        self._block_last_ns = np.maximum.reduceat(self._last_ns, starts) if len(splits) else starts

    def lag_ns(self, packet: int) -> int:
        """Return how much earlier than another before it a packet can be; 0 for one in no split."""
        number = int(np.searchsorted(self._last_packets, packet))
        return self._lag_ns[number] if number < len(self._lag_ns) else 0

    def capture_of(self, packet: int) -> str | None:
        """Return the name of the capture that holds a packet; None for one in no split."""
        number = bisect_right(self._file_starts, packet) - 1
        return self._captures[number] if number >= 0 and packet <= self._last_packet else None

    def later(self, packet: int, time_ns: int) -> Iterator[int]:
        """Yield the numbers of splits that may hold a packet after this one, and after this time.

        Args:
            packet: a number of a packet.
            time_ns: a time since 1970.
        """
        first = int(np.searchsorted(self._last_packets, packet, "right"))
        block, ends = first // _BLOCK, len(self.splits)
        while block * _BLOCK < ends:
            if self._block_last_ns[block] > time_ns:
                start = max(first, block * _BLOCK)
                late = self._last_ns[start : (block + 1) * _BLOCK] > time_ns
                yield from (start + np.flatnonzero(late)).tolist()
            block += 1


def _files_of(splits: Sequence[Split]) -> tuple[list[int], list[str]]:
    """Return the first packets of files, and their names as the log of runs has them."""
    starts: list[int] = []
    captures: list[str] = []
    before = ""
    for each in splits:
        if each.uri != before:
            before = each.uri
            starts.append(each.first_packet)
            captures.append(canonical(each.uri))
    return starts, captures


@lru_cache(maxsize=4)
def shared_index(splits: Shared[list[Split]]) -> SplitIndex:
    """Return the index of splits that tasks share; a process makes it once."""
    return SplitIndex(splits.value)


class CaptureUris(Sequence[str]):
    """The files of splits that tasks share, by their numbers; read when one is first wanted."""

    def __init__(self, splits: Shared[list[Split]]) -> None:
        self._splits = splits

    @overload
    def __getitem__(self, number: int) -> str: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[str]: ...

    def __getitem__(self, number: int | slice) -> str | Sequence[str]:
        return shared_index(self._splits).uris[number]

    def __len__(self) -> int:
        return len(shared_index(self._splits).uris)
