"""Edits of answers: what a fault changes in a response before it is written.

    edit_answer(plan, response) -> the effects that had no place in it

An error goes into the fields of the partitions that the fault concerns, or where the API tells its
errors otherwise: `DEFAULT_FIELDS`. A partition with an error has no records and no leader.

Source: the message schemas in Kafka's jars; `KafkaApis` for what stands beside an error.
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final

from kdiag.clock import NS_PER_MS
from kdiag.lab.fault.answers.part_edit import edit_parts
from kdiag.lab.fault.answers.told_addresses import told_addresses
from kdiag.lab.fault.fault_plan import FaultPlan, PlannedEffect
from kdiag.lab.fault.request_subject import SubjectTopic, partition_of, topic_key
from kdiag.lab.fault.rule import FaultEffect, FaultMatch
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersion
from kdiag.wire.api.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.schema import Field, Struct, fields_of

DEFAULT_FIELDS: Final = {
    api_keys.METADATA: ("topics.errorCode",),
    api_keys.OFFSET_FETCH: ("groups.errorCode", "errorCode"),
    api_keys.LEAVE_GROUP: ("errorCode",),
}
"""Where an error goes by default, if not into the deepest fields: the first that a version has."""

_TIMES: Final = frozenset(
    ("log_append_time_ms", "timestamp", "last_timestamp", "transaction_start_time_ms")
)
"""The fields with times of brokers' clocks, or of records."""
_BESIDE_AN_ERROR: Final = {
    "base_offset": -1,
    "high_watermark": -1,
    "last_stable_offset": -1,
    "log_start_offset": -1,
    "leader_id": -1,
    "records": b"",
}
_KEYS_OF_GROUPS: Final = ("group_id", "key")
_UNKNOWN_TIME: Final = -1
_INT32_MAX: Final = (1 << 31) - 1
_FIRST_WITH_TOPIC_IDS: Final = 13
"""The version of Fetch that has them in place of names."""
_KEY_BY_NAME: Final = {api.name: key for key, api in API_BY_KEY.items()}


