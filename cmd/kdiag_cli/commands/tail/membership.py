"""`kdiag tail -g`: joins a group, with the consent of whoever runs it, and reads what it is given.

A group with members rebalances for whoever joins: its members stop for that time, and give up
partitions. Nobody does that by mistake: a terminal asks, and elsewhere `--yes` must be given.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.config.load import ClientConfig
from kdiag.client.fetch.notices import names
from kdiag.client.fetch.offset_reset import NONE, ResetPolicy, reset_policy
from kdiag.client.fetch.position import FetchedBatch, Notice, NoticeKind, PartitionKey
from kdiag.client.group.assignor.assignor import Assignor
from kdiag.client.group.classic.consumer_coordinator import ConsumerCoordinator
from kdiag.client.group.configured_member import (
    ASSIGNORS,
    STRATEGY,
    assignors_named,
    member_settings,
)
from kdiag.client.group.consumer.broker_assigned_member import BrokerAssignedMember
from kdiag.client.group.member import (
    ConsumerMember,
    MemberSettings,
    RebalanceListener,
    TopicSubscription,
)
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.check.report import listed
from kdiag.errors import ConfigError, KdiagError
from kdiag.exchange.embedded import CONSUMER
from kdiag.exchange.line.phrase import count
from kdiag.probe.groups.listing import CLASSIC
from kdiag.probe.groups.roster import GroupLook, GroupRoster, look_at_group
from kdiag.probe.tail.group_tail import GroupTail, GroupTailRequest, MakeMember
from kdiag.probe.tail.offset_spec import At, OffsetSpec
from kdiag.probe.tail.placement import TailRequest, position_of
from kdiag_cli.commands.tail.options import MembershipOptions, TailOptions
from kdiag_cli.commands.tail.reading import RecordOutput, RecordReading
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.terminal import say

CLOSE_NS: Final = 5 * NS_PER_S
"""How long it may take to commit and to leave."""

_KINDS: Final = (CLASSIC, CONSUMER)


def read_as_member(
    client: ClusterClient, config: ClientConfig, request: TailRequest, output: RecordOutput
) -> ExitCode:
    """Join a group and print what it gives, until it is enough.

    Raises:
        ConfigError: if the group cannot be joined so.
        KdiagError: if the cluster cannot be read, or the group does not want this member.
    """
    given = output.options.membership
    look = look_at_group(client, given.group)
    check_kind(look, given.group)
    settings = member_settings(config, given.group, given.instance_id)
    protocol = protocol_of(given, look, config)
    make_member = member_maker(client, config, settings, given, look)
    if not given.is_sure and not ask(given, look):
        return ExitCode.INTERRUPTED
    printed: dict[PartitionKey, int] = {}
    reset = reset_policy(config.values)
    now_ms = client.clock.epoch_ns() // NS_PER_MS
    wanted = GroupTailRequest(
        tail=request._replace(offsets=offsets_of_member(request, reset, now_ms)),
        group_id=given.group,
        requires_commits=request.offsets.start is None and reset == ResetPolicy(NONE),
        reset=reset,
        commits=given.commits,
        commit_interval_ns=_commit_interval_ns(output.options, config),
        max_poll_interval_ns=settings.max_poll_interval_ns,
        counter="generation" if protocol == CLASSIC else "epoch",
    )
    source = GroupTail(client, wanted, make_member, printed)
    roster = GroupRoster(client, given.group, look)
    return GroupReading(client, source, output, printed, roster).run()


def check_kind(look: GroupLook, group: str) -> None:
    """Refuse a group that consumers cannot join.

    Raises:
        ConfigError: if it is one.
    """
    if look.type not in _KINDS:
        why = f"{group} is a {look.type} group; kdiag tail joins classic and consumer groups"
        raise ConfigError("--group", "--group", why)
    protocol_type = "" if look.listed is None else look.listed.protocol_type
    if protocol_type not in {"", CONSUMER}:
        why = f"{group} is a group of {protocol_type}, not of consumers"
        raise ConfigError("--group", "--group", why)


def protocol_of(given: MembershipOptions, look: GroupLook, config: ClientConfig) -> str:
    """Return the protocol to join by: `--protocol`, else `group.protocol`, else the group's own."""
    if given.protocol is not None:
        return given.protocol
    if config.values.setting("group.protocol") is None and look.listed is not None:
        return look.type
    return config.values.choice("group.protocol")


def member_maker(
    client: ClusterClient,
    config: ClientConfig,
    settings: MemberSettings,
    given: MembershipOptions,
    look: GroupLook,
) -> MakeMember:
    """Return what makes the member, by the protocol to join by.

    Raises:
        ConfigError: if the assignor is not one of kdiag's, where kdiag may have to assign.
    """
    if protocol_of(given, look, config) != CLASSIC:
        of_broker = given.assignor or config.values.text("group.remote.assignor") or None

        def make(subscription: TopicSubscription, listener: RebalanceListener) -> ConsumerMember:
            return BrokerAssignedMember(
                client, settings, subscription, listener, assignor=of_broker
            )

        return make
    assignors = assignors_of(given, look, config)

    def make_classic(
        subscription: TopicSubscription, listener: RebalanceListener
    ) -> ConsumerMember:
        return ConsumerCoordinator(client, settings, subscription, assignors, listener)

    return make_classic


