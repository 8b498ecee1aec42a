"""The results of a latency measurement: latencies by kind, errors and warnings."""

from enum import StrEnum

import msgspec

from kdiag.diagnosis.latency.fetch_waits import FetchTally
from kdiag.diagnosis.latency.histogram import LatencyHistogram
from kdiag.diagnosis.latency.ranks import LatencySample
from kdiag.diagnosis.latency.split import LatencySplit, joined
from kdiag.diagnosis.latency.stalls import StallTally
from kdiag.errors import KdiagError
from kdiag.net.tcp.tcp_info import SocketFacts


class SeriesKind(StrEnum):
    """The operation that a latency measures."""

    PRODUCE = "produce"
    """From when a record is due until the answer; with acks=0 until it is written to the socket."""
    END_TO_END = "end_to_end"
    """From when a record is due until a consumer has read it."""
    COMMITTED = "end_to_end_committed"
    """The same, until the consumer's offset is committed too."""
    COMMIT = "commit"
    """From when a commit is due until the answer."""
    FETCH = "fetch"
    """From when a fetch that waits for nothing is due until the answer."""


class NodeShare(msgspec.Struct):
    """The latencies of one broker.

    Attributes:
        count: how many.
        total: the sums of their parts.
        sample: some of them, without the network and the time in the client.
    """

    count: int = 0
    total: LatencySplit = LatencySplit()
    sample: LatencySample = msgspec.field(default_factory=LatencySample)

    def add(self, split: LatencySplit) -> None:
        """Add a latency."""
        self.count += 1
        self.sample.add([split.broker_ns])
        self.total = joined(self.total, split)

    @property
    def mean(self) -> LatencySplit:
        """Return the mean of each part."""
        return LatencySplit(*(part_ns // max(1, self.count) for part_ns in self.total))


class Series(msgspec.Struct):
    """Latencies of one kind.

    Attributes:
        kind: the operation.
        acks: of the records; None if none are written.
        latencies: all of them.
        stalls: those that cluster at timers of TCP.
        nodes: the same latencies by broker.
        errors: how often each error occurred instead.
    """

    kind: SeriesKind
    acks: int | None
    latencies: LatencyHistogram
    stalls: StallTally = msgspec.field(default_factory=StallTally)
    nodes: dict[int, NodeShare] = {}
    errors: dict[str, int] = {}

    def add(self, split: LatencySplit, node_id: int) -> None:
        """Add a latency."""
        self.latencies.add(split)
        self.stalls.add(split)
        self.nodes.setdefault(node_id, NodeShare()).add(split)


class LatencyResults(msgspec.Struct):
    """Everything that was measured so far.

    Attributes:
        series: by kind and acks, in the order in which they first came.
        sweep: of each setting of fetches that was compared.
        facts: the last facts of each socket, by broker and purpose.
        counted_from_ns: requests that are due earlier belong to the warm-up.
        bytes: of records, written and fetched.
        is_late: whether the time was up before everything was measured.
        unanswered: how long requests waited that had no answer at the end, by broker.
        problems: the errors, each once.
        warnings: other reasons to trust the results less, each once.
    """

    series: dict[tuple[SeriesKind, int | None], Series] = {}
    sweep: list[FetchTally] = []
    facts: dict[tuple[int, str], SocketFacts] = {}
    counted_from_ns: int = 0
    bytes: int = 0
    is_late: bool = False
    unanswered: dict[int, list[int]] = {}
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
        """Return whether there were errors."""
        return bool(self.problems)

    def of(self, kind: SeriesKind, acks: int | None = None) -> Series:
        """Return the latencies of a kind, none at first."""
        series = self.series.get((kind, acks))
        if series is None:
            series = self.series[kind, acks] = Series(kind, acks, LatencyHistogram())
        return series

    def add(self, series: Series, due_ns: int, split: LatencySplit, node_id: int) -> None:
        """Add a latency, unless it belongs to the warm-up."""
        if due_ns >= self.counted_from_ns:
            series.add(split, node_id)

    def fail(self, problem: KdiagError | str, series: Series | None = None) -> None:
        """Record an error.

        Args:
            problem: the error; errors of brokers by name.
            series: the one that lacks a latency because of it.
        """
        text = str(problem)
        if series is not None:
            series.errors[text] = series.errors.get(text, 0) + 1
        self.problems.setdefault(text, problem)

    def fail_fetch(self, problem: KdiagError | str) -> None:
        """Record the error of a fetch whose latency belongs to no series."""
        self.fail(problem)
        self.warn(f"a fetch failed: {problem}")

    def warn(self, text: str) -> None:
        """Add a warning, each once."""
        if text not in self.warnings:
            self.warnings.append(text)