def edit_answer(plan: FaultPlan, response: Struct) -> list[FaultMatch]:
    """Change an answer as its plan says; return the faults whose error had no place in it."""
    passed = []
    for planned in plan.planned:
        effect = planned.effect
        if effect.error is not None and not set_error(plan, planned, response):
            passed.append(planned.match)
        if effect.throttle_ns:
            _set_if_there(
                response, "throttle_time_ms", min(effect.throttle_ns // NS_PER_MS, _INT32_MAX)
            )
        if effect.advertise is not None:
            host, _, port = effect.advertise.rpartition(":")
            for told in told_addresses(response):
                told.change(host.strip("[]"), int(port))
        names = {(each.name or "", each.topic_id): each.name for each in plan.call.subject.topics}
        by_key = names | {("", key[1]): name for key, name in names.items()}
        if not edit_parts(effect, planned.match, by_key, response):
            passed.append(planned.match)
        _edit_rest(plan, planned, response)
    return passed


def set_error(plan: FaultPlan, planned: PlannedEffect, response: Struct) -> int:
    """Put the error of an effect into an answer, and return into how many fields."""
    effect, call = planned.effect, plan.call
    assert effect.error is not None
    if isinstance(response, FetchResponse) and effect.field is None:
        _add_fetched(plan, planned.match, response)
    paths = error_paths(type(response), call.version)
    path = effect.field or _default_path(call.api.key, paths)
    if path not in paths:
        return 0
    names = {(each.name or "", each.topic_id): each.name for each in call.subject.topics}
    setter = _ErrorSetter(planned.match, CODE_BY_NAME[effect.error], names)
    return setter.set_in(response, path.split("."))


@cache
def error_paths(cls: type[Struct], version: int) -> tuple[str, ...]:
    """Return the fields of a message that hold an error code in a version, in Kafka's names."""
    found: list[str] = []
    for field in fields_of(cls):
        if not field.is_in(version):
            continue
        if isinstance(field.kind, type):
            inner = error_paths(field.kind, version)
            found += (f"{field.json_name}.{each}" for each in inner)
        elif field.name.endswith("error_code"):
            found.append(field.json_name)
    return tuple(found)


def _default_path(key: int, paths: tuple[str, ...]) -> str:
    preferred = (each for each in DEFAULT_FIELDS.get(key, ()) if each in paths)
    deepest = max(paths, key=lambda path: path.count("."), default="")
    return next(preferred, deepest)


class _ErrorSetter:
    """Sets an error code wherever a path leads and a fault is concerned."""

    def __init__(
        self, match: FaultMatch, code: int, names: dict[tuple[str, bytes], str | None]
    ) -> None:
        self._match = match
        self._code = code
        self._names = names

    def set_in(self, struct: Struct, path: list[str]) -> int:
        """Set it in a struct or below, and return how often."""
        if not self._concerns(struct):
            return 0
        field = _field(type(struct), path[0])
        if len(path) > 1:
            value = getattr(struct, field.name)
            below = value if field.is_array else [value]
            return sum(self.set_in(each, path[1:]) for each in below or ())
        setattr(struct, field.name, self._code)
        for name, value in _BESIDE_AN_ERROR.items():
            _set_if_there(struct, name, value)
        return 1

    def _concerns(self, struct: Any) -> bool:
        match = self._match
        if match.group is not None:
            group = _group_of(struct)
            if group is not None and not fnmatchcase(group, match.group):
                return False
        key = topic_key(struct)
        if key is not None:
            return match.covers_topic(key[0] or self._name_of(key[1]))
        if match.partition is None:
            return True
        partition = partition_of(struct)
        return partition is None or match.covers_partition(partition)

    def _name_of(self, topic_id: bytes) -> str | None:
        found = (name for (_, each), name in self._names.items() if each == topic_id)
        return next(found, None)


def covered_partitions(match: FaultMatch, topic: SubjectTopic) -> list[int]:
    """Return the partitions of a topic of the request that a fault concerns."""
    if not match.covers_topic(topic.name):
        return []
    return [each for each in topic.partitions if match.covers_partition(each)]


def _add_fetched(plan: FaultPlan, match: FaultMatch, response: FetchResponse) -> None:
    """Add the partitions that a fault concerns, and that the answer of a session leaves out."""
    if plan.call.request is None or plan.call.request.session_epoch <= 0:
        return
    there = {
        (each.topic, bytes(each.topic_id), part.partition_index)
        for each in response.responses
        for part in each.partitions
    }
    by_name = plan.call.version < _FIRST_WITH_TOPIC_IDS
    for topic in plan.call.subject.topics:
        key = (topic.name or "", bytes(16)) if by_name else ("", topic.topic_id)
        missing = [each for each in covered_partitions(match, topic) if (*key, each) not in there]
        if missing:
            parts = [PartitionData(partition_index=each) for each in missing]
            added = FetchableTopicResponse(topic=key[0], topic_id=key[1], partitions=parts)
            response.responses = [*response.responses, added]


def _edit_rest(plan: FaultPlan, planned: PlannedEffect, response: Any) -> None:
    effect = planned.effect
    if effect.shrink_isr_ns:
        _shrink_isr(planned.match, response)
    if effect.clock_skew_ns:
        _skew(response, effect.clock_skew_ns // NS_PER_MS)
    if effect.api_versions and plan.call.api.key == api_keys.API_VERSIONS:
        response.api_keys = list(_told_versions(response.api_keys, effect))


def _told_versions(told: list[ApiVersion], effect: FaultEffect) -> Iterator[ApiVersion]:
    overrides = {_KEY_BY_NAME[name]: versions for name, versions in effect.api_versions}
    for each in told:
        versions = overrides.get(each.api_key)
        if versions is None:
            yield each
        elif versions.low <= versions.high:
            high = min(versions.high, API_BY_KEY[each.api_key].versions.high)
            yield ApiVersion(api_key=each.api_key, min_version=versions.low, max_version=high)


def _shrink_isr(match: FaultMatch, response: Any) -> None:
    """Have Metadata and DescribeTopicPartitions show the leader alone in sync."""
    for topic in getattr(response, "topics", None) or ():
        if not match.covers_topic(topic.name):
            continue
        for partition in topic.partitions:
            if match.covers_partition(partition.partition_index) and partition.leader_id >= 0:
                partition.isr_nodes = [partition.leader_id]


def _skew(struct: Struct, by_ms: int) -> None:
    for field in fields_of(type(struct)):
        value = getattr(struct, field.name)
        if isinstance(field.kind, type):
            for each in (value or ()) if field.is_array else filter(None, [value]):
                _skew(each, by_ms)
        elif field.name in _TIMES and value != _UNKNOWN_TIME:
            setattr(struct, field.name, max(0, value + by_ms))


def _group_of(struct: Any) -> str | None:
    return next(
        (getattr(struct, name) for name in _KEYS_OF_GROUPS if getattr(struct, name, None)), None
    )


def _set_if_there(struct: Any, name: str, value: object) -> None:
    if hasattr(struct, name):
        setattr(struct, name, value)


@cache
def _field(cls: type[Struct], json_name: str) -> Field:
    return next(each for each in fields_of(cls) if each.json_name == json_name)
