"""`kdiag rebalance watch`: follows what coordinators write, or answer, and prints each rebalance.

What they write to `__consumer_offsets` tells more, so it is read where that is allowed. Else, or
with `--describe`, they are asked to describe their groups, again and again.
"""

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_MS, NS_PER_S, Clock
from kdiag.diagnosis.rebalance.histories import RecordedGroups
from kdiag.diagnosis.rebalance.model import GroupHistory
from kdiag.diagnosis.rebalance.records.record_words import DESCRIPTIONS
from kdiag.errors import AbsentError, AuthorizationError
from kdiag.exchange.line.phrase import count
from kdiag.probe.group_records import TOPIC, GroupRecordsReader
from kdiag.probe.groups.looks import GroupLooks
from kdiag_cli.commands.rebalance.fresh import COMMAND, FreshRebalances, RebalancePrinter
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live.run import run_live
from kdiag_cli.live.session import live_session
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.terminal import harmless, say

_LOOK_NS: Final = 200 * NS_PER_MS


class WatchOptions(NamedTuple):
    """What to watch.

    Attributes:
        groups: all if there are none.
        most: ends after so many rebalances; None for never.
        asks: whether coordinators are asked, where else their records are read.
    """

    groups: Collection[str]
    most: int | None
    asks: bool = False


def run(options: WatchOptions, live: LiveOptions) -> ExitCode:
    """Print rebalances as they happen, until `--count` or Ctrl-C; return the exit code."""
    return run_live(
        lambda: _run(options, live), live.timeout_ns, command=COMMAND, output=live.output
    )


def _run(options: WatchOptions, live: LiveOptions) -> ExitCode:
    with live_session(live, is_endless=True) as client:
        if options.asks:
            return _watch(options, live, _looks(client, options))
        try:
            source = _records(client, options)
        except AuthorizationError as error:
            say(f"{error}; coordinators are asked instead, which know less")
            source = _looks(client, options)
        return _watch(options, live, source)


class WatchedSource(NamedTuple):
    """Where rebalances are seen.

    Attributes:
        reader: reads on, and keeps the records of what changed.
        groups: what these tell.
        clock: the client's.
    """

    reader: GroupRecordsReader | GroupLooks
    groups: RecordedGroups
    clock: Clock


def _records(client: ClusterClient, options: WatchOptions) -> WatchedSource:
    """Return what coordinators write, read up to now.

    Raises:
        AuthorizationError: it may not be read.
        AbsentError: there is nothing yet.
    """
    reader = GroupRecordsReader(client, options.groups, follows=True)
    if not reader.has_topic:
        raise AbsentError(TOPIC, "the cluster has no such topic: no group has been used yet")
    while not reader.is_caught_up:
        reader.poll(client.clock.monotonic_ns() + NS_PER_S)
    return WatchedSource(reader, RecordedGroups(reader.topic_name), client.clock)


def _looks(client: ClusterClient, options: WatchOptions) -> WatchedSource:
    """Return what coordinators answer, asked once."""
    looks = GroupLooks(client, options.groups)
    while not looks.is_caught_up:
        looks.poll(client.clock.monotonic_ns() + NS_PER_S)
    return WatchedSource(looks, RecordedGroups(looks.topic_name, DESCRIPTIONS), client.clock)


def _watch(options: WatchOptions, live: LiveOptions, source: WatchedSource) -> ExitCode:
    """Print the rebalances of a source from now on."""
    reader, groups, clock = source
    printer = RebalancePrinter(live.output)
    fresh = FreshRebalances()
    for record in reader.take_records():
        groups.take(record)
    fresh.pass_over(groups.histories)
    say(*_beginnings(options.groups, groups.histories))
    while options.most is None or printer.count < options.most:
        reader.poll(clock.monotonic_ns() + _LOOK_NS)
        for record in reader.take_records():
            groups.take(record)
        for history, each in fresh.take(groups.histories, clock.monotonic_ns()):
            printer.add(history, each)
        say(*reader.warnings)
        reader.warnings.clear()
        printer.flush()
    return ExitCode.DONE


def _beginnings(groups: Collection[str], histories: list[GroupHistory]) -> Iterator[str]:
    """Yield where the groups are that were asked for, or how many there are."""
    known = {history.group: history.rebalances[-1] for history in histories}
    if not groups:
        yield f"watching {count(len(known), 'group')}"
    for name in sorted(groups):
        last = known.get(name)
        where = "nothing yet"
        if last is not None:
            generation = f"generation {last.generation}, " if last.is_told else ""
            where = f"{generation}{count(last.member_count or 0, 'member')}"
        yield f"watching {harmless(name)}: {where}"
