"""Columns of `exchanges` for those who judge clients and brokers: outcomes, instances, changes.

    Produce                  outcomes         NOT_ENOUGH_REPLICAS for strict[0], none for strict[1]
    JoinGroup                group_instance_id  host-1
    IncrementalAlterConfigs  change           strict: set min.insync.replicas=2
    Metadata                 brokers          1 is at 10.0.0.5:9092

What takes the bodies of exchanges otherwise, which tables may be without.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol

from kdiag.diagnosis.traffic.changes import change_of, instance_of
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Status
from kdiag.exchange.outcomes import MOST_OUTCOMES, outcomes_of
from kdiag.report.tables.column import BROKERS, CHANGE, OUTCOMES, STRING, Column
from kdiag.wire import api_keys
from kdiag.wire.error_code import error_name

_MOST_EQUAL: Final = 4_096
_MOST_PARTITIONS: Final = 100_000

Outcome = tuple[str | None, str | None, int | None]
"""The error of a part of an answer, its topic and its partition; None for each that it lacks."""


class HasDissection(Protocol):
    """Facts of an exchange."""

    @property
    def dissection(self) -> Dissection:
        """Return the exchange."""
        ...

    @property
    def names(self) -> TopicNames:
        """Return the names of topic ids that are known."""
        ...


def outcomes(facts: HasDissection) -> Sequence[Outcome] | None:
    """Return the outcomes of an answer; None if there is none that could be read."""
    found = _outcomes(facts, MOST_OUTCOMES)
    return None if found is None else _equal(tuple(found))


def errors_by_partition(facts: HasDissection) -> dict[tuple[str | None, int | None], str]:
    """Return the errors of an answer by topic, or its id where no name is known, and partition."""
    if not facts.dissection.error_code:
        return {}
    found = _outcomes(facts, _MOST_PARTITIONS) or ()
    return {(topic, index): error for error, topic, index in found if error}


def _outcomes(facts: HasDissection, most: int) -> Iterator[Outcome] | None:
    response = facts.dissection.response
    if response is None or response.status is not Status.OK:
        return None
    name = facts.names.name
    return (
        (error_name(code) if code else None, topic and (name(topic) or topic), index)
        for code, topic, index in outcomes_of(response, most)
    )


@lru_cache(_MOST_EQUAL)
def _equal(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the same object for equal values: as a column it is made once for all of them."""
    return value


def _change(of: HasDissection) -> tuple[list[str], str] | None:
    change = change_of(of.dissection)
    return None if change is None else (sorted(change.subjects), change.text)


def _brokers(of: HasDissection) -> tuple[tuple[int, str, int], ...] | None:
    dissection = of.dissection
    response = dissection.response
    if dissection.exchange.api_key != api_keys.METADATA or response is None:
        return None
    if response.status is not Status.OK:
        return None
    known = response.message.brokers or ()
    found: tuple[tuple[int, str, int], ...] = _equal(
        tuple((each.node_id, each.host, each.port) for each in known)
    )
    return found


COLUMNS: Final[tuple[Column[HasDissection], ...]] = (
    Column(
        "outcomes",
        OUTCOMES,
        "What each part of the answer came to, of a large one the first 200: its error, null for"
        " success, with its topic and partition; null if the answer could not be read.",
        outcomes,
    ),
    Column(
        "group_instance_id",
        STRING,
        "The `group.instance.id` that the member which asks has; null for none.",
        lambda of: instance_of(of.dissection),
    ),
    Column(
        "change",
        CHANGE,
        "What an administrator changed: the topics and the like, and what of them; null for other"
        " requests, and where the broker refused it.",
        _change,
    ),
    Column(
        "brokers",
        BROKERS,
        "What the response to Metadata says of each broker.",
        _brokers,
    ),
)
