"""What is wrong with a group, as its rebalances show."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.rebalance.model import (
    FENCED,
    UNKNOWN,
    CauseKind,
    Confidence,
    GroupHistory,
    GroupMember,
    GroupType,
    Rebalance,
    RebalanceCause,
    Slowest,
)
from kdiag.exchange.documents.document import Clockface
from kdiag.exchange.line.phrase import count as counted
from kdiag.exchange.line.shown_time import time_of_day
from kdiag.findings.finding import Finding, found
from kdiag.findings.rule import Severity, is_at_least

_SEVERITIES: Final = tuple(Severity)
_STORM_COUNT: Final = 10
_STORM_NS: Final = 300 * NS_PER_S
_FEWEST_TO_BLAME: Final = 5
_LONG_WAIT_NS: Final = 3 * NS_PER_S
_RARE_BEATS_NS: Final = _LONG_WAIT_NS + NS_PER_S // 4
"""Heartbeats further apart than by default, 3 s, and what a timer adds to that."""

_STANDSTILL_NS: Final = 3 * NS_PER_S
_FEWEST_FENCINGS: Final = 2
_FEWEST_RESTARTS: Final = 3
_RESTART_NS: Final = 300 * NS_PER_S
_FEWEST_RETURNS: Final = 3
_LATE_NS: Final = 30 * NS_PER_S
_COMES: Final = frozenset({CauseKind.MEMBER_JOINED, CauseKind.MEMBER_RESTARTED})
_RETURNS: Final = _COMES | {CauseKind.MEMBER_REJOINED}
_GOES: Final = frozenset({CauseKind.MEMBER_LEFT, CauseKind.MEMBER_FAILED})
_ERRORS: Final = {"KD3304": FENCED, "KD3305": UNKNOWN}
"""What members are answered in what a rule finds; others have it in their evidence."""

_LOST_COMMITS: Final = frozenset(
    {UNKNOWN, "ILLEGAL_GENERATION", "FENCED_MEMBER_EPOCH", "STALE_MEMBER_EPOCH"}
)
"""What a commit is answered whose member, or generation, is none any more."""

_OUTAGES: Final = frozenset({"KD1101", "KD1407", "KD4402"})
"""Rules for brokers that stopped: their groups get other coordinators."""

_UNNAMED: Final = "a client without id"
_FIXES_OF_JOINS: Final = {
    "INCONSISTENT_GROUP_PROTOCOL": (
        "Give all members of the group an assignor in common (partition.assignment.strategy), or "
        "this application a group id of its own"
    ),
    "INVALID_SESSION_TIMEOUT": (
        "Set session.timeout.ms between group.min.session.timeout.ms and "
        "group.max.session.timeout.ms of the brokers, 6 s and 30 min by default"
    ),
    "GROUP_MAX_SIZE_REACHED": (
        "Raise group.max.size of the brokers, or start fewer members: more than the partitions "
        "have nothing to do"
    ),
}


def find_all(histories: Iterable[GroupHistory]) -> list[Finding]:
    """Return what is wrong with groups, in the order of their names.

    Two clusters may have groups of one name: each finding says then which it is about.
    """
    histories = list(histories)
    found_of: dict[str, list[GroupHistory]] = {}
    for history in histories:
        known = found_of.setdefault(history.group, [])
        if history.cluster not in {each.cluster for each in known}:
            known.append(history)
    findings = [
        _of_cluster(finding, history, len(found_of[history.group]))
        for history in histories
        for finding in find(history)
    ]
    return [*findings, *map(_in_clusters, (each for each in found_of.values() if len(each) > 1))]


def _of_cluster(finding: Finding, history: GroupHistory, count: int) -> Finding:
    """Return a finding that says which cluster its group is of, where it is in several."""
    if count == 1:
        return finding
    name = f"group {history.group}"
    named = (
        f"{name} (in {_in_words(count)} clusters, here {history.cluster}, {history.coordinator})"
    )
    title = finding.title.replace(name, named, 1)
    evidence = finding.evidence | {"cluster": history.cluster}
    return msgspec.structs.replace(finding, title=title, evidence=evidence)


def _in_words(count: int) -> str:
    return "two" if count == 2 else str(count)  # noqa: PLR2004 - two is a word, others are many


def _in_clusters(histories: Sequence[GroupHistory]) -> Finding:
    named = [f"{each.cluster or 'unknown'} ({each.coordinator})" for each in histories]
    return found(
        "KD3315",
        group=histories[0].group,
        count=_in_words(len(named)),
        clusters=" and ".join([", ".join(named[:-1]), named[-1]]),
    )


def joined(others: Iterable[Finding], of_groups: Iterable[Finding]) -> list[Finding]:
    """Return the findings of a capture with those of its groups; of one cause the worse one.

    A refusal is counted by error and group whatever it means (KD45xx). Where a rule for groups says
    what it means, one of the two is enough.
    """
    counted_ones, meant = list(others), list(of_groups)
    if any(each.id in _OUTAGES for each in counted_ones):
        meant = [each for each in meant if each.id != "KD3310"]
    for finding in tuple(meant):
        error = _ERRORS.get(finding.id, finding.evidence.get("error"))
        about = f"group {finding.evidence['group']}"
        for other in tuple(counted_ones):
            if (other.evidence.get("error"), other.evidence.get("about")) != (error, about):
                continue
            if is_at_least(finding.severity, other.severity):
                counted_ones.remove(other)
            elif finding in meant:
                meant.remove(finding)
    return [*counted_ones, *meant]


def find(history: GroupHistory) -> list[Finding]:
    """Return what is wrong with a group, the worst first."""
    findings = [
        *_fenced(history),
        *_storm(history),
        *_culprit(history),
        *_waits(history),
        *_failures(history),
        *_poll_timeouts(history),
        *_refused_commits(history),
        *_refused_joins(history),
        *_restarts(history),
        *_flapping(history),
        *_lost_coordinators(history),
        *_stuck(history),
    ]
    return sorted(findings, key=lambda each: _SEVERITIES.index(each.severity))


def _storm(history: GroupHistory) -> Iterator[Finding]:
    rebalances = [(each.started_ns, each) for each in _without_returns(history.rebalances)]
    known = [(started_ns, each) for started_ns, each in rebalances if started_ns is not None]
    starts = [started_ns for started_ns, _ in known]
    spans = zip(starts, starts[_STORM_COUNT - 1 :], strict=False)
    worst = min(((last - first, first) for first, last in spans), default=None)
    if worst is not None and worst[0] <= _STORM_NS:
        span_ns, first_ns = worst
        within = [each for at_ns, each in known if first_ns <= at_ns <= first_ns + _STORM_NS]
        (cause, _), *_ = Counter(each.cause.cause.value for each in within).most_common()
        yield found(
            "KD3301",
            group=history.group,
            count=_STORM_COUNT,
            span_s=round(span_ns / NS_PER_S, 1),
            cause=cause,
            what=cause.replace("_", " "),
        )


def _without_returns(rebalances: Iterable[Rebalance]) -> Iterator[Rebalance]:
    """Yield rebalances but those in which a member is back that had left for a poll timeout."""
    away: Counter[tuple[str | None, str | None]] = Counter()
    for rebalance in rebalances:
        cause = rebalance.cause
        place = (cause.client_id, cause.client_host)
        if cause.cause is CauseKind.POLL_TIMEOUT:
            away[place] += 1
        elif cause.cause in _RETURNS and away[place]:
            away[place] -= 1
            continue
        yield rebalance


def _culprit(history: GroupHistory) -> Iterator[Finding]:
    total = len(history.rebalances)
    blamed = Counter(
        (each.cause.client_id or _UNNAMED, each.cause.client_host)
        for each in history.rebalances
        if each.cause.member_id is not None and each.cause.client_host is not None
    )
    for (client, host), count in blamed.most_common(1):
        if count >= _FEWEST_TO_BLAME and 2 * count > total and len(history.members) > count:
            yield found(
                "KD3302", group=history.group, client=client, host=host, count=count, total=total
            )


def _waits(history: GroupHistory) -> Iterator[Finding]:
    """Find whom the others waited for: its program, or until it heard of the rebalance."""
    if history.type is not GroupType.CLASSIC:
        return  # in the others nobody waits for all to join
    waits = [
        (each.slowest, each.slowest.program_ns, each.generation)
        for each in history.rebalances
        if each.slowest is not None and each.cause.cause is not CauseKind.COORDINATOR_MOVED
    ]
    known = [(slowest, of, generation) for slowest, of, generation in waits if of is not None]
    if not known:
        return
    slowest, program_ns, generation = max(known, key=lambda each: each[1])
    if program_ns >= _LONG_WAIT_NS:
        yield _wait("KD3303", history, slowest, generation)
        return
    slowest, program_ns, generation = max(known, key=lambda each: each[0].wait_ns - each[1])
    gap_ns = slowest.phases.beat_gap_ns or 0
    if slowest.wait_ns - program_ns >= _LONG_WAIT_NS and gap_ns >= _RARE_BEATS_NS:
        yield _wait("KD3313", history, slowest, generation)


def _wait(rule: str, history: GroupHistory, slowest: Slowest, generation: int) -> Finding:
    program_ns, gap_ns = slowest.program_ns or 0, slowest.phases.beat_gap_ns
    return found(
        rule,
        group=history.group,
        client=slowest.phases.client_id or _UNNAMED,
        host=slowest.phases.client_host,
        wait_s=round(slowest.wait_ns / NS_PER_S, 1),
        told_s=round((slowest.wait_ns - program_ns) / NS_PER_S, 1),
        program=_span_text(program_ns),
        program_ms=round(program_ns / NS_PER_MS, 1),
        beats="unknown" if gap_ns is None else f"{gap_ns / NS_PER_S:.3g} s",
        generation=generation,
    )


def _span_text(time_ns: int) -> str:
    """Return a span of time: `12 ms`, `4.3 s`."""
    if time_ns < NS_PER_S:
        return f"{time_ns / NS_PER_MS:.0f} ms"
    return f"{time_ns / NS_PER_S:.1f} s"


def _fenced(history: GroupHistory) -> Iterator[Finding]:
    """Find instance ids of two processes: one fencing is enough where both were seen."""
    for instance, count in history.refusals.fenced.items():
        owners = [each for each in history.members.values() if each.instance_id == instance]
        fenced = [(each.fenced_ns, each) for each in owners if each.fenced_ns is not None]
        if not fenced:
            continue
        at_ns, first = min(fenced, key=lambda each: each[0])
        others = [each for each in owners if _place(each) != _place(first)]
        others.sort(key=lambda each: (each.first_ns <= at_ns, each.first_ns))
        if not others and count < _FEWEST_FENCINGS:
            continue  # its own rejoin may have fenced what it had sent before
        later = any(each.first_ns > at_ns for each in owners if _place(each) == _place(first))
        end = "" if later or count > 1 else ", and has not joined since"
        other = f" by {_named(others[-1])}" if others else ""
        yield found(
            "KD3304",
            group=history.group,
            instance_id=instance,
            count=count,
            times="" if count == 1 else f"{count} times, first ",
            client=first.client_id or _UNNAMED,
            named=_named(first),
            at=time_of_day(at_ns),
            fenced_time=Clockface().text(at_ns),
            by=f"{other}{end}",
            hosts=", ".join(sorted({each.client_host or "unknown" for each in owners})),
        )


def _place(member: GroupMember) -> tuple[str | None, int | None]:
    return member.client_host, member.port


def _named(member: GroupMember) -> str:
    port = "" if member.port is None else f" (port {member.port})"
    return f"{member.client_id or _UNNAMED} at {member.client_host}{port}"


def _failures(history: GroupHistory) -> Iterator[Finding]:
    """Find members that fell silent until they were removed, and those that lived on."""
    for rebalance in history.rebalances:
        for cause in rebalance.causes:
            member = history.members.get(cause.member_id or "")
            if cause.cause is not CauseKind.MEMBER_FAILED or member is None:
                continue
            timeout_ns = (
                member.session_timeout_ns
            )  # of tables, which are without what was last heard
            since_ns = cause.silent_ns or (timeout_ns and cause.at_ns - timeout_ns) or None
            is_alive = member.back_ns is not None or member.member_id in history.refusals.unknown
            if since_ns is None and not is_alive:
                continue
            away_ns = (member.back_ns or 0) - (since_ns or 0)
            if not timeout_ns and member.back_ns and away_ns < _STANDSTILL_NS:
                continue  # it was removed for another reason
            yield found(
                "KD3305" if is_alive else "KD3314",
                group=history.group,
                client=cause.client_id or _UNNAMED,
                host=cause.client_host,
                port="" if member.port is None else f" (port {member.port})",
                since="an unknown time" if since_ns is None else time_of_day(since_ns),
                back="it was answered that it is no member"
                if member.back_ns is None
                else time_of_day(member.back_ns),
                removed=time_of_day(cause.at_ns),
                removed_time=Clockface().text(cause.at_ns),
                timeout_s=timeout_ns / NS_PER_S if timeout_ns else "unknown",
                setting=f"session.timeout.ms, {timeout_ns / NS_PER_S:g} s now"
                if timeout_ns
                else "consumer.session.timeout.ms of the group",
                generation=rebalance.generation,
            )


def _poll_timeouts(history: GroupHistory) -> Iterator[Finding]:
    causes = [
        cause
        for rebalance in history.rebalances
        for cause in rebalance.causes
        if cause.cause is CauseKind.POLL_TIMEOUT
    ]
    places = Counter(
        (each.client_id or _UNNAMED, each.client_host, each.confidence) for each in causes
    )
    for (client, host, confidence), count in places.items():
        is_said = confidence is Confidence.CERTAIN
        yield found(
            "KD3306",
            group=history.group,
            client=client,
            host=host,
            count=count,
            times="once" if count == 1 else f"{count} times",
            why="as" if is_said else "probably as",
            confidence=confidence,
        )


def _refused_commits(history: GroupHistory) -> Iterator[Finding]:
    """Find commits of members that were none any more; that of a fenced one is reported already."""
    known = history.refusals.commits
    commits = {error: known[error] for error in sorted(known.keys() & _LOST_COMMITS)}
    if commits:
        named = ", ".join(f"{error} {count}" for error, count in commits.items())
        yield found(
            "KD3307",
            group=history.group,
            count=sum(commits.values()),
            commits=counted(sum(commits.values()), "commit"),
            errors=named,
            error=max(commits, key=commits.__getitem__),
        )


def _refused_joins(history: GroupHistory) -> Iterator[Finding]:
    """Find clients that the group does not take, which nothing else tells of them."""
    for (error, asked, client_id, host), times in history.refusals.joins.items():
        yield found(
            "KD3312",
            group=history.group,
            client=client_id or _UNNAMED,
            host=host,
            error=error,
            asked=asked,
            count=times,
            times="once" if times == 1 else f"{times} times",
            fix=_FIXES_OF_JOINS[error],
        )


def _restarts(history: GroupHistory) -> Iterator[Finding]:
    """Find members that went and came back one after another, each the same client and host."""
    causes: Sequence[RebalanceCause] = sorted(
        (cause for rebalance in history.rebalances for cause in rebalance.causes),
        key=lambda cause: cause.at_ns,
    )
    by_place: dict[tuple[str, str], list[RebalanceCause]] = {}
    for cause in causes:
        if cause.client_id and cause.client_host and cause.instance_id is None:
            by_place.setdefault((cause.client_id, cause.client_host), []).append(cause)
    restarted = sum(
        any(
            gone.cause in _GOES and back.cause in _COMES and back.at_ns - gone.at_ns <= _RESTART_NS
            for gone, back in pairwise(each)
        )
        for each in by_place.values()
    )
    if restarted >= _FEWEST_RESTARTS:
        yield found("KD3308", group=history.group, count=restarted, rebalances=2 * restarted)


def _flapping(history: GroupHistory) -> Iterator[Finding]:
    """Find static members that came back again and again, each time under another member id.

    Two processes that fence each other do so, too; that is told already.
    """
    owners = Counter(
        each.instance_id for each in history.members.values() if each.instance_id is not None
    )
    for instance, ids in owners.items():
        returns = ids - 1
        is_fenced = instance in history.refusals.fenced
        if returns >= _FEWEST_RETURNS and not is_fenced:
            yield found("KD3309", group=history.group, instance_id=instance, count=returns)


def _lost_coordinators(history: GroupHistory) -> Iterator[Finding]:
    """Find requests to a broker that does not coordinate a group which has worked before.

    At its first use a group is given a coordinator, which members may ask too early.
    """
    since_ns = history.worked_ns
    if since_ns is None:
        return
    times = {
        error: sum(at_ns > since_ns for at_ns in found_ns)
        for error, found_ns in sorted(history.refusals.coordinator.items())
    }
    total = sum(times.values())
    if total:
        yield found(
            "KD3310",
            group=history.group,
            count=total,
            requests=counted(total, "request"),
            errors=", ".join(f"{error} {count}" for error, count in times.items() if count),
        )


def _stuck(history: GroupHistory) -> Iterator[Finding]:
    """Find members that heard of an epoch only long after it was made, or not at all."""
    if history.type is not GroupType.CONSUMER:
        return
    last = history.rebalances[-1:]
    told = [
        (rebalance, history.members[phases.member_id], phases.joined_ns)
        for rebalance in history.rebalances
        for phases in rebalance.phases.values()
        if phases.member_id in history.members  # tables of some hours may be without it
    ]
    untold = [
        (rebalance, member, member.last_ns)
        for rebalance in last
        for member in history.members.values()
        if member.generations and member.member_id not in rebalance.phases
    ]
    for rebalance, member, told_ns in (*told, *untold):
        started_ns = rebalance.started_ns
        if started_ns is None or told_ns is None or member.first_ns >= started_ns:
            continue
        if told_ns - started_ns >= _LATE_NS:
            yield found(
                "KD3311",
                group=history.group,
                client=member.client_id or _UNNAMED,
                host=member.client_host,
                generation=rebalance.generation,
                wait_s=round((told_ns - started_ns) / NS_PER_S, 1),
            )