def assignors_of(given: MembershipOptions, look: GroupLook, config: ClientConfig) -> list[Assignor]:
    """Return the assignors to offer: the one that the members have agreed on, if there are any.

    Raises:
        ConfigError: if kdiag does not have it.
    """
    if given.assignor is not None:
        return assignors_named([given.assignor])
    if look.type == CLASSIC and look.members and look.assignor:
        if look.assignor not in ASSIGNORS:
            why = (
                f"the members of {given.group} use the assignor {look.assignor}, which kdiag does "
                f"not have; it has {', '.join(ASSIGNORS)}"
            )
            raise ConfigError(STRATEGY, STRATEGY, why)
        return assignors_named([look.assignor])
    return assignors_named(config.values.words(STRATEGY))


def offsets_of_member(request: TailRequest, reset: ResetPolicy | None, now_ms: int) -> OffsetSpec:
    """Return where partitions without a commit start: `-o`, else `auto.offset.reset` if given.

    Raises:
        ConfigError: if `-o` counts records from the end, over partitions that others may have.
    """
    start = request.offsets.start
    if start is not None and start.at is At.LAST and start.value:
        why = "with --group: beginning, end, an offset or @TIME, for partitions without a commit"
        raise ConfigError("--offset", "--offset", why)
    if start is None and reset is not None and reset.name != NONE:
        start = position_of(reset, now_ms)
    return request.offsets._replace(start=start)


def ask(given: MembershipOptions, look: GroupLook) -> bool:
    """Return whether to join, after asking a person if that changes anything for others.

    Raises:
        ConfigError: if there is nobody to ask.
    """
    change = effect(given, look)
    if change is None:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ConfigError("--group", "--group", f"{change}; --yes says that this is wanted")
    say(change)
    sys.stderr.write("Join it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def effect(given: MembershipOptions, look: GroupLook) -> str | None:
    """Return what joining changes for others; None for nothing."""
    group = given.group
    if look.error is not None or look.members is None:
        return f"who is in group {group} is not known ({look.error}): its members would rebalance"
    if look.members:
        members = f"{count(len(look.members), 'member')} ({listed(look.members)})"
        moved = ", and --commit moves its offsets" if given.commits else ""
        return f"group {group} has {members}, and would rebalance: kdiag takes partitions{moved}"
    if given.commits and look.listed is not None:
        return f"--commit moves the offsets of group {group}: its own members go on behind them"
    return None


def _commit_interval_ns(options: TailOptions, config: ClientConfig) -> int | None:
    """Return how often to commit; never before the end what is safe in a file only then."""
    if not options.membership.commits or options.printing.out is not None:
        return None
    return config.auto_commit_interval_ms * NS_PER_MS


@contextmanager
def _alarm_postponed() -> Iterator[None]:
    """Postpone the end of the command's time to the end of the block."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})


class GroupReading(RecordReading):
    """Reads as a member; commits and leaves at the end, however that comes."""

    def __init__(
        self,
        client: ClusterClient,
        source: GroupTail,
        output: RecordOutput,
        printed: dict[PartitionKey, int],
        roster: GroupRoster,
    ) -> None:
        super().__init__(client.clock, source, output, printed)
        self._source = source
        self._roster = roster

    def _poll(self) -> list[FetchedBatch]:
        """Poll to the end: a member that stops in the middle of that could not leave in order."""
        with self._interruption.postponed(), _alarm_postponed():
            return super()._poll()

    def _end(self) -> None:
        self._leave()

    def _stop(self) -> None:
        ends = dict(self.printed)
        self._leave()
        if not ends:
            return
        if self._options.membership.commits:
            say(f"stopped at {names(ends)}")
        else:
            say(f"stopped at {names(ends)}; nothing was committed")

    def _abandon(self) -> None:
        """Leave without a commit: what the reader did with the last records, nobody knows."""
        self._source.forgo_commits()
        self._leave()

    def _leave(self) -> None:
        """Commit what is due, leave, and say what could not be done."""
        try:
            self._source.close(self._clock.monotonic_ns() + CLOSE_NS)
        except KdiagError as error:
            say(f"leaving the group: {error}")
        self._report_notices()

    def _report_notices(self) -> list[Notice]:
        """Print what has happened, and who caused a rebalance, if that can be seen."""
        notices = super()._report_notices()
        kinds = {each.kind for each in notices}
        if kinds & {NoticeKind.GIVEN, NoticeKind.TAKEN} and not self._source.is_closed:
            with self._interruption.postponed(), _alarm_postponed():
                changes = self._roster.changes(self._source.member_id)
            if changes and not self._options.printing.is_quiet:
                say(f"group {self._options.membership.group}: {changes}")
        return notices
