"""The waits of fetches: how a consumer's settings and a topic's traffic make them.

A broker answers a Fetch once `fetch.min.bytes` are there, or after `fetch.max.wait.ms`. A fetch
that returns at the end of its wait says nothing about the speed of the broker:

    returned at the wait, empty        nothing was written: the topic is idle
    returned at the wait, with data    something was written, but not enough
    returned early                     enough was written
    a wait of 0                        the consumer polls all the time

Source: KIP-74; Kafka's `DelayedFetch`.
"""

from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.latency.histogram import LatencyHistogram
from kdiag.diagnosis.latency.split import LatencySplit

_MOSTLY: Final = 0.5
_NEARLY_NS: Final = 1_000_000
"""Brokers count waits in whole ms, so a wait may end a little early."""


class FetchWait(NamedTuple):
    """A consumer's settings of its fetches.

    Attributes:
        min_bytes: `fetch.min.bytes`.
        max_wait_ms: `fetch.max.wait.ms`.
    """

    min_bytes: int
    max_wait_ms: int


class FetchReturn(StrEnum):
    """The ways in which a fetch returns."""

    AT_WAIT_EMPTY = "at_wait_empty"
    AT_WAIT_WITH_DATA = "at_wait_with_data"
    EARLY_WITH_DATA = "early_with_data"
    EARLY_EMPTY = "early_empty"


class FetchTally(msgspec.Struct):
    """The fetches with the same settings.

    Attributes:
        wait: the settings.
        latencies: the latencies of all fetches, from sending on.
        returned: the number of fetches by way.
        bytes: the bytes of records in all fetches.
    """

    wait: FetchWait
    latencies: LatencyHistogram
    returned: dict[FetchReturn, int] = {}
    bytes: int = 0

    def add(self, split: LatencySplit, size_bytes: int) -> None:
        """Add a fetch.

        Args:
            split: the parts of its latency.
            size_bytes: the size of its records.
        """
        self.latencies.add(split)
        self.bytes += size_bytes
        waited_ns = split.broker_ns + _NEARLY_NS
        is_at_wait = self.wait.max_wait_ms > 0 and waited_ns >= self.wait.max_wait_ms * NS_PER_MS
        if is_at_wait:
            how = FetchReturn.AT_WAIT_WITH_DATA if size_bytes else FetchReturn.AT_WAIT_EMPTY
        else:
            how = FetchReturn.EARLY_WITH_DATA if size_bytes else FetchReturn.EARLY_EMPTY
        self.returned[how] = self.returned.get(how, 0) + 1

    def share(self, *how: FetchReturn) -> float:
        """Return the share of fetches that returned in one of these ways; 0 without any."""
        count = sum(self.returned.get(each, 0) for each in how)
        return count / self.latencies.count if self.latencies.count else 0.0


def explanation(tally: FetchTally) -> str:
    """Return a sentence about the reason of the fetches' waits."""
    if not tally.latencies.count:
        return "no fetch returned: nothing can be said"
    if tally.wait.max_wait_ms == 0:
        return _polling(tally)
    ways = (
        (FetchReturn.AT_WAIT_EMPTY, _idle),
        (FetchReturn.AT_WAIT_WITH_DATA, _too_little),
        (FetchReturn.EARLY_WITH_DATA, _prompt),
    )
    for how, say in ways:
        if tally.share(how) >= _MOSTLY:
            return say(tally)
    return _mixed(tally)


def _polling(tally: FetchTally) -> str:
    empty = _percent(tally.share(FetchReturn.EARLY_EMPTY))
    return (
        f"{empty} of fetches returned empty at once: with fetch.max.wait.ms=0 the consumer polls, "
        "which finds records no sooner and keeps client and broker busy"
    )


def _idle(tally: FetchTally) -> str:
    share = _percent(tally.share(FetchReturn.AT_WAIT_EMPTY))
    return (
        f"{share} of fetches returned at the {tally.wait.max_wait_ms} ms wait: the topic is idle, "
        "this is not lag"
    )


def _too_little(tally: FetchTally) -> str:
    share = _percent(tally.share(FetchReturn.AT_WAIT_WITH_DATA))
    return (
        f"{share} of fetches returned at the {tally.wait.max_wait_ms} ms wait with less than "
        f"fetch.min.bytes={tally.wait.min_bytes}: records wait that long for company; lower "
        "either setting to have them sooner"
    )


def _prompt(tally: FetchTally) -> str:
    share = _percent(tally.share(FetchReturn.EARLY_WITH_DATA))
    median_ms = tally.latencies.percentile(0.5).split.total_ns / NS_PER_MS
    what = "they wait for records, records do not wait for them"
    if tally.wait.min_bytes > 1:
        what = f"the first record may wait so long until fetch.min.bytes={tally.wait.min_bytes}"
        what += " have gathered"
    return (
        f"{share} of fetches returned as soon as there was enough, after {median_ms:.3g} ms in the "
        f"median: {what}"
    )


def _mixed(tally: FetchTally) -> str:
    idle = _percent(tally.share(FetchReturn.AT_WAIT_EMPTY))
    little = _percent(tally.share(FetchReturn.AT_WAIT_WITH_DATA))
    prompt = _percent(tally.share(FetchReturn.EARLY_WITH_DATA))
    return (
        f"{prompt} of fetches returned with enough data, {little} at the "
        f"{tally.wait.max_wait_ms} ms wait with less, {idle} there with none: the topic comes and "
        "goes"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
