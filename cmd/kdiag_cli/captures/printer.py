"""What receives the exchanges, gaps and connections of captures, one after the other."""

from collections.abc import Callable
from typing import Protocol

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Gap


class Printer(Protocol):
    """Prints or stores what a capture is made of, in the order of arrival."""

    def exchange(self, dissection: Dissection) -> None:
        """Print an exchange."""
        ...

    def gap(self, gap: Gap) -> None:
        """Print a gap."""
        ...

    def connection(self, connection: Connection) -> None:
        """Print a connection that has ended."""
        ...

    def finish(self) -> None:
        """Print what remains once everything was given."""
        ...


class SortedPrinter:
    """Gives another printer everything in the order of time, connections by their end."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer
        self._kept: list[tuple[int, int, Callable[[], None]]] = []

    def exchange(self, dissection: Dissection) -> None:
        """Keep an exchange."""
        exchange = dissection.exchange
        self._keep(exchange.time_ns, exchange.number, lambda: self._printer.exchange(dissection))

    def gap(self, gap: Gap) -> None:
        """Keep a gap."""
        self._keep(gap.time_ns, 0, lambda: self._printer.gap(gap))

    def connection(self, connection: Connection) -> None:
        """Keep a connection that has ended."""
        number = 1 << 62  # behind the exchanges of the same moment
        self._keep(connection.last_ns, number, lambda: self._printer.connection(connection))

    def finish(self) -> None:
        """Print everything."""
        for _, _, print_it in sorted(self._kept, key=lambda kept: kept[:2]):
            print_it()
        self._kept.clear()
        self._printer.finish()

    def _keep(self, time_ns: int, number: int, print_it: Callable[[], None]) -> None:
        self._kept.append((time_ns, number, print_it))
