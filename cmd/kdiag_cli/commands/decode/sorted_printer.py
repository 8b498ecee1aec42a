"""Ordering by time: everything is kept, then printed."""

from collections.abc import Callable

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Gap
from kdiag_cli.commands.decode.printers import Printer


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
