"""`--trace`: each exchange of a live command as a line, as `kdiag decode` prints it."""

from types import TracebackType
from typing import Self

from kdiag.exchange.context.broker_ids import BrokerIds
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.fence import blame
from kdiag.exchange.model import Exchange
from kdiag_cli.output.exchanges.lines import ExchangeLines
from kdiag_cli.output.terminal import Output, say


class Trace:
    """Prints exchanges as they end; a context manager, which prints the last."""

    def __init__(self, output: Output) -> None:
        """Print to `output`, which must not be the stream of the command's data."""
        output.is_prompt = True
        self._output = output
        self._names = TopicNames()
        self._brokers = BrokerIds()
        self._lines = ExchangeLines(output, self._names, self._brokers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lines.finish()
        self._output.flush()

    def exchange(self, exchange: Exchange) -> None:
        """Print an exchange."""
        dissection = Dissection(exchange)
        try:
            self._names.learn(dissection)
            self._brokers.learn(dissection)
            self._lines.exchange(dissection)
        except Exception as error:  # noqa: BLE001 - the fence: it costs this line alone
            say(blame(dissection, error))
            self._lines.exchange(dissection)
        self._output.flush()
