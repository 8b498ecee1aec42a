"""The run of `kdiag rebalance probe`: drills one group after another, prints what they showed.

Whatever ends it, what was measured is printed once all that kdiag made is removed.
"""

import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Condition, Lock
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.config.load import ClientConfig
from kdiag.client.configured_client import configured_client
from kdiag.client.fetch.session import require_record_batches
from kdiag.client.network.observer import OnExchange
from kdiag.clock import SteadyClock
from kdiag.diagnosis.rebalance.model import CauseKind, GroupType
from kdiag.errors import ConfigError, GroupError, KdiagError, UnsupportedVersionError
from kdiag.exchange.model import Exchange
from kdiag.probe import PROBE_PREFIX
from kdiag.probe.groups.roster import look_at_group
from kdiag.probe.rebalance.drill import DrillTopics, RebalanceDrill
from kdiag.probe.rebalance.leaving import LEAVING_NS, joined_group
from kdiag.probe.rebalance.ownership import OwnershipLog
from kdiag.probe.rebalance.plan import ProbeVariant, RebalancePlan
from kdiag.probe.rebalance.probe_member import MemberMeans
from kdiag.probe.rebalance.steps import MemberExchange, results_of
from kdiag.probe.rebalance.variants import (
    joiner,
    speaks_consumer_protocol,
    times_of,
    variants_of,
)
from kdiag.probe.topic import CLEANUP_NS, ProbeTopicSettings, probe_topic
from kdiag.wire.primitives import uuid_text
from kdiag_cli.commands.rebalance.probe.document import ProbedGroup, probe_document
from kdiag_cli.commands.rebalance.probe.options import COMMAND, ProbeOptions
from kdiag_cli.commands.rebalance.probe.text import print_probe
from kdiag_cli.ending import left_on_cluster
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.run import run_live
from kdiag_cli.live.session import observing
from kdiag_cli.options.live import LiveOptions, client_config
from kdiag_cli.output.progress import StepProgress
from kdiag_cli.output.result import CommandResult, print_result
from kdiag_cli.output.terminal import can_write_over, say

_ENDING_NS: Final = LEAVING_NS + 2 * CLEANUP_NS
_CONFIGS: Final = {"cleanup.policy": "delete", "min.insync.replicas": "1"}
_MOST_REPLICAS: Final = 3
_UNSUPPORTED: Final = frozenset({"UNSUPPORTED_VERSION", "UNSUPPORTED_ASSIGNOR"})


def run(options: ProbeOptions, live: LiveOptions) -> ExitCode:
    """Probe and print; return the exit code of the program.

    It keeps the time limit itself: an alarm while groups and topics are removed would leave them.
    """
    timeout_ns = live.timeout_ns
    return run_live(
        _ProbeRun(options, live).run,
        None if timeout_ns is None else timeout_ns + _ENDING_NS,
        command=COMMAND,
        output=live.output,
        cleanup_ns=_ENDING_NS,
    )


