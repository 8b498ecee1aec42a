"""The fault book: the faults that are in force, what they do to a request, and how often they did.

    book = FaultBook(clock)
    fault = book.add(parse_fault("Fetch topic=orders delay=200ms p=0.1"))
    plan = book.plan(call)
    book.listed()[0].fired_count
    book.remove(fault.fault_id)

Any thread may use it: brokers ask, and a control port adds and removes. Without faults a request
costs one look.
"""

from fnmatch import fnmatchcase
from random import Random
from threading import Lock
from typing import Any, Final, NamedTuple

from kdiag.clock import Clock
from kdiag.errors import ConfigError
from kdiag.lab.fault.fault_file import MOST_FAULTS
from kdiag.lab.fault.fault_plan import FaultCall, FaultPlan, PlannedEffect
from kdiag.lab.fault.rule import FaultMatch, FaultRule
from kdiag.lab.fault.situation import Situation, duration_ns

_FULL: Final = f"there are {MOST_FAULTS} already; remove some"


class ListedFault(NamedTuple):
    """A fault that is in force, with its counters.

    Attributes:
        fault_id: its number.
        rule: what it is.
        seen_count: how many requests its filters have let through.
        fired_count: for how many of these it has happened.
        situation_count: how many other requests it has concerned as long as it lasted.
        passed_count: how many had no place for it, such as an error in an answer without one.
    """

    fault_id: int
    rule: FaultRule
    seen_count: int = 0
    fired_count: int = 0
    situation_count: int = 0
    passed_count: int = 0


class _Entry:
    """A fault in the book."""

    def __init__(self, fault_id: int, rule: FaultRule, added_ns: int) -> None:
        self.listed = ListedFault(fault_id, rule)
        self.situation: Situation | None = None
        self._added_ns = added_ns
        self._random = Random(rule.match.seed)  # noqa: S311 - chance that repeats, no secret

    def plan(self, call: FaultCall, now_ns: int) -> PlannedEffect | None:
        """Return what happens to a request by this fault."""
        rule, match = self.listed.rule, self.listed.rule.match
        is_set_off = self._is_in_time(match, now_ns) and covers(match, call) and self._is_chosen()
        if is_set_off:
            lasts_ns = duration_ns(rule.effect)
            if lasts_ns:
                self.situation = Situation(rule, now_ns + lasts_ns, call.subject.groups)
            else:
                jitter_ns = int(self._random.random() * rule.effect.jitter_ns)
                return PlannedEffect(match, rule.effect, jitter_ns)
        if self.situation is None:
            return None
        if self.situation.until_ns <= now_ns:
            self.situation = None
            return None
        planned = self.situation.effect_on(call)
        if planned is not None and not is_set_off:
            count = self.listed.situation_count + 1
            self.listed = self.listed._replace(situation_count=count)
        return planned

    def _is_in_time(self, match: FaultMatch, now_ns: int) -> bool:
        age_ns = now_ns - self._added_ns - match.after_ns
        return age_ns >= 0 and (match.for_ns is None or age_ns < match.for_ns)

    def _is_chosen(self) -> bool:
        """Count a request that is concerned, and return whether it happens to this one."""
        listed, match = self.listed, self.listed.rule.match
        number = listed.seen_count + 1
        self.listed = listed = listed._replace(seen_count=number)
        if match.calls is not None and not match.calls.covers(number):
            return False
        if number % match.every or (match.p < 1 and self._random.random() >= match.p):
            return False
        if match.times is not None and listed.fired_count >= match.times:
            return False
        self.listed = listed._replace(fired_count=listed.fired_count + 1)
        return True


class FaultBook:
    """The faults of a lab or a proxy."""

    def __init__(self, clock: Clock) -> None:
        """Begin without faults."""
        self._clock = clock
        self._lock = Lock()
        self._entries: dict[int, _Entry] = {}
        self._last_id = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<FaultBook of {len(self)} faults>"

    def add(self, rule: FaultRule) -> ListedFault:
        """Put a fault into force.

        Raises:
            ConfigError: if there are too many.
        """
        with self._lock:
            if len(self._entries) >= MOST_FAULTS:
                raise ConfigError("", "faults", _FULL)
            self._last_id += 1
            entry = _Entry(self._last_id, rule, self._clock.monotonic_ns())
            self._entries[self._last_id] = entry
            return entry.listed

    def remove(self, fault_id: int) -> ListedFault | None:
        """End a fault, and return what it was; None if there is none of this number."""
        with self._lock:
            entry = self._entries.pop(fault_id, None)
            return None if entry is None else entry.listed

    def clear(self) -> int:
        """End every fault, and return how many there were."""
        with self._lock:
            count = len(self._entries)
            self._entries.clear()
            return count

    def listed(self) -> list[ListedFault]:
        """Return the faults with their counters, in the order in which they were added."""
        with self._lock:
            return [each.listed for each in self._entries.values()]

    def plan(self, call: FaultCall) -> FaultPlan:
        """Count a request, and return what is to happen to it."""
        now_ns = self._clock.monotonic_ns()
        with self._lock:
            planned = (each.plan(call, now_ns) for each in self._entries.values())
            return FaultPlan(call, tuple(each for each in planned if each is not None))

    def moved_groups(self) -> list[Situation]:
        """Return the moves of coordinators that are under way."""
        now_ns = self._clock.monotonic_ns()
        with self._lock:
            found = [each.situation for each in self._entries.values()]
        return [
            each
            for each in found
            if each is not None
            and each.until_ns > now_ns
            and each.rule.effect.move_coordinator_ns + each.rule.effect.storm_ns
        ]

    def count_passed(self, rule: FaultMatch) -> None:
        """Count that the answer to a request had no place for a fault."""
        with self._lock:
            for entry in self._entries.values():
                if entry.listed.rule.match is rule:
                    count = entry.listed.passed_count + 1
                    entry.listed = entry.listed._replace(passed_count=count)


def fault_document(listed: ListedFault) -> dict[str, Any]:
    """Return a fault with its counters, as programs read it."""
    return {
        "id": listed.fault_id,
        "fault": listed.rule.text,
        "seen": listed.seen_count,
        "fired": listed.fired_count,
        "in_situation": listed.situation_count,
        "passed_over": listed.passed_count,
    }


def covers(match: FaultMatch, call: FaultCall) -> bool:
    """Return whether the filters of a fault let a request through."""
    if match.apis and call.api.name not in match.apis:
        return False
    if match.versions is not None and not match.versions.covers(call.version):
        return False
    if match.node not in {None, call.node}:
        return False
    if match.connection is not None and str(match.connection) != call.connection:
        return False
    if match.client_id is not None and not fnmatchcase(call.client_id or "", match.client_id):
        return False
    return not match.needs_subject or _covers_subject(match, call)


def _covers_subject(match: FaultMatch, call: FaultCall) -> bool:
    groups = call.subject.groups
    if match.group is not None and not any(fnmatchcase(each, match.group) for each in groups):
        return False
    if match.topic is None and match.partition is None:
        return True
    return any(
        match.covers_topic(topic.name)
        and (match.partition is None or match.partition in topic.partitions)
        for topic in call.subject.topics
    )
