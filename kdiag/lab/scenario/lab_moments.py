"""Waits for events of a lab: requests that have come, groups and replicas that are as wanted.

    watch = LabWatch(clock, deadline_ns)
    ... LabSettings(on_request=watch.on_request) ...
    watch.await_moment(moment, lab, clients)

The lab is looked at many times a second, so that nothing depends on how fast a machine is.
"""

from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatchcase
from threading import Event, Lock
from typing import Final, Protocol

from kdiag.clock import Clock
from kdiag.errors import RequestTimeoutError
from kdiag.lab.broker.lab_status import status_of
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.lab.scenario.scenario import GroupMoment, InSyncMoment, LabMoment, RequestMoment
from kdiag.wire.catalog import Api
from kdiag.wire.header import RequestHeader

_EVERY_S: Final = 0.01


class RunningClient(Protocol):
    """A client of a scenario that has begun."""

    name: str
    is_lasting: bool

    @property
    def is_over(self) -> bool:
        """Return whether it has ended."""
        ...

    @property
    def failure(self) -> str | None:
        """Return why it ended before its work was done; None if it did not."""
        ...

    def start(self) -> None:
        """Have it begin."""
        ...

    def stop(self) -> None:
        """Have it end, and wait for that."""
        ...


class LabWatch:
    """Counts requests, and waits for moments."""

    def __init__(self, clock: Clock, deadline_ns: int) -> None:
        """Begin without requests.

        Args:
            clock: all times are its own.
            deadline_ns: when every wait ends, on the monotonic clock.
        """
        self._clock = clock
        self._deadline_ns = deadline_ns
        self._lock = Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._before: Counter[tuple[str, str]] = Counter()
        self._never = Event()

    def on_request(self, _client: str, api: Api, header: RequestHeader) -> None:
        """Count a request; brokers call it."""
        with self._lock:
            self._counts[api.name, header.client_id or ""] += 1

    def mark(self) -> None:
        """Count requests from here on."""
        with self._lock:
            self._before = self._counts.copy()

    def await_moment(
        self, moment: LabMoment, lab: KafkaLab, clients: Mapping[str, RunningClient]
    ) -> None:
        """Wait until all has happened that a moment names.

        Raises:
            RequestTimeoutError: if it has not by the deadline; says what has not.
        """
        while True:
            missing = self._missing(moment, lab, clients)
            if missing is None:
                return
            if self._clock.monotonic_ns() >= self._deadline_ns:
                raise RequestTimeoutError(f"waited in vain for {missing}")
            self._never.wait(_EVERY_S)

    def await_ends(self, clients: Mapping[str, RunningClient]) -> None:
        """Wait until all clients have ended that do so by themselves.

        Raises:
            RequestTimeoutError: if they have not by the deadline.
        """
        while True:
            left = [name for name, each in clients.items() if not (each.is_lasting or each.is_over)]
            if not left:
                return
            if self._clock.monotonic_ns() >= self._deadline_ns:
                raise RequestTimeoutError(f"waited in vain for the end of {', '.join(left)}")
            self._never.wait(_EVERY_S)

    def _missing(
        self, moment: LabMoment, lab: KafkaLab, clients: Mapping[str, RunningClient]
    ) -> str | None:
        """Return what has not happened yet; None if all has."""
        parts = (
            moment.group and _group_missing(moment.group, lab),
            moment.requests and self._requests_missing(moment.requests),
            moment.in_sync and _in_sync_missing(moment.in_sync, lab),
            _fired_missing(moment.fired, lab),
            *(
                f"the end of {name}"
                for name in moment.ended
                if name not in clients or not clients[name].is_over
            ),
        )
        return next((each for each in parts if each), None)

    def _requests_missing(self, wanted: RequestMoment) -> str | None:
        with self._lock:
            count = sum(
                number - self._before[key]
                for key, number in self._counts.items()
                if key[0] == wanted.api and fnmatchcase(key[1], wanted.client or "*")
            )
        if count >= wanted.count:
            return None
        whose = f" of {wanted.client}" if wanted.client else ""
        return f"{wanted.count} requests {wanted.api}{whose}; there were {count}"


def _group_missing(wanted: GroupMoment, lab: KafkaLab) -> str | None:
    found = next(
        (each for each in status_of(lab.cluster).groups if each.group == wanted.name), None
    )
    state = "Dead" if found is None else found.state
    members = 0 if found is None else found.members
    if state == wanted.state and wanted.members in {None, members}:
        return None
    count = "" if wanted.members is None else f" with {wanted.members} members"
    return f"group {wanted.name} to be {wanted.state}{count}; it is {state} with {members}"


def _in_sync_missing(wanted: InSyncMoment, lab: KafkaLab) -> str | None:
    topic = lab.cluster.controller.image.topics.get(wanted.topic)
    counts = [] if topic is None else [len(each.isr) for each in topic.partitions]
    if counts and all(each == wanted.replicas for each in counts):
        return None
    return f"{wanted.replicas} replicas in sync of {wanted.topic}; there are {counts}"


def _fired_missing(wanted: int, lab: KafkaLab) -> str | None:
    fired = sum(each.fired_count for each in lab.faults.listed())
    return None if fired >= wanted else f"faults to happen {wanted} times; they have {fired} times"
