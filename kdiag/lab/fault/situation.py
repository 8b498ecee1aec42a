"""Situations: faults that last, and concern other requests than the one that set them off.

    storm             coordinators say NOT_COORDINATOR, and FindCoordinator finds them again
    move_coordinator  a group has no coordinator: NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE
    change_leader     partitions have no leader: NOT_LEADER_OR_FOLLOWER, LEADER_NOT_AVAILABLE
    shrink_isr        the leader alone is in sync: NOT_ENOUGH_REPLICAS to acks=all

What clients can see of these is made, whatever the brokers do meanwhile: that is the same before a
real cluster.

Source: Kafka's `GroupCoordinatorService`, `ReplicaManager`, `KafkaApis`.
"""

from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from kdiag.lab.fault.fault_plan import FaultCall, PlannedEffect
from kdiag.lab.fault.rule import FaultEffect, FaultMatch, FaultRule
from kdiag.wire import api_keys

COORDINATED: Final = frozenset(
    (
        api_keys.OFFSET_COMMIT,
        api_keys.OFFSET_FETCH,
        api_keys.JOIN_GROUP,
        api_keys.HEARTBEAT,
        api_keys.LEAVE_GROUP,
        api_keys.SYNC_GROUP,
        api_keys.DESCRIBE_GROUPS,
        api_keys.CONSUMER_GROUP_HEARTBEAT,
        api_keys.CONSUMER_GROUP_DESCRIBE,
        api_keys.TXN_OFFSET_COMMIT,
    )
)
"""The APIs of coordinators of groups."""
TRANSACTIONAL: Final = frozenset(
    (
        api_keys.ADD_PARTITIONS_TO_TXN,
        api_keys.ADD_OFFSETS_TO_TXN,
        api_keys.END_TXN,
    )
)
"""The APIs of coordinators of transactions."""
JOINING: Final = frozenset((api_keys.JOIN_GROUP, api_keys.SYNC_GROUP))
"""The APIs whose answers wait for other members."""

_LED: Final = frozenset(
    (
        api_keys.PRODUCE,
        api_keys.FETCH,
        api_keys.LIST_OFFSETS,
        api_keys.OFFSET_FOR_LEADER_EPOCH,
        api_keys.DELETE_RECORDS,
    )
)
_ACKS_ALL: Final = -1
_NOT_COORDINATOR: Final = FaultEffect(error="NOT_COORDINATOR")
_NO_COORDINATOR: Final = FaultEffect(error="COORDINATOR_NOT_AVAILABLE")
_NOT_LEADER: Final = FaultEffect(error="NOT_LEADER_OR_FOLLOWER")
_NO_LEADER: Final = FaultEffect(error="LEADER_NOT_AVAILABLE", field="topics.partitions.errorCode")
_TOO_FEW: Final = FaultEffect(error="NOT_ENOUGH_REPLICAS")


class Situation(NamedTuple):
    """A fault that lasts.

    Attributes:
        rule: its fault.
        until_ns: its end.
        groups: that it concerns: those of the request that set it off, where the rule names none.
    """

    rule: FaultRule
    until_ns: int
    groups: tuple[str, ...] = ()

    def effect_on(self, call: FaultCall) -> PlannedEffect | None:
        """Return what a request gets meanwhile; None if it is not concerned."""
        match, effect = self.rule.match, self.rule.effect
        if match.node not in {None, call.node}:
            return None
        if match.client_id is not None and not fnmatchcase(call.client_id or "", match.client_id):
            return None
        found = (
            (effect.storm_ns and _storm(call))
            or (effect.move_coordinator_ns and self._moved(call))
            or (effect.change_leader_ns and _leaderless(call))
            or (effect.shrink_isr_ns and _shrunk(call, effect))
        )
        if not found:
            return None
        topics = FaultMatch(topic=match.topic, partition=match.partition)
        return PlannedEffect(topics, found)

    def _moved(self, call: FaultCall) -> FaultEffect | None:
        if not any(self._concerns(group) for group in call.subject.groups):
            return None
        if call.api.key == api_keys.FIND_COORDINATOR:
            return _NO_COORDINATOR
        return _NOT_COORDINATOR if call.api.key in COORDINATED else None

    def _concerns(self, group: str) -> bool:
        pattern = self.rule.match.group
        return group in self.groups if pattern is None else fnmatchcase(group, pattern)


def duration_ns(effect: FaultEffect) -> int:
    """Return how long a fault lasts after it was set off; 0 if it is over with its request."""
    return max(
        effect.storm_ns,
        effect.move_coordinator_ns,
        effect.change_leader_ns,
        effect.shrink_isr_ns,
    )


def _storm(call: FaultCall) -> FaultEffect | None:
    return _NOT_COORDINATOR if call.api.key in COORDINATED | TRANSACTIONAL else None


def _leaderless(call: FaultCall) -> FaultEffect | None:
    if call.api.key == api_keys.METADATA:
        return _NO_LEADER
    return _NOT_LEADER if call.api.key in _LED else None


def _shrunk(call: FaultCall, effect: FaultEffect) -> FaultEffect | None:
    if call.api.key in {api_keys.METADATA, api_keys.DESCRIBE_TOPIC_PARTITIONS}:
        return effect
    is_refused = call.api.key == api_keys.PRODUCE and call.request is not None
    return _TOO_FEW if is_refused and call.request.acks == _ACKS_ALL else None
