"""Passes each exchange of a capture to those that look at it."""

from collections.abc import Iterator, Sequence

from kdiag.diagnosis.traffic.answering import Answering
from kdiag.diagnosis.traffic.asking import Asking
from kdiag.diagnosis.traffic.consuming import Consuming
from kdiag.diagnosis.traffic.ledgers import Again
from kdiag.diagnosis.traffic.producing import Producing
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, Status
from kdiag.findings.finding import Finding
from kdiag.wire import api_keys


class Traffic:
    """Looks at the exchanges of a capture, and judges its clients and brokers.

    Attributes:
        producing, consuming, asking, answering: what was counted so far; those who have counted
            elsewhere, such as in SQL, put their ledgers there.
    """

    def __init__(self, names: TopicNames) -> None:
        """Start before the first exchange.

        Args:
            names: topic names by topic id; they grow while captures are read.
        """
        self.producing = Producing(names)
        self.consuming = Consuming()
        self.asking = Asking()
        self.answering = Answering()

    @property
    def left_out(self) -> int:
        """Return how often there was no room for a client, a broker or a partition."""
        parts = (self.producing, self.consuming, self.asking, self.answering)
        return sum(each.left_out for each in parts)

    def add(self, dissection: Dissection) -> Again | None:
        """Add an exchange that was read.

        Returns:
            What adds the next exchange that is like it; None if there is nothing to add.
        """
        exchange = dissection.exchange
        if exchange.pairing is Status.UNANSWERED:
            self.asking.add_unanswered(dissection)
        self.asking.add_quota(dissection)
        found = [
            self._of_api(dissection),
            self.asking.add_version(exchange),
            self.answering.add(exchange),
        ]
        again = [each for each in found if each is not None]
        return _all_of(again) if len(again) > 1 else again[0] if again else None

    def _of_api(self, dissection: Dissection) -> Again | None:
        """Pass an exchange to who looks at its API."""
        exchange, response = dissection.exchange, dissection.response
        is_answered = response is not None and response.status is Status.OK
        match exchange.api_key:
            case api_keys.PRODUCE:
                return self.producing.add(dissection)
            case api_keys.FETCH:
                return self.consuming.add_fetch(dissection)
            case api_keys.OFFSET_COMMIT:
                return self.consuming.add_commit(dissection)
            case api_keys.METADATA:
                if response is not None and is_answered:
                    self.producing.learn_partitions(response.message)
                return self.asking.add_metadata(exchange)
            case api_keys.API_VERSIONS:
                if response is not None and is_answered:
                    self.asking.add_versions(exchange.connection.broker, response.message)
        return None

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong, one finding for each problem."""
        yield from self.producing.findings()
        yield from self.consuming.findings()
        yield from self.asking.findings()
        yield from self.answering.findings(self.asking.throttled)
        yield from self.asking.version_findings()


def _all_of(again: Sequence[Again]) -> Again:
    """Return one function for several."""

    def add(exchange: Exchange) -> None:
        for each in again:
            each(exchange)

    return add
