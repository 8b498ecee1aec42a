"""Refused answers: what a broker would say that does not handle a request.

    refused_answer(plan) -> the answer, with the error of the first fault that has one; or None

A broker that is not the leader does not append, so a request that is refused is not handled. That
needs an answer of our own, with every topic and partition that the request names. Where it cannot
be made, or a fault concerns only some of them, the request is handled and its answer edited.

Source: Kafka's `getErrorResponse` of each request.
"""

from typing import Any, Final

from kdiag.lab.fault.answers.answer_edit import covered_partitions, set_error
from kdiag.lab.fault.fault_plan import FaultCall, FaultPlan, PlannedEffect
from kdiag.lab.fault.request_subject import PARTITION_FIELDS, SubjectTopic
from kdiag.wire import api_keys
from kdiag.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kdiag.wire.schema import Entity, Field, Kind, Struct, fields_of

ALWAYS_HANDLED: Final = frozenset(
    (api_keys.METADATA, api_keys.API_VERSIONS, api_keys.DESCRIBE_CLUSTER)
)
"""The APIs whose answers say more than errors, and that change nothing."""

_REPEATED: Final = ("member_id",)
"""The fields that an answer repeats from its request, whatever went wrong."""
_NOWHERE: Final = -1


def refused_answer(plan: FaultPlan) -> Struct | None:
    """Return the answer to a request that is refused as a whole; None if it is to be handled."""
    call = plan.call
    planned = next((each for each in plan.planned if each.effect.error is not None), None)
    if planned is None or planned.effect.is_handled or call.api.key in ALWAYS_HANDLED:
        return None
    if call.request is None or not _concerns_all(planned, call):
        return None
    answer = _answer(call)
    if answer is None or not set_error(plan, planned, answer):
        return None
    return answer


def _concerns_all(planned: PlannedEffect, call: FaultCall) -> bool:
    """Return whether a fault concerns everything that a request is about."""
    match = planned.match
    if match.topic is None and match.partition is None:
        return True
    return all(
        len(covered_partitions(match, topic)) == len(topic.partitions)
        and match.covers_topic(topic.name)
        for topic in call.subject.topics
    )


def _answer(call: FaultCall) -> Struct | None:
    """Return an answer that names what the request names; None if that cannot be made."""
    answer = call.api.response_class()()
    if isinstance(answer, FindCoordinatorResponse):
        answer.coordinators = [
            Coordinator(key=each, node_id=_NOWHERE, port=_NOWHERE)
            for each in call.request.coordinator_keys
        ]
        return answer
    for name in _REPEATED:
        if hasattr(answer, name) and hasattr(call.request, name):
            setattr(answer, name, getattr(call.request, name))
    if not call.subject.topics:
        return answer if _is_whole(call, answer) else None
    lists = (each for each in fields_of(type(answer)) if each.is_array and each.is_in(call.version))
    field = next((each for each in lists if _is_about_topics(each)), None)
    if field is None:
        return None
    topics = [_topic(field.kind, each) for each in call.subject.topics]
    setattr(answer, field.name, topics)
    return answer


def _is_whole(call: FaultCall, answer: Struct) -> bool:
    """Return whether an answer without elements tells an error, as of an API without lists."""
    return any(
        each.name.endswith("error_code") and each.is_in(call.version)
        for each in fields_of(type(answer))
    )


def _is_about_topics(field: Field) -> bool:
    if not isinstance(field.kind, type):
        return False
    return any(each.entity is Entity.TOPIC_NAME for each in fields_of(field.kind))


def _topic(cls: Any, topic: SubjectTopic) -> Struct:
    """Return the part of an answer that is about a topic."""
    made: Struct = cls()
    for field in fields_of(cls):
        if field.entity is Entity.TOPIC_NAME and not field.is_array:
            setattr(made, field.name, topic.name or "")
        elif field.name == "topic_id" and field.kind is Kind.UUID:
            setattr(made, field.name, topic.topic_id)
        elif field.is_array and isinstance(field.kind, type):
            number = _number_field(field.kind)
            if number is not None:
                parts = [_partition(field.kind, number, each) for each in topic.partitions]
                setattr(made, field.name, parts)
    return made


def _partition(cls: type[Struct], field: str, number: int) -> Struct:
    made = cls()
    setattr(made, field, number)
    return made


def _number_field(cls: type[Struct]) -> str | None:
    names = (each.name for each in fields_of(cls) if each.name in PARTITION_FIELDS)
    return next(names, None)
