"""What was measured: latencies by what was asked, and what made them less than they could be."""

from enum import StrEnum

import msgspec

from kdiag.diagnosis.latency.fetch_waits import FetchTally
from kdiag.diagnosis.latency.histogram import LatencyHistogram
from kdiag.diagnosis.latency.split import LatencySplit, joined
from kdiag.diagnosis.latency.stalls import StallTally
from kdiag.errors import KdiagError
from kdiag.net.tcp_info import SocketFacts


class SeriesKind(StrEnum):
    """What a latency is that of."""

    PRODUCE = "produce"
    """From when a record should be sent until the answer; with acks=0 until the system has it."""
    END_TO_END = "end_to_end"
    """From when a record should be sent until a consumer has it."""
    COMMITTED = "end_to_end_committed"
    """The same, until the consumer's offset is committed too."""
    COMMIT = "commit"
    """From when an offset should be committed until the answer."""
    FETCH = "fetch"
    """From when a fetch that waits for nothing should be sent until the answer."""


class NodeShare(msgspec.Struct):
    """The latencies of one broker.

    Attributes:
        count: how many.
        total: the sums of their parts.
    """

    count: int = 0
    total: LatencySplit = LatencySplit()

    def add(self, split: LatencySplit) -> None:
        """Take a latency."""
        self.count += 1
        self.total = joined(self.total, split)

    @property
    def mean(self) -> LatencySplit:
        """Return the mean of each part."""
        return LatencySplit(*(part_ns // max(1, self.count) for part_ns in self.total))


class Series(msgspec.Struct):
    """Latencies of one kind.

    Attributes:
        kind: of what.
        acks: of the records; None where none are written.
        latencies: all of them.
        stalls: those that cluster where timers of TCP are.
        nodes: the same latencies by broker.
        errors: how often what went wrong instead.
    """

    kind: SeriesKind
    acks: int | None
    latencies: LatencyHistogram
    stalls: StallTally = msgspec.field(default_factory=StallTally)
    nodes: dict[int, NodeShare] = {}
    errors: dict[str, int] = {}

    def add(self, split: LatencySplit, node_id: int) -> None:
        """Take a latency."""
        self.latencies.add(split)
        self.stalls.add(split)
        self.nodes.setdefault(node_id, NodeShare()).add(split)


class LatencyResults(msgspec.Struct):
    """Everything that was measured so far.

    Attributes:
        series: by kind and acks, in the order in which they first came.
        sweep: of each setting of fetches that was compared.
        facts: what the system said last of each connection, by broker and purpose.
        counted_from_ns: what should be sent earlier belongs to the warm-up.
        bytes: of records, written and fetched.
        is_late: whether the time was up before everything was measured.
        problems: what went wrong, each once.
        warnings: what else makes the result less than it could be.
    """

    series: dict[tuple[SeriesKind, int | None], Series] = {}
    sweep: list[FetchTally] = []
    facts: dict[tuple[int, str], SocketFacts] = {}
    counted_from_ns: int = 0
    bytes: int = 0
    is_late: bool = False
    problems: dict[str, KdiagError | str] = {}
    warnings: list[str] = []

    @property
    def has_latencies(self) -> bool:
        """Return whether anything was measured."""
        histograms = [each.latencies for each in self.series.values()]
        histograms += [each.latencies for each in self.sweep]
        return any(each.count for each in histograms)

    @property
    def has_errors(self) -> bool:
        """Return whether anything went wrong."""
        return bool(self.problems)

    def of(self, kind: SeriesKind, acks: int | None = None) -> Series:
        """Return the latencies of a kind, none at first."""
        series = self.series.get((kind, acks))
        if series is None:
            series = self.series[kind, acks] = Series(kind, acks, LatencyHistogram())
        return series

    def add(self, series: Series, due_ns: int, split: LatencySplit, node_id: int) -> None:
        """Take a latency, unless it belongs to the warm-up."""
        if due_ns >= self.counted_from_ns:
            series.add(split, node_id)

    def fail(self, problem: KdiagError | str, series: Series | None = None) -> None:
        """Take that something went wrong; brokers' errors come by name.

        Args:
            problem: what.
            series: where a latency should be.
        """
        text = str(problem)
        if series is not None:
            series.errors[text] = series.errors.get(text, 0) + 1
        self.problems.setdefault(text, problem)

    def fail_fetch(self, problem: KdiagError | str) -> None:
        """Take that a fetch went wrong whose latency is not in a series."""
        self.fail(problem)
        self.warn(f"a fetch failed: {problem}")

    def warn(self, text: str) -> None:
        """Take a warning, each once."""
        if text not in self.warnings:
            self.warnings.append(text)
