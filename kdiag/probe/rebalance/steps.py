"""What a drill has shown: for each cause who noticed it when, and who had to wait for how long.

    began        the cause: a member joins, its connections end, partitions are asked for
    noticed      another member joins again, or is told a new epoch
    settled      the last partition has changed hands

Pure: it reads the members' exchanges and the log of ownership. Rebalances with their causes and
phases are found by the state machines that `kdiag rebalance explain` uses, in the same exchanges:
what they say of the cause can be held to what was done.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.diagnosis.rebalance.histories import histories_of
from kdiag.diagnosis.rebalance.model import Rebalance
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, Status
from kdiag.probe.rebalance.drill import ProbeStep
from kdiag.probe.rebalance.ownership import OwnerGap, OwnershipLog
from kdiag.probe.rebalance.plan import RebalancePlan
from kdiag.wire import api_keys

_SOURCE: Final = "probe"
_KEEPS_SESSION: Final = frozenset(
    {
        api_keys.JOIN_GROUP,
        api_keys.SYNC_GROUP,
        api_keys.HEARTBEAT,
        api_keys.CONSUMER_GROUP_HEARTBEAT,
    }
)
"""Requests after which a coordinator waits for a whole session timeout again."""


class MemberExchange(NamedTuple):
    """An exchange of one of the members.

    Attributes:
        member: its name.
        exchange: request and response.
    """

    member: str
    exchange: Exchange


class StepResult(msgspec.Struct, kw_only=True, frozen=True):
    """What one step has shown; times are since 1970.

    Attributes:
        step: what was done.
        noticed_ns: when the first other member acted on it; None if none had to.
        settled_ns: when the last partition changed hands; None if none did.
        session_ns: how long a session timeout was waited for in the beginning; 0 if none was.
        gaps: the times in which partitions had no owner.
        moved_count: how many partitions have another owner than before.
        first_reads: when each member first read a partition that it was given, by its name.
        rebalances: of the group in this time, as its exchanges show them.
    """

    step: ProbeStep
    noticed_ns: int | None
    settled_ns: int | None
    session_ns: int
    gaps: Sequence[OwnerGap]
    moved_count: int
    first_reads: Mapping[str, int]
    rebalances: Sequence[Rebalance]

    @property
    def took_ns(self) -> int | None:
        """Return how long it took until the last partition had changed hands."""
        return None if self.settled_ns is None else self.settled_ns - self.step.began_ns

    @property
    def unowned_ns(self) -> list[int]:
        """Return how long each partition had no owner, of those that had none, by its number."""
        times: dict[int, int] = {}
        for each in self.gaps:
            spent_ns = each.unowned_ns(self.step.ended_ns)
            times[each.partition] = times.get(each.partition, 0) + spent_ns
        return [times[number] for number in sorted(times)]

    @property
    def unread_ns(self) -> int | None:
        """Return the longest time until a partition without an owner was read again."""
        times = [each.read_ns - each.began_ns for each in self.gaps if each.read_ns is not None]
        return max(times, default=None)


def results_of(
    plan: RebalancePlan,
    steps: Iterable[ProbeStep],
    exchanges: Sequence[MemberExchange],
    log: OwnershipLog,
    topic_names: Mapping[str, str],
) -> list[StepResult]:
    """Return what each step has shown.

    Args:
        plan: of the drill.
        steps: in order.
        exchanges: of all members, in any order.
        log: of who owned what.
        topic_names: by topic id, in Kafka's text form.
    """
    in_order = sorted(exchanges, key=lambda each: each.exchange.time_ns)
    rebalances = rebalances_of(in_order, topic_names)
    return [_result(plan, each, in_order, log, rebalances) for each in steps]


def rebalances_of(
    exchanges: Iterable[MemberExchange], topic_names: Mapping[str, str]
) -> list[Rebalance]:
    """Return the rebalances of the one group that exchanges are about."""
    events = CaptureEvents(topic_names.get)
    for each in exchanges:
        events.add(Dissection(each.exchange))
    return [each for found in histories_of(events.in_order(), _SOURCE) for each in found.rebalances]


def _result(
    plan: RebalancePlan,
    step: ProbeStep,
    exchanges: Sequence[MemberExchange],
    log: OwnershipLog,
    rebalances: Iterable[Rebalance],
) -> StepResult:
    noticed_ns = None if step.cause is None else _noticed_ns(step, exchanges)
    before, after = log.owners(step.began_ns - 1), log.owners(step.ended_ns)
    return StepResult(
        step=step,
        noticed_ns=noticed_ns,
        settled_ns=log.last_change_ns(step.began_ns, step.ended_ns),
        session_ns=_session_ns(plan, step, exchanges, noticed_ns),
        gaps=[] if step.cause is None else log.gaps(step.began_ns, step.ended_ns),
        moved_count=sum(after[each] != before.get(each) for each in after),
        first_reads=log.first_reads(step.began_ns, step.ended_ns),
        rebalances=[each for each in rebalances if _is_within(each, step)],
    )


def _is_within(rebalance: Rebalance, step: ProbeStep) -> bool:
    """Return whether a rebalance ended in the time of a step."""
    over_ns = rebalance.ended_ns if rebalance.ended_ns is not None else rebalance.started_ns
    return over_ns is not None and step.began_ns <= over_ns <= step.ended_ns


def _noticed_ns(step: ProbeStep, exchanges: Iterable[MemberExchange]) -> int | None:
    """Return when the first member acted, other than the one that did it."""
    for member, exchange in exchanges:
        if member == step.member or not step.began_ns <= exchange.end_ns <= step.ended_ns:
            continue
        if exchange.api_key == api_keys.JOIN_GROUP and exchange.time_ns >= step.began_ns:
            return exchange.time_ns
        if exchange.api_key == api_keys.CONSUMER_GROUP_HEARTBEAT and _tells_news(exchange):
            return exchange.end_ns
    return None


def _tells_news(exchange: Exchange) -> bool:
    """Return whether a member was told a new epoch or other partitions."""
    dissection = Dissection(exchange)
    sent, told = _message(dissection.request), _message(dissection.response)
    if sent is None or told is None or told.error_code:
        return False
    return bool(told.member_epoch != sent.member_epoch or told.assignment is not None)


def _message(side: Any) -> Any | None:
    return side.message if side is not None and side.status is Status.OK else None


def _session_ns(
    plan: RebalancePlan,
    step: ProbeStep,
    exchanges: Iterable[MemberExchange],
    noticed_ns: int | None,
) -> int:
    """Return how long the coordinator waited for a member that was gone already."""
    setting = plan.waits_for(step.cause)
    if setting is None or "session" not in setting:
        return 0
    last_ns = max(
        (
            exchange.time_ns
            for member, exchange in exchanges
            if member == step.member
            and exchange.api_key in _KEEPS_SESSION
            and exchange.time_ns <= step.began_ns
        ),
        default=step.began_ns,
    )
    end_ns = last_ns + plan.times.session_timeout_ns
    if noticed_ns is not None:
        end_ns = min(end_ns, noticed_ns)
    return max(0, end_ns - step.began_ns)
