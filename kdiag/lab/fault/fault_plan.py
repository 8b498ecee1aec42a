"""Fault plans: everything that is to go wrong with one request and its answer.

A plan is made when a request arrives. Several faults may concern it: delays add up, and of what can
happen only once, the fault that was added first decides.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kdiag.lab.fault.request_subject import RequestSubject
from kdiag.lab.fault.rule import FaultEffect, FaultMatch
from kdiag.wire import api_keys
from kdiag.wire.catalog import Api

ON_DISK: Final = frozenset(
    (
        api_keys.PRODUCE,
        api_keys.FETCH,
        api_keys.OFFSET_COMMIT,
        api_keys.TXN_OFFSET_COMMIT,
        api_keys.LIST_OFFSETS,
        api_keys.DELETE_RECORDS,
        api_keys.END_TXN,
    )
)
"""The APIs that wait for a disk."""


class FaultCall(NamedTuple):
    """A request, as faults see it.

    Attributes:
        api: the API.
        version: of the request.
        client_id: the client's name.
        node: the broker that is asked.
        connection: its id, unique at this broker; brokers number them from 1.
        request: what it asks; None if it cannot be read.
        subject: what it is about.
    """

    api: Api
    version: int
    client_id: str | None
    node: int
    connection: str
    request: Any
    subject: RequestSubject


class PlannedEffect(NamedTuple):
    """An effect, and for which topics, partitions and groups of the request it is.

    Attributes:
        match: of its fault.
        effect: what happens.
        jitter_ns: drawn for this request.
    """

    match: FaultMatch
    effect: FaultEffect
    jitter_ns: int = 0


class FaultPlan(NamedTuple):
    """What is to go wrong; nothing if it is empty.

    Attributes:
        call: the request.
        planned: the effects, in the order of their faults.
    """

    call: FaultCall
    planned: tuple[PlannedEffect, ...] = ()

    @property
    def effects(self) -> Iterator[FaultEffect]:
        """Return the effects."""
        return (each.effect for each in self.planned)

    @property
    def handling_delay_ns(self) -> int:
        """Return how much later the request is handled."""
        if self.call.api.key not in ON_DISK:
            return 0
        return sum(each.slow_disk_ns for each in self.effects)

    @property
    def answer_delay_ns(self) -> int:
        """Return how much later the answer leaves."""
        return sum(each.effect.delay_ns + each.jitter_ns for each in self.planned)

    @property
    def throttle_ns(self) -> int:
        """Return how long the connection is not read after the answer."""
        return max((each.throttle_ns for each in self.effects), default=0)

    @property
    def is_half_open(self) -> bool:
        """Return whether the connection is dead from now on, and open."""
        return any(each.is_half_open for each in self.effects)

    @property
    def is_refused_version(self) -> bool:
        """Return whether the API is not spoken in this version."""
        return any(
            name == self.call.api.name and not versions.covers(self.call.version)
            for each in self.effects
            for name, versions in each.api_versions
        )

    def first(self, attribute: str) -> Any:
        """Return the first value of an effect that is not None; None if there is none."""
        values = (getattr(each, attribute) for each in self.effects)
        return next((each for each in values if each is not None), None)

    def most(self, attribute: str) -> int:
        """Return the largest number of an effect; 0 without any."""
        return max((getattr(each, attribute) for each in self.effects), default=0)
