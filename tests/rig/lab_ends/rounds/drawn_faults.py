"""Faults by chance, of every kind that a lab has, in the grammar of `kdiag lab --fault`.

    draw_fault(Random("7-12"), CLIENTS)     "Fetch client_id=fuzz-* p=0.4 times=3 drop=answer"

Each is meant for the clients of a round alone: whoever judges it is spared. Some errors make sense
where they come, others do not: a client has to survive both.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from kdiag.lab.fault.grammar import error_fields
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.error_code import CODE_BY_NAME

APIS: Final = (
    "Produce",
    "InitProducerId",
    "Fetch",
    "ListOffsets",
    "OffsetForLeaderEpoch",
    "Metadata",
    "ApiVersions",
    "FindCoordinator",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "ConsumerGroupHeartbeat",
    "OffsetFetch",
    "OffsetCommit",
    "LeaveGroup",
)
"""What clients of a round ask."""

LIKELY: Final = (
    "NOT_LEADER_OR_FOLLOWER",
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "REQUEST_TIMED_OUT",
    "NOT_COORDINATOR",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "REBALANCE_IN_PROGRESS",
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "MEMBER_ID_REQUIRED",
    "FENCED_MEMBER_EPOCH",
    "STALE_MEMBER_EPOCH",
    "UNRELEASED_INSTANCE_ID",
    "FENCED_INSTANCE_ID",
    "OFFSET_OUT_OF_RANGE",
    "UNKNOWN_TOPIC_OR_PARTITION",
    "UNKNOWN_TOPIC_ID",
    "LEADER_NOT_AVAILABLE",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "OFFSET_NOT_AVAILABLE",
    "FETCH_SESSION_ID_NOT_FOUND",
    "INVALID_FETCH_SESSION_EPOCH",
    "KAFKA_STORAGE_ERROR",
    "TOPIC_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "UNSTABLE_OFFSET_COMMIT",
    "UNSUPPORTED_VERSION",
    "UNKNOWN_SERVER_ERROR",
)
"""Errors that brokers give to such requests, each to some."""

_NO_ERRORS: Final = frozenset({each.name for each in API_BY_KEY.values() if not error_fields(each)})
_ERROR_SHARE: Final = 0.35
"""Errors are many: every API has its own."""
_DAMAGED: Final = (0, 3, 4, 6, 8, 12, 20, 40, 70, -1, -2, -9)
_WITHOUT_IDS: Final = "Metadata:1-4"
_WITH_IDS: Final = "Metadata:10-11"
_VERSIONS: Final = ("Fetch:4-11", "Produce:3-8", "Produce:none", "JoinGroup:2-4", _WITHOUT_IDS)


def _error(chance: Random) -> str:
    name = chance.choice(LIKELY if chance.random() < 0.8 else [*CODE_BY_NAME])
    if name == "NONE":
        name = "UNKNOWN_SERVER_ERROR"
    return f"error={name}{chance.choice(('', '', ' handled'))}"


def _delay(chance: Random) -> str:
    return f"delay={_duration(chance)} jitter={_duration(chance)}"


def _duration(chance: Random) -> str:
    return f"{chance.choice((20, 200, 700, 1_500, 4_000))}ms"


EFFECTS: Final[Mapping[str, Callable[[Random], str]]] = {
    "error": _error,
    "delay": _delay,
    "drop": lambda chance: f"drop={chance.choice(('request', 'answer'))}",
    "close": lambda chance: f"close={chance.choice(('before', 'middle', 'after'))}",
    "truncate": lambda chance: f"truncate={chance.randrange(120)}",
    "corrupt": lambda chance: f"corrupt={chance.choice(_DAMAGED)}",
    "stall": lambda chance: f"stall={chance.randrange(120)}",
    "bandwidth": lambda chance: f"bandwidth={chance.choice((1, 20, 500))}kB/s",
    "throttle": lambda chance: f"throttle={_duration(chance)}",
    "split": lambda chance: f"split={chance.choice((1, 3, 40))}",
    "coalesce": lambda chance: f"coalesce={chance.choice((2, 3))}",
    "reorder": lambda chance: f"reorder={chance.choice((2, 3))}",
    "half_open": lambda _: "half_open",
    "advertise": lambda chance: f"advertise={chance.choice(('127.0.0.1:9', '127.0.0.2:9'))}",
    "storm": lambda chance: f"storm={_duration(chance)}",
    "move_coordinator": lambda chance: f"move_coordinator={_duration(chance)}",
    "change_leader": lambda chance: f"change_leader={_duration(chance)}",
    "shrink_isr": lambda chance: f"shrink_isr={_duration(chance)}",
    "slow_disk": lambda chance: f"slow_disk={_duration(chance)}",
    "clock_skew": lambda chance: f"clock_skew={chance.choice(('-1h', '2m'))}",
    "api_versions": lambda chance: f"api_versions={chance.choice(_VERSIONS)}",
}
"""Writes an effect, with values by chance."""

DAMAGING: Final = "corrupt"
"""The effect after which a client may believe what no broker said."""


def draw_fault(chance: Random, client_id: str, *, has_topic_ids: bool) -> str:
    """Return a fault.

    Args:
        chance: draws everything.
        client_id: a pattern: whom it concerns.
        has_topic_ids: whether clients need the ids of topics, which old versions do not tell.
    """
    name = "error" if chance.random() < _ERROR_SHARE else chance.choice([*EFFECTS])
    words = [_apis(chance, name), f"client_id={client_id}", *_limits(chance)]
    text = " ".join([*words, EFFECTS[name](chance)])
    return text.replace(_WITHOUT_IDS, _WITH_IDS) if has_topic_ids else text


def _apis(chance: Random, effect: str) -> str:
    """Return the APIs that a fault is for."""
    known = [each for each in APIS if effect != "error" or each not in _NO_ERRORS]
    if effect != "error" and chance.random() < 0.3:
        return "any"
    if effect == "api_versions":
        return "any"
    return ",".join(sorted(chance.sample(known, chance.choice((1, 1, 2, 3)))))


def _limits(chance: Random) -> list[str]:
    """Return how often a fault happens, and how long."""
    words = [f"seed={chance.randrange(1000)}"]
    if chance.random() < 0.7:
        words.append(f"p={chance.choice((0.1, 0.3, 0.6))}")
    if chance.random() < 0.5:
        words.append(f"times={chance.choice((1, 2, 5))}")
    if chance.random() < 0.3:
        words.append(f"after={chance.choice((20, 200, 700))}ms")
    if chance.random() < 0.3:
        words.append(f"node={chance.choice((1, 2, 3))}")
    if chance.random() < 0.1:
        words.append("partition=0")
    if chance.random() < 0.2:
        words.append(f"every={chance.choice((2, 3))}")
    return words
