"""What is new among the rebalances of groups, and how one is printed.

times are in UTC
2026-11-24 00:12:33.123  orders  generation 7: member joined (certain), app …b2225134 at 10.0.0.7.
2026-11-24 00:12:51.004  orders  generation 8: unknown, app …b2225134 at 10.0.0.7: it is gone;
whether it left or failed the records do not tell. 2 of 4 partitions moved, 1 member
"""

from collections.abc import Iterator
from typing import Final

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.rebalance.model import CauseKind, GroupHistory, GroupType, Rebalance
from kdiag.diagnosis.rebalance.records.record_words import DESCRIPTIONS
from kdiag.exchange.line.phrase import count
from kdiag.exchange.line.shown_time import ZoneNotice, date_and_time, stamp
from kdiag_cli.commands.rebalance.document import rebalance_document
from kdiag_cli.commands.rebalance.text import who, words
from kdiag_cli.output.json_text import print_json
from kdiag_cli.output.result import SCHEMA, ResultFormat, encode
from kdiag_cli.output.terminal import BOLD, DIM, Output, harmless, print_paragraph
from kdiag_cli.output.units import duration

COMMAND: Final = "rebalance watch"
_PATIENCE_NS: Final = 5 * NS_PER_S
"""How long an epoch that not all members take up is waited for, before it is printed as it is."""


_Key = tuple[str, str | None, GroupType]
"""A group, its cluster and its kind."""


def _key_of(history: GroupHistory) -> _Key:
    return history.group, history.cluster, history.type


class FreshRebalances:
    """Hands out each rebalance once: when it is over, or another one follows it."""

    def __init__(self) -> None:
        self._known: dict[_Key, int] = {}
        self._since_ns: dict[_Key, int] = {}

    def pass_over(self, histories: list[GroupHistory]) -> None:
        """Take what there is for known."""
        for history in histories:
            self._known[_key_of(history)] = len(history.rebalances)

    def take(
        self, histories: list[GroupHistory], now_ns: int | None
    ) -> Iterator[tuple[GroupHistory, Rebalance]]:
        """Yield the rebalances that are new.

        Args:
            histories: of all groups, complete.
            now_ns: on the monotonic clock; None where nothing more will come.
        """
        for history in histories:
            key = _key_of(history)
            for each in history.rebalances[self._known.get(key, 0) :]:
                is_last = each is history.rebalances[-1]
                if now_ns is not None and is_last and not _is_over(each):
                    since_ns = self._since_ns.setdefault(key, now_ns)
                    if now_ns - since_ns < _PATIENCE_NS:
                        break
                self._since_ns.pop(key, None)
                self._known[key] = self._known.get(key, 0) + 1
                yield history, each


def _is_over(rebalance: Rebalance) -> bool:
    is_synced = all(each.synced_ns is not None for each in rebalance.phases.values())
    has_members = rebalance.member_count or rebalance.phases
    return (rebalance.ended_ns is not None and is_synced) or not has_members


def _counts_generations(history: GroupHistory) -> bool:
    """Return whether the generations are counted here, as the source does not tell them."""
    return history.source == DESCRIPTIONS.source and history.type is GroupType.CLASSIC


class RebalancePrinter:
    """Prints rebalances as they come, as a line of JSON or a sentence.

    Attributes:
        count: how many were printed.
    """

    def __init__(self, form: ResultFormat) -> None:
        """Print in a form: JSON, or for people."""
        self.count = 0
        self._form = form
        self._zone = ZoneNotice()
        self._output = Output()
        self._output.is_prompt = True

    def add(self, history: GroupHistory, rebalance: Rebalance) -> None:
        """Print a rebalance of a group."""
        self.count += 1
        if self._form is ResultFormat.JSON:
            _print_line(self._output, history, rebalance)
        else:
            self._print(history, rebalance)

    def _print(self, history: GroupHistory, each: Rebalance) -> None:
        output, time_ns = self._output, each.started_ns or each.ended_ns
        at = "" if time_ns is None else stamp(time_ns)
        if time_ns is not None and output.is_terminal:
            at = date_and_time(time_ns)
            if notice := self._zone.due(time_ns):
                output.line(output.paint(notice, DIM))
        name = output.paint(harmless(history.group), BOLD)
        print_paragraph(output, f"{output.paint(at, DIM)}  {name}  {_sentence(history, each)}")

    def flush(self) -> None:
        """Hand over what was printed."""
        self._output.flush()


def _print_line(output: Output, history: GroupHistory, each: Rebalance) -> None:
    head = {"schema": SCHEMA, "command": COMMAND, "group": history.group}
    kind = {"cluster": history.cluster, "type": history.type, "source": history.source}
    document = rebalance_document(each)
    if _counts_generations(history):
        document |= {"generation": None, "previous": None}
    print_json(output, encode(head | kind | document), is_line=True)


def _sentence(history: GroupHistory, rebalance: Rebalance) -> str:
    """Return a rebalance in one line."""
    parts = []
    for cause in rebalance.causes:
        named = who(history, cause)
        host = f" at {cause.client_host}" if named and cause.client_host else ""
        by = f", {named}{host}" if named else ""
        note = f": {cause.note}" if cause.note else ""
        sure = "" if cause.cause is CauseKind.UNKNOWN else f" ({cause.confidence})"
        parts.append(harmless(f"{words(cause.cause)}{sure}{by}{note}"))
    took, moved = rebalance.duration_ns, rebalance.moved
    ends = [
        *([f"took {duration(took)}"] if took else []),
        *([f"{len(moved.moves)} of {moved.partition_count} partitions moved"] if moved else []),
        *([] if rebalance.member_count is None else [count(rebalance.member_count, "member")]),
    ]
    number = "" if _counts_generations(history) else f"generation {rebalance.generation}: "
    return f"{number}{'; '.join(parts)}. {', '.join(ends)}"
