"""A printer that writes down what it is given."""

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Gap


class PrinterLog:
    """Keeps a word for each thing: `exchange 3`, `gap 17`, `connection 1`, `finish`."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def exchange(self, dissection: Dissection) -> None:
        """Write down the number of an exchange."""
        self.words.append(f"exchange {dissection.exchange.number}")

    def gap(self, gap: Gap) -> None:
        """Write down the size of a gap."""
        self.words.append(f"gap {gap.size}")

    def connection(self, connection: Connection) -> None:
        """Write down the number of a connection."""
        self.words.append(f"connection {connection.number}")

    def finish(self) -> None:
        """Write down the end."""
        self.words.append("finish")
