"""`kdiag rebalance watch`: follows what coordinators write, and prints each rebalance.

2026-11-24 00:12:33.123  orders  generation 7: member joined (certain), app …b2225134 at 10.0.0.7.
2026-11-24 00:12:51.004  orders  generation 8: unknown, app …b2225134 at 10.0.0.7: it is gone;
whether it left or failed the records do not tell. 2 of 4 partitions moved, 1 member
"""

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.rebalance.histories import RecordedGroups
from kdiag.diagnosis.rebalance.model import CauseKind, GroupHistory, GroupType, Rebalance
from kdiag.errors import AbsentError
from kdiag.exchange.line.phrase import count
from kdiag.probe.group_records import TOPIC, GroupRecordsReader
from kdiag_cli.commands.rebalance.document import rebalance_document
from kdiag_cli.commands.rebalance.text import clock_text, who, words
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live.run import run_live
from kdiag_cli.live.session import live_session
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.json_text import print_json
from kdiag_cli.output.result import SCHEMA, ResultFormat, encode
from kdiag_cli.output.terminal import BOLD, DIM, Output, harmless, print_paragraph, say
from kdiag_cli.output.units import duration

COMMAND: Final = "rebalance watch"
_LOOK_NS: Final = 200 * NS_PER_MS
_PATIENCE_NS: Final = 5 * NS_PER_S
"""How long an epoch that not all members take up is waited for, before it is printed as it is."""


class WatchOptions(NamedTuple):
    """What to watch.

    Attributes:
        groups: all if there are none.
        most: ends after so many rebalances; None for never.
    """

    groups: Collection[str]
    most: int | None


def run(options: WatchOptions, live: LiveOptions) -> ExitCode:
    """Print rebalances as they happen, until `--count` or Ctrl-C; return the exit code."""
    return run_live(
        lambda: _run(options, live), live.timeout_ns, command=COMMAND, output=live.output
    )


def _run(options: WatchOptions, live: LiveOptions) -> ExitCode:
    output = Output()
    output.is_prompt = True
    printed = 0
    with live_session(live, is_endless=True) as client:
        reader = GroupRecordsReader(client, options.groups, follows=True)
        if not reader.has_topic:
            raise AbsentError(TOPIC, "the cluster has no such topic: nobody has used a group yet")
        groups = RecordedGroups(reader.topic_name)
        fresh = FreshRebalances()
        while not reader.is_caught_up:
            reader.poll(client.clock.monotonic_ns() + NS_PER_S)
        for record in reader.take_records():
            groups.take(record)
        fresh.pass_over(groups.histories)
        say(*_beginnings(options.groups, groups.histories))
        while options.most is None or printed < options.most:
            reader.poll(client.clock.monotonic_ns() + _LOOK_NS)
            for record in reader.take_records():
                groups.take(record)
            for history, each in fresh.take(groups.histories, client.clock.monotonic_ns()):
                _print(output, live.output, history, each)
                printed += 1
            say(*reader.warnings)
            reader.warnings.clear()
            output.flush()
    return ExitCode.DONE


class FreshRebalances:
    """Hands out each rebalance once: when it is over, or another one follows it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, GroupType], int] = {}
        self._since_ns: dict[tuple[str, GroupType], int] = {}

    def pass_over(self, histories: list[GroupHistory]) -> None:
        """Take what there is for known."""
        for history in histories:
            self._known[history.group, history.type] = len(history.rebalances)

    def take(
        self, histories: list[GroupHistory], now_ns: int
    ) -> Iterator[tuple[GroupHistory, Rebalance]]:
        """Yield the rebalances that are new."""
        for history in histories:
            key = (history.group, history.type)
            for each in history.rebalances[self._known.get(key, 0) :]:
                is_last = each is history.rebalances[-1]
                since_ns = self._since_ns.setdefault(key, now_ns)
                if is_last and not _is_over(each) and now_ns - since_ns < _PATIENCE_NS:
                    break
                self._since_ns.pop(key, None)
                self._known[key] = self._known.get(key, 0) + 1
                yield history, each


def _is_over(rebalance: Rebalance) -> bool:
    return rebalance.ended_ns is not None or not rebalance.member_count


def _beginnings(groups: Collection[str], histories: list[GroupHistory]) -> Iterator[str]:
    """Yield where the groups are that were asked for, or how many there are."""
    known = {history.group: history.rebalances[-1] for history in histories}
    if not groups:
        yield f"watching {count(len(known), 'group')}"
    for name in sorted(groups):
        last = known.get(name)
        where = "no record yet"
        if last is not None:
            where = f"generation {last.generation}, {count(last.member_count or 0, 'member')}"
        yield f"watching {harmless(name)}: {where}"


def _print(output: Output, form: ResultFormat, history: GroupHistory, each: Rebalance) -> None:
    if form is ResultFormat.JSON:
        head = {"schema": SCHEMA, "command": COMMAND, "group": history.group}
        kind = {"type": history.type, "source": history.source}
        print_json(output, encode(head | kind | rebalance_document(each)), is_line=True)
        return
    at = clock_text(each.started_ns or each.ended_ns) or ""
    name = output.paint(harmless(history.group), BOLD)
    print_paragraph(output, f"{output.paint(at, DIM)}  {name}  {_sentence(history, each)}")


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
    return f"generation {rebalance.generation}: {'; '.join(parts)}. {', '.join(ends)}"