class _ProbeRun:
    """One run of the command."""

    def __init__(self, options: ProbeOptions, live: LiveOptions) -> None:
        self._options = options
        self._live = live
        self._clock = SteadyClock()
        self._groups: list[ProbedGroup] = []
        self._warnings: list[str] = []
        self._problems: list[KdiagError] = []
        self._progress = StepProgress()
        self._lock = Lock()
        self._causes = options.causes

    def run(self) -> ExitCode:
        """Probe and print.

        Raises:
            KdiagError: if nothing could be measured.
        """
        try:
            self._probe()
        except KeyboardInterrupt:
            if self._has_results:
                self._print()
            raise
        except KdiagError as error:
            if not self._has_results:
                raise
            self._problems.append(error)
            self._warnings.append(str(error))
        self._print()
        is_partial = bool(self._problems)
        return exit_code_of(self._problems, is_partial=is_partial)

    @property
    def _has_results(self) -> bool:
        return any(each.steps for each in self._groups)

    def _probe(self) -> None:
        config = client_config(self._live)
        say(*config.warnings)
        with (
            observing(self._live) as receiver,
            configured_client(config, self._clock, receiver) as admin,
        ):
            if self._live.timeout_ns is not None:
                admin.deadline_ns = self._clock.monotonic_ns() + self._live.timeout_ns
            admin.connect()
            require_record_batches(admin)
            try:
                for variant in self._variants(admin):
                    self._probe_variant(admin, config, variant, receiver)
            finally:
                self._progress.clear()

    def _variants(self, admin: ClusterClient) -> list[ProbeVariant]:
        """Return the kinds of groups to probe: that of the real group, or those that there are.

        Raises:
            UnsupportedVersionError: if the brokers lack the only protocol that was asked for.
        """
        options = self._options
        if options.group is not None:
            look = look_at_group(admin, options.group)
            if look.type not in {GroupType.CLASSIC, GroupType.CONSUMER}:
                why = f"{options.group} is a {look.type} group, which has no consumers"
                raise ConfigError("--group", "--group", why)
            if look.type == GroupType.CLASSIC:
                if look.members:
                    self._follow_leader(options.group)
                return variants_of([GroupType.CLASSIC], [look.assignor or "range"])
            return [ProbeVariant(GroupType.CONSUMER, None)]
        protocols = [GroupType(each) for each in options.protocols]
        variants = variants_of(protocols, options.assignors)
        if speaks_consumer_protocol(admin):
            return variants
        kept = [each for each in variants if each.protocol is GroupType.CLASSIC]
        if len(kept) < len(variants):
            why = "the brokers have no groups of the consumer protocol (KIP-848)"
            if not kept:
                raise UnsupportedVersionError(why)
            self._warnings.append(why)
        return kept

    def _follow_leader(self, group: str) -> None:
        """Leave out what the leader of a group has to see, who is one of its own members.

        Raises:
            ConfigError: if nothing is left.
        """
        grown = CauseKind.PARTITIONS_CHANGED
        if grown not in self._causes:
            return
        why = (
            f"{grown} is left out: the leader of {group} is a member of its own, and looks for new "
            "partitions when its metadata.max.age.ms is over, if it looks at kdiag's topic at all"
        )
        self._causes = [each for each in self._causes if each is not grown]
        if not self._causes:
            raise ConfigError("--cause", "--cause", why)
        self._warnings.append(why)

    def _probe_variant(
        self,
        admin: ClusterClient,
        config: ClientConfig,
        variant: ProbeVariant,
        receiver: OnExchange | None,
    ) -> None:
        options = self._options
        plan = RebalancePlan(
            variant=variant,
            times=times_of(admin, config, variant.protocol),
            member_count=options.member_count,
            partition_count=options.partition_count,
            is_static=options.is_static,
            causes=self._causes,
        )
        name = options.group or PROBE_PREFIX + secrets.token_hex(4)
        with self._own_topics(admin, plan.partition_count) as (topics, left):
            log = OwnershipLog(topics.main.name)
            means = MemberMeans(
                self._connector(receiver),
                joiner(plan, config, name),
                log,
                Condition(),
                self._clock,
            )
            drill = RebalanceDrill(admin, plan, topics, means)
            if options.group is None:
                left.append(f"group {name}")
            try:
                with joined_group(admin, name, drill.members, is_own=options.group is None):
                    drill.run(self._teller(drill, plan))
            except (GroupError, UnsupportedVersionError) as error:
                self._pass_over(variant, error)
            finally:
                exchanges = [
                    MemberExchange(member.name, exchange)
                    for member in drill.members
                    for exchange in list(member.exchanges)
                ]
                ids = {uuid_text(each.topic_id): each.name for each in topics}
                steps = results_of(plan, drill.steps, exchanges, log, ids)
                self._groups.append(ProbedGroup(name, plan, steps))

    def _pass_over(self, variant: ProbeVariant, error: KdiagError) -> None:
        """Go on without a protocol that nobody asked for, and that the brokers do not allow.

        Raises:
            KdiagError: the error, if that is not so.
        """
        is_unsupported = not isinstance(error, GroupError) or error.error in _UNSUPPORTED
        is_asked = self._options.protocols or self._options.assignors or self._options.group
        if variant.protocol is GroupType.CLASSIC or is_asked or not is_unsupported:
            raise error
        self._warnings.append(f"{variant.name} was left out: {error}")

    @contextmanager
    def _own_topics(
        self, admin: ClusterClient, partition_count: int
    ) -> Iterator[tuple[DrillTopics, list[str]]]:
        """Create the topics of a drill, which are removed at its end."""
        nodes = [each.id for each in admin.brokers]
        leaders = [nodes[number % len(nodes)] for number in range(partition_count)]
        replicas = min(_MOST_REPLICAS, len(nodes))
        with ExitStack() as opened:
            left = opened.enter_context(left_on_cluster())
            settings = ProbeTopicSettings(leaders, _CONFIGS, replicas)
            main = opened.enter_context(probe_topic(admin, settings))
            left.append(f"topic {main.name}")
            few = settings._replace(partition_leaders=leaders[:1])
            other = opened.enter_context(probe_topic(admin, few))
            left.append(f"topic {other.name}")
            yield DrillTopics(main, other), left

    def _connector(self, receiver: OnExchange | None) -> Callable[[str, OnExchange], ClusterClient]:
        """Return what makes a member's client; exchanges go to whoever else wants them, too."""

        def connect(name: str, on_exchange: OnExchange) -> ClusterClient:
            def observe(exchange: Exchange) -> None:
                on_exchange(exchange)
                if receiver is not None:
                    with self._lock:
                        receiver(exchange)

            words = [*(self._live.properties or ()), f"client.id=kdiag-{name}"]
            config = client_config(self._live._replace(properties=words), can_ask=False)
            return configured_client(config, self._clock, observe)

        return connect

    def _teller(self, drill: RebalanceDrill, plan: RebalancePlan) -> Callable[[str], None]:
        """Return what shows the progress on a terminal."""
        if not can_write_over(sys.stderr):
            return lambda _: None
        step_count = len(plan.causes) + 1
        return lambda what: self._progress.update(what, len(drill.steps) / step_count)

    def _print(self) -> None:
        """Print what was measured."""
        options, groups = self._options, self._groups
        result = CommandResult(
            COMMAND,
            lambda: [probe_document(each) for each in groups],
            lambda output: print_probe(output, groups, options),
            self._warnings,
        )
        print_result(result, self._live.output, is_wide=self._live.is_wide)
