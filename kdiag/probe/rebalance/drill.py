"""A drill: a group of our own members is formed, and made to rebalance by one cause after another.

    drill = RebalanceDrill(admin, plan, topics, means)
    with joined_group(admin, name, drill.members, is_own=True):
        drill.run(on_step)

Each cause waits until the group has settled from the one before: each partition has one owner and
was read by it, all members are stable, and each has sent a good heartbeat since.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.member import TopicSubscription
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.rebalance.model import CauseKind
from kdiag.errors import KdiagError, ProbeError, RequestTimeoutError
from kdiag.probe.rebalance.plan import RebalancePlan
from kdiag.probe.rebalance.probe_member import MemberMeans, MemberOrder, ProbeMember
from kdiag.probe.topic import ProbeTopic
from kdiag.probe.topic_requests import produce_request
from kdiag.wire.api.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from kdiag.wire.api.produce import ProduceResponse
from kdiag.wire.error_code import error_name
from kdiag.wire.records.record import Record
from kdiag.wire.records.writer import write_batch

OnStep = Callable[[str], None]
"""Is called again and again with what is being done."""

_LOOK_S: Final = 0.05
_CREATION_NS: Final = 30 * NS_PER_S
_RETRY_NS: Final = 100 * NS_PER_MS
_ALL: Final = -1


class DrillTopics(NamedTuple):
    """The topics of a drill.

    Attributes:
        main: the one whose partitions count.
        other: with one partition, for the member that wants the first one no more.
    """

    main: ProbeTopic
    other: ProbeTopic


class ProbeStep(NamedTuple):
    """One thing that was done to a group.

    Attributes:
        cause: what it was; None where the group was formed.
        member: who did it; None if no member did.
        began_ns, ended_ns: from its beginning until the group had settled, since 1970.
        partition_count: how many there were at the end.
    """

    cause: CauseKind | None
    member: str | None
    began_ns: int
    ended_ns: int
    partition_count: int


class _NamedTopic(NamedTuple):
    """A topic as requests identify it."""

    topic: str
    topic_id: bytes


class RebalanceDrill:
    """Provokes rebalances; the thread that runs it starts no others but those of its members.

    Attributes:
        members: all that ever joined, also those that are gone.
        steps: what was done so far.
    """

    def __init__(
        self, admin: ClusterClient, plan: RebalancePlan, topics: DrillTopics, means: MemberMeans
    ) -> None:
        """Begin with no member.

        Args:
            admin: connected; asks for partitions and writes a record into each.
            plan: what is done.
            topics: of kdiag's own.
            means: of the members.
        """
        self.members: list[ProbeMember] = []
        self.steps: list[ProbeStep] = []
        self._admin = admin
        self._plan = plan
        self._topics = topics
        self._means = means
        self._clock = means.clock
        self._readers: list[ProbeMember] = []
        self._idle: list[ProbeMember] = []
        self._partition_count = len(topics.main.leaders)

    def run(self, on_step: OnStep = lambda _: None) -> None:
        """Form the group, and provoke all causes of the plan.

        Raises:
            KdiagError: if a member or the cluster fails, or the group does not settle in time.
        """
        began_ns = self._clock.epoch_ns()
        self._means.log.create(range(self._partition_count), began_ns)
        self._write(range(self._partition_count))
        began_ns = self._clock.epoch_ns()
        for _ in range(self._plan.member_count):
            self._join()
        self._settle(None, None, began_ns, on_step)
        for cause in self._plan.causes:
            member, began_ns = self._provoke(cause)
            self._settle(cause, member, began_ns, on_step)

    def _provoke(self, cause: CauseKind) -> tuple[str | None, int]:
        """Do one thing; return who did it, and when."""
        if cause is CauseKind.PARTITIONS_CHANGED:
            return None, self._grow()
        if cause is CauseKind.MEMBER_JOINED:
            member = self._join()
        else:
            member = self._readers.pop()
            if cause is CauseKind.SUBSCRIPTION_CHANGED:
                other = TopicSubscription.of(self._topics.other.name)
                member.order(MemberOrder.SUBSCRIBE, other)
                self._idle.append(member)
            else:
                is_crash = cause is CauseKind.MEMBER_FAILED
                member.order(MemberOrder.CRASH if is_crash else MemberOrder.LEAVE)
        return member.name, self._beginning_of(member)

    def _join(self) -> ProbeMember:
        name = f"probe-{len(self.members) + 1}"
        wanted = TopicSubscription.of(self._topics.main.name)
        member = ProbeMember(name, self._means, wanted)
        self.members.append(member)
        self._readers.append(member)
        member.start()
        return member

    def _beginning_of(self, member: ProbeMember) -> int:
        """Wait until a member has begun to do what it shall; return when."""
        self._await(lambda: member.began_ns is not None or member.is_over, "a member does nothing")
        return self._clock.epoch_ns() if member.began_ns is None else member.began_ns

    def _settle(
        self, cause: CauseKind | None, member: str | None, began_ns: int, on_step: OnStep
    ) -> None:
        """Wait until the group has settled, and record the step."""
        what = "group forms" if cause is None else cause.replace("_", " ")
        quiet_ns: int | None = None

        def has_settled() -> bool:
            nonlocal quiet_ns
            on_step(f"{self._plan.variant.name}: {what}")
            if not self._is_shared_out():
                quiet_ns = None
                return False
            if quiet_ns is None:
                quiet_ns = self._clock.epoch_ns()
            return all(each.heartbeat_ns >= quiet_ns for each in [*self._readers, *self._idle])

        self._await(has_settled, f"the group has not settled ({what})")
        ended_ns = self._clock.epoch_ns()
        step = ProbeStep(cause, member, began_ns, ended_ns, self._partition_count)
        self.steps.append(step)

    def _is_shared_out(self) -> bool:
        log, names = self._means.log, {each.name for each in self._readers}
        return (
            all(each.is_stable for each in [*self._readers, *self._idle])
            and log.is_shared_out(self._partition_count, names)
            and log.is_read(self._partition_count)
        )

    def _await(self, condition: Callable[[], bool], complaint: str) -> None:
        """Wait for something that members do.

        Raises:
            ProbeError: if it does not come within the patience of the plan.
            RequestTimeoutError: if the time of the command is up.
            KdiagError: of a member that has failed.
        """
        until_ns = self._clock.monotonic_ns() + self._plan.patience_ns
        changed = self._means.changed
        while True:
            with changed:
                if condition():
                    return
                changed.wait(_LOOK_S)
            self._raise_failures()
            now_ns = self._clock.monotonic_ns()
            if now_ns >= self._admin.deadline_ns:
                raise RequestTimeoutError("the time was up before all causes were provoked")
            if now_ns >= until_ns:
                seconds = self._plan.patience_ns / NS_PER_S
                raise ProbeError("probe", f"{complaint} within {seconds:.3g} s")

    def _raise_failures(self) -> None:
        for each in self.members:
            if each.failure is not None:
                if isinstance(each.failure, KdiagError):
                    raise each.failure
                raise ProbeError(f"member {each.name}", f"has failed: {each.failure!r}")

    def _grow(self) -> int:
        """Add as many partitions as there are readers; return when that began."""
        began_ns = self._clock.epoch_ns()
        count = self._partition_count + len(self._readers)
        topic = self._topics.main.name
        wanted = CreatePartitionsTopic(topic, count, None)
        request = CreatePartitionsRequest([wanted], _CREATION_NS // NS_PER_MS)
        controller = self._admin.cluster.controller_id
        if controller in self._admin.cluster.brokers:
            answer = self._admin.ask(controller, request, CreatePartitionsResponse)
        else:
            answer = self._admin.ask_any(request, CreatePartitionsResponse)
        error = error_name(answer.results[0].error_code)
        if error != "NONE":
            why = answer.results[0].error_message or "no reason"
            raise ProbeError(f"topic {topic}", f"cannot get more partitions: {error}: {why}")
        new = range(self._partition_count, count)
        self._means.log.create(new, self._clock.epoch_ns())
        self._partition_count = count
        self._write(new)
        return began_ns

    def _write(self, partitions: Sequence[int]) -> None:
        """Write a record into each partition, once it has a leader, so that it can be read."""
        topic = _NamedTopic(self._topics.main.name, self._topics.main.topic_id)
        batch = write_batch([Record(0, self._clock.epoch_ns() // NS_PER_MS, None, b"kdiag")])
        until_ns = self._clock.monotonic_ns() + _CREATION_NS
        missing = list(partitions)
        while missing:
            self._admin.refresh([topic.topic])
            missing = [each for each in missing if not self._is_written(topic, each, batch)]
            if missing and self._clock.monotonic_ns() >= until_ns:
                raise ProbeError(f"topic {topic.topic}", f"partition {missing[0]} takes no record")
            if missing:
                self._admin.wait(_RETRY_NS)

    def _is_written(self, topic: _NamedTopic, partition: int, batch: bytes) -> bool:
        leader = self._admin.cluster.leader_id(topic.topic, partition)
        if leader is None:
            return False
        request = produce_request(topic, partition, _ALL, batch)
        body = self._admin.ask(leader, request, ProduceResponse)
        return not body.responses[0].partition_responses[0].error_code
