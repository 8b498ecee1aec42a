"""What there is where the options choose nothing: a filter that matches nothing says so.

    no exchange of 33 matches; with --api there are Fetch (12), Produce (3), Metadata (2)

Values are noted until the first exchange matches, of those kinds alone that the options look at.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.phrase import count
from kdiag.exchange.line.shown_time import stamp
from kdiag.exchange.model import Exchange
from kdiag.exchange.selection import Selection, topics_of
from kdiag.exchange.summary.counts import api_text_of_key
from kdiag.wire.error_code import error_name
from kdiag_cli.output.units import duration

_MOST: Final = 10
_MAX_VALUES: Final = 10_000


class Alternatives:
    """The values that the exchanges of a capture have, by the option that looks at them."""

    def __init__(self, selection: Selection, names: TopicNames) -> None:
        """Start before the first exchange.

        Args:
            selection: the options.
            names: the names of topic ids that are known.
        """
        self.is_over = selection == Selection()
        self._selection = selection
        self._names = names
        self._exchanges = 0
        self._values: dict[str, Counter[str]] = {}
        self._first_ns = self._last_ns = 0
        self._longest_ns = -1

    def note(self, exchange: Exchange) -> None:
        """Note an exchange, chosen or not, without decoding it."""
        chosen = self._selection
        self._exchanges += 1
        time_ns = exchange.time_ns
        self._first_ns = min(self._first_ns or time_ns, time_ns)
        self._last_ns = max(self._last_ns, time_ns)
        if chosen.min_latency_ns is not None and exchange.transfer_ns is not None:
            late_ns = (exchange.latency_ns or 0) + exchange.transfer_ns
            self._longest_ns = max(self._longest_ns, late_ns)
        if chosen.api_keys:
            self._add("--api", api_text_of_key(exchange.api_key))
        if chosen.clients:
            self._add("--client", exchange.client_id or exchange.connection.client)
        if chosen.brokers:
            self._add("--broker", exchange.connection.broker)
        if chosen.connections:
            self._add("--connection", str(exchange.connection.number))

    def note_body(self, dissection: Dissection) -> None:
        """Note an exchange that is not chosen for what is in it."""
        chosen = self._selection
        if chosen.statuses:
            self._add("--status", dissection.status.value)
        if chosen.error_codes:
            for code in dissection.error_codes:
                self._add("--error", error_name(code))
        if chosen.groups:
            for group in dissection.groups:
                self._add("--group", group)
        if chosen.topics:
            for topic in topics_of(dissection, self._names):
                self._add("--topic", self._names.name(topic) or topic)

    def text(self) -> str:
        """Return that no exchange matches, and what there is."""
        told = "; ".join(self._told())
        if self._selection == Selection(errors=True):
            return f"none of {count(self._exchanges, 'exchange')} is an error"
        return f"no exchange of {self._exchanges:,} matches{f'; {told}' if told else ''}"

    def _told(self) -> Iterator[str]:
        chosen = self._selection
        for option, values in self._values.items():
            most = [f"{name} ({number:,})" for name, number in values.most_common(_MOST)]
            more = len(values) - len(most)
            rest = f" and {count(more, 'other')}" if more else ""
            yield f"for {option} there are {', '.join(most)}{rest}"
        if self._exchanges and (chosen.since_ns is not None or chosen.until_ns is not None):
            yield f"they began from {stamp(self._first_ns, 9)} to {stamp(self._last_ns, 9)}"
        if self._longest_ns >= 0:
            waited = self._longest_ns >= (chosen.min_latency_ns or 0)
            how = " with the wait that its request allowed (--with-waits)" if waited else ""
            yield f"the longest took {duration(self._longest_ns)}{how}"

    def _add(self, option: str, value: str) -> None:
        values = self._values.setdefault(option, Counter())
        if value in values or len(values) < _MAX_VALUES:
            values[value] += 1
