"""From the decoder to the printer: exchanges are followed, chosen and named on the way."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kdiag.diagnosis.recorded_faults import RecordedFaults
from kdiag.exchange.context.fetch_session import FetchSessions
from kdiag.exchange.context.topic_names import (
    DEFAULT_MAX_EXCHANGES,
    DeferredNames,
    TopicNames,
    may_tell_names,
)
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.fence import blame
from kdiag.exchange.model import Connection, Exchange, Status
from kdiag.exchange.selection import Selection, is_in_order
from kdiag.exchange.summary.counts import Summary, watch_all
from kdiag.pcap.decoder import Item
from kdiag.wire import api_keys
from kdiag_cli.captures.alternatives import Alternatives
from kdiag_cli.captures.printer import Printer
from kdiag_cli.output.terminal import say

if TYPE_CHECKING:
    from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
    from kdiag.diagnosis.tcp.worst_connections import WorstConnections
    from kdiag.diagnosis.traffic.traffic import Traffic
    from kdiag.exchange.context.broker_ids import BrokerIds

_MAX_FAULTS: Final = 10


class ExchangePipeline:
    """Passes exchanges to a printer once they are chosen and can be named.

    Attributes:
        summary: counts what was chosen.
        is_partial: whether an exchange that was chosen is cut or malformed.
        alternatives: what there is, as long as nothing was chosen.
        recorded: the faults that the capture proves, of what was chosen.
        brokers: node ids by address, which grow too; None if nobody shows them.
        traffic: judges clients and brokers by what was chosen; None if nobody asks.
        paths: judges what limits connections; None if nobody asks.
        groups: what members of groups ask and are told; None if nobody counts rebalances.
        faults: exchanges that kdiag failed to read by a fault of its own.
    """

    def __init__(
        self,
        names: TopicNames,
        selection: Selection,
        printer: Printer | None,
        look_ahead: Callable[[], None] | None,
        *,
        may_wait: bool = True,
    ) -> None:
        """Connect names, selection and printer.

        Args:
            names: topic names by topic id; they grow while captures are read.
            selection: which exchanges are chosen.
            printer: prints them; None to count only, which needs neither order nor names.
            look_ahead: adds the names in the rest of the input; None if it can be read only once.
            may_wait: whether exchanges may wait for names that come later in the input.
        """
        self.summary = Summary(names)
        self.is_partial = False
        self.faults = 0
        self.brokers: BrokerIds | None = None
        self.groups: CaptureEvents | None = None
        self.recorded = RecordedFaults()
        self.traffic: Traffic | None = None
        self.paths: WorstConnections | None = None
        self._names = names
        self._selection = selection
        self._printer = printer
        self._deferred = None
        if printer is not None:
            most = DEFAULT_MAX_EXCHANGES if may_wait else 0
            self._deferred = DeferredNames(names, look_ahead, max_exchanges=most)
        is_fetch_wanted = not selection.api_keys or api_keys.FETCH in selection.api_keys
        self._sessions = FetchSessions() if printer is not None and is_fetch_wanted else None
        self.alternatives = Alternatives(selection, names)
        self._chooses_all = selection == Selection()
        self._counts_all = printer is None and self._chooses_all

    def add(self, items: Iterable[Item]) -> None:
        """Add what the decoder has completed."""
        if self.paths is not None:
            items = list(items)
            self._watch_paths(items, self.paths)
        for item in items:
            if isinstance(item, Exchange):
                try:
                    self._add_exchange(item)
                except Exception as error:  # noqa: BLE001 - the fence: it costs this exchange alone
                    dissection = Dissection(item)
                    self._report(blame(dissection, error))
                    self._pass_on(dissection)
            elif isinstance(item, Connection):
                self.summary.add_connection(item)
                if self._selection.matches_connection(item):
                    self.recorded.add_connection(item)
                    if self._printer is not None:
                        self._printer.connection(item)
            elif self._printer is not None and self._selection.matches_gap(item):
                self._printer.gap(item)
        self.summary.count_fresh()

    def _watch_paths(self, items: Sequence[Item], paths: "WorstConnections") -> None:
        """Pass on connections behind all of their exchanges, wherever these are."""
        for item in items:
            if isinstance(item, Exchange):
                paths.add(item)
        for item in items:
            if isinstance(item, Connection) and self._selection.matches_connection(item):
                paths.end(item)

    def judge(self, traffic: "Traffic", groups: "CaptureEvents") -> None:
        """Have the clients, brokers and groups judged by what is chosen."""
        self.traffic, self.groups = traffic, groups
        self.summary.watch = watch_all([traffic.add, groups.again_on])

    def finish(self) -> None:
        """Pass on the exchanges that still wait for names, and finish the printer."""
        if self._deferred is not None:
            for dissection in self._deferred.release_all():
                self._pass(dissection)
        if self._printer is not None:
            self._printer.finish()

    def _add_exchange(self, exchange: Exchange) -> None:
        if self._counts_all and self.summary.add_like(exchange):
            return
        dissection = Dissection(exchange)
        if may_tell_names(exchange):
            self._names.learn(dissection)
        if self.brokers is not None:
            self.brokers.learn(dissection)
        if self._sessions is not None and exchange.api_key == api_keys.FETCH:
            self._sessions.follow(dissection)
        if not self._chooses_all and not self._may_be_chosen(dissection):
            return
        if self._deferred is None:
            self._pass(dissection)
        else:
            for each in self._deferred.add(dissection):
                self._pass(each)

    def _may_be_chosen(self, dissection: Dissection) -> bool:
        """Return whether an exchange may be chosen; whom it names counts anyway."""
        if self.groups is not None:
            self.groups.add_brokers(dissection)
        if not self.alternatives.is_over:
            self.alternatives.note(dissection.exchange)
        return self._selection.may_match(dissection.exchange)

    def _pass(self, dissection: Dissection) -> None:
        """Count and print an exchange if it is chosen; if it cannot be read, as malformed."""
        try:
            self._pass_on(dissection)
        except Exception as error:  # noqa: BLE001 - the fence: it costs this exchange alone
            self._report(blame(dissection, error))
            self._pass_on(dissection)

    def _report(self, fault: str) -> None:
        """Report a fault of kdiag's own on stderr; of many, the first ones."""
        self.faults += 1
        if self.faults <= _MAX_FAULTS:
            say(fault)

    def _pass_on(self, dissection: Dissection) -> None:
        if not self._chooses_all and not self._selection.matches(dissection, self._names):
            if not self.alternatives.is_over:
                self.alternatives.note_body(dissection)
            return
        self.alternatives.is_over = True
        if not is_in_order(dissection.status):
            self.is_partial = True
        if self._printer is not None:
            self._printer.exchange(dissection)
        may_repeat = self._counts_all and _may_repeat(self.groups, dissection.exchange)
        self.summary.add(dissection, may_repeat=may_repeat)
        if self.groups is not None:
            self.groups.add(dissection)
        exchange = dissection.exchange
        if exchange.pairing is not Status.OK or exchange.is_violation:  # not as `add_like` counts
            self.recorded.add_exchange(exchange)


def _may_repeat(groups: "CaptureEvents | None", exchange: Exchange) -> bool:
    """Return whether those like it may go unread: they have no names, and nothing of groups."""
    is_of_group = groups is not None and groups.concerns(exchange)
    return not is_of_group and not may_tell_names(exchange)
