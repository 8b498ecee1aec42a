"""A lab in the hands of a test: its faults, its traffic and its clock.

with KafkaLab(LabSettings(), folder) as lab:
    lab.bootstrap                                  # for bootstrap.servers
    with lab.fault("Produce topic=orders delay=2s") as fault:
        ...
    assert fault.fired
    assert len(lab.exchanges(api="Produce")) == 2
"""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

from kdiag.clock import NS_PER_S, Clock, ManualClock, SystemClock
from kdiag.exchange.context.fetch_session import FetchSessions
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.line_writer import LineWriter
from kdiag.exchange.model import Exchange
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.broker.traffic_recorder import TrafficRecorder
from kdiag.lab.fault.fault_book import FaultBook, ListedFault
from kdiag.lab.fault.grammar import fault_of, parse_fault
from kdiag.pcap.decoder import decode_reader
from kdiag.pcap.reader import CaptureReader
from kdiag.wire.error_code import error_name

_NS_PER_MS: Final = 1_000_000
_ORIGIN: Final = "lab.fault"


class LabFault:
    """A fault that a test has added; a context manager, which removes it."""

    def __init__(self, book: FaultBook, listed: ListedFault) -> None:
        self._book = book
        self._listed = listed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove it."""
        self.remove()

    def __repr__(self) -> str:
        return f"<LabFault {self._listed.rule.text}: seen {self.seen}, fired {self.fired}>"

    @property
    def seen(self) -> int:
        """Return how many requests its filters have let through."""
        return self._now().seen_count

    @property
    def fired(self) -> int:
        """Return for how many of them it has happened."""
        return self._now().fired_count

    def remove(self) -> None:
        """End it; its counters stay."""
        self._listed = self._book.remove(self._listed.fault_id) or self._listed

    def _now(self) -> ListedFault:
        number = self._listed.fault_id
        found = (each for each in self._book.listed() if each.fault_id == number)
        return next(found, self._listed)


class KafkaLab:
    """A lab, while a `with` block lasts.

    Attributes:
        cluster: the lab itself, with its nodes and its controller.
        clock: its time.
        faults: all that goes wrong.
    """

    def __init__(self, settings: LabSettings, folder: Path, clock: Clock | None = None) -> None:
        """Prepare a lab; nothing is there before the `with` block.

        Args:
            settings: what it is started with; its faults and its recorder are set here.
            folder: gets the recording of its traffic.
            clock: its time; the system's by default.
        """
        self.clock = clock or SystemClock()
        self.faults = FaultBook(self.clock)
        self._path = folder / "lab.pcapng"
        self._settings = settings
        self._closing = ExitStack()
        self.cluster: LabCluster

    def __enter__(self) -> Self:
        """Start it.

        Raises:
            KdiagError: if that fails.
        """
        with ExitStack() as starting:
            # The times of packets are the system's: a clock that stands still would tell nothing.
            self._recorder = starting.enter_context(TrafficRecorder(self._path, SystemClock()))
            settings = self._settings._replace(faults=self.faults, recorder=self._recorder)
            self.cluster = starting.enter_context(LabCluster(settings, self.clock))
            self._closing = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it; the recording stays."""
        self._closing.close()

    def __repr__(self) -> str:
        return f"<KafkaLab at {self.bootstrap}>"

    @property
    def bootstrap(self) -> str:
        """Return its addresses, as `bootstrap.servers` takes them."""
        return self.cluster.bootstrap

    @property
    def capture(self) -> Path:
        """Return the recording of its traffic until now, for `kdiag decode` and Wireshark.

        What clients have sent is in it, and that they have hung up: busy brokers are waited for.
        """
        for node in self.cluster.nodes:
            node.await_quiet()
        self._recorder.write(lambda file, _: file.flush())
        return self._path

    def fault(self, text: str = "", **keys: Any) -> LabFault:
        """Let something go wrong from now on.

        Args:
            text: a fault in the grammar of `kdiag help lab`.
            keys: the same by keys, as in `api="Fetch", delay="200ms"`; instead of a text.

        Raises:
            ConfigError: if it is not a fault.
        """
        rule = fault_of(keys, _ORIGIN) if keys else parse_fault(text, _ORIGIN)
        return LabFault(self.faults, self.faults.add(rule))

    def advance(self, seconds: float) -> None:
        """Move the clock forward, if it is one that stands still.

        Raises:
            TypeError: if it is the system's.
        """
        if not isinstance(self.clock, ManualClock):
            raise TypeError("the clock is the system's: mark the test kafka_lab(clock='virtual')")
        self.clock.advance(round(seconds * NS_PER_S))
        for node in self.cluster.nodes:
            node.processor.selector.wakeup()

    def exchanges(
        self, api: str | None = None, client_id: str | None = None, since_ns: int = 0
    ) -> list[Dissection]:
        """Return the requests until now with their answers, in the order of their starts.

        Args:
            api: of this API alone.
            client_id: of this client alone.
            since_ns: not those that began before, since 1970.
        """
        return [each for each in self._read()[0] if _is_asked(each, api, client_id, since_ns)]

    def lines(self, since_ns: int = 0) -> list[str]:
        """Return a line for each exchange: time, API, version, client, error, what it was about."""
        found, names = self._read()
        writer = LineWriter(names)
        return [
            _line(each, writer.line_of) for each in found if _is_asked(each, None, None, since_ns)
        ]

    def _read(self) -> tuple[list[Dissection], TopicNames]:
        names, sessions = TopicNames(), FetchSessions()
        found = []
        for item in decode_reader(CaptureReader([self.capture])):
            if isinstance(item, Exchange):
                dissection = Dissection(item)
                names.learn(dissection)
                sessions.follow(dissection)
                found.append(dissection)
        return sorted(found, key=lambda each: each.exchange.time_ns), names


def _is_asked(
    dissection: Dissection, api: str | None, client_id: str | None, since_ns: int
) -> bool:
    exchange = dissection.exchange
    if exchange.time_ns < since_ns:
        return False
    return api in {None, dissection.api} and client_id in {None, exchange.client_id}


def _line(dissection: Dissection, write: Callable[[Dissection], str]) -> str:
    exchange = dissection.exchange
    latency_ns = exchange.latency_ns
    took = "unanswered" if latency_ns is None else f"{latency_ns / _NS_PER_MS:.1f} ms"
    error = error_name(dissection.error_code) if dissection.error_code else ""
    head = f"{dissection.api} v{exchange.version} {exchange.client_id or '-'} {took} {error}"
    text = f"{head.rstrip()}  {write(dissection)}"
    return "".join(each if each.isprintable() else "?" for each in text)
