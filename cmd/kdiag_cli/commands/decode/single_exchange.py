"""Looking for one exchange by its number, to print it in full."""

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.phrase import count
from kdiag.exchange.model import Connection, Gap


class SingleExchange:
    """Keeps the exchange with one number.

    Attributes:
        number: the number looked for.
        found: the exchange, once it has come.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.found: Dissection | None = None

    def exchange(self, dissection: Dissection) -> None:
        """Keep the exchange if it is the one."""
        if dissection.exchange.number == self.number:
            self.found = dissection

    def gap(self, gap: Gap) -> None:
        """Let a gap pass."""

    def connection(self, connection: Connection) -> None:
        """Let a connection pass."""

    def finish(self) -> None:
        """Do nothing: whoever asked looks at `found`."""


def absence_text(number: int, last_number: int) -> str:
    """Return why there is no exchange to show: it is not there, or the filters leave it out."""
    if number <= last_number:
        return f"exchange {number} is none of those that the options choose"
    return f"there is no exchange {number}: the capture has {count(last_number, 'exchange')}"
