"""What clients do about the error codes in answers: one table for all APIs of readers and members.

    reaction_to("Fetch", "NOT_LEADER_OR_FOLLOWER")   MOVED   ask who leads, and then that one
    reaction_to("Fetch", "CORRUPT_MESSAGE")          AGAIN   the same request again, after a while
    reaction_to("Fetch", "UNSUPPORTED_VERSION")      OVER    for good: trying again does not help

An error is reported by its name whatever follows it: at once, unless it is the usual way to learn
of a move; a move that leads nowhere is reported after `LASTING_NS`. So no error is silent because
it is in no list: the last row of each API holds all others. Members of a group are stricter: of an
answer that no coordinator should give them, nothing good follows, and it is called unexpected.

Source: Kafka's `Errors` (which are retriable), `FetchCollector.handleInitializeErrors`,
`OffsetFetcherUtils.onSuccessfulResponseForResettingPositions`, `AbstractCoordinator`.
"""

from enum import Enum, auto
from typing import Final

from kdiag.clock import NS_PER_S
from kdiag.wire.error_code import CODE_BY_NAME, ERROR_BY_CODE

LASTING_NS: Final = 2 * NS_PER_S
"""How long an error that says where to ask may last before it is reported."""


class Reaction(Enum):
    """What follows an error."""

    MOVED = auto()
    """Metadata, or the coordinator, is asked for: another broker may have it."""
    AGAIN = auto()
    """The same request is sent again."""
    OVER = auto()
    """Nothing will change by itself."""


_LEADER_MOVED: Final = frozenset(
    {
        "FENCED_LEADER_EPOCH",
        "INCONSISTENT_TOPIC_ID",
        "KAFKA_STORAGE_ERROR",
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_OR_FOLLOWER",
        "OFFSET_NOT_AVAILABLE",
        "REPLICA_NOT_AVAILABLE",
        "UNKNOWN_LEADER_EPOCH",
        "UNKNOWN_TOPIC_ID",
        "UNKNOWN_TOPIC_OR_PARTITION",
    }
)
_COORDINATOR_MOVED: Final = frozenset({"COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"})
_MOVED: Final = {
    "Metadata": _LEADER_MOVED | {"LISTENER_NOT_FOUND"},
    "Fetch": _LEADER_MOVED | {"OFFSET_OUT_OF_RANGE"},
    "ListOffsets": _LEADER_MOVED,
    "OffsetForLeaderEpoch": _LEADER_MOVED,
    "OffsetFetch": _COORDINATOR_MOVED,
    "OffsetCommit": _COORDINATOR_MOVED | {"REQUEST_TIMED_OUT"},
    "JoinGroup": _COORDINATOR_MOVED,
    "SyncGroup": _COORDINATOR_MOVED,
    "Heartbeat": _COORDINATOR_MOVED,
    "ConsumerGroupHeartbeat": _COORDINATOR_MOVED,
}
_OF_MEMBERS: Final = frozenset(
    {
        "FENCED_INSTANCE_ID",
        "GROUP_AUTHORIZATION_FAILED",
        "REBALANCE_IN_PROGRESS",
        "UNKNOWN_MEMBER_ID",
    }
)
_EXPECTED: Final = {
    "OffsetFetch": frozenset(
        {each.name for each in ERROR_BY_CODE.values() if each.is_retriable}
        | {"GROUP_AUTHORIZATION_FAILED"}
    ),
    "OffsetCommit": _OF_MEMBERS
    | {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "ILLEGAL_GENERATION",
        "INVALID_COMMIT_OFFSET_SIZE",
        "OFFSET_METADATA_TOO_LARGE",
        "UNKNOWN_TOPIC_OR_PARTITION",
    },
    "JoinGroup": _OF_MEMBERS
    | {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "GROUP_MAX_SIZE_REACHED",
        "INCONSISTENT_GROUP_PROTOCOL",
        "INVALID_GROUP_ID",
        "INVALID_SESSION_TIMEOUT",
        "MEMBER_ID_REQUIRED",
        "UNSUPPORTED_VERSION",
    },
    "SyncGroup": _OF_MEMBERS | {"ILLEGAL_GENERATION"},
    "Heartbeat": _OF_MEMBERS | {"ILLEGAL_GENERATION"},
}
"""What coordinators answer to members, beside moves: any other error is over at once."""


def is_moved(api: str, error: str) -> bool:
    """Return whether an error says that another broker has to be asked."""
    return reaction_to(api, error) is Reaction.MOVED


def is_expected(api: str, error: str) -> bool:
    """Return whether an API answers so; whether Kafka's clients know what to do then."""
    return error in _MOVED.get(api, ()) or error in _EXPECTED.get(api, (error,))


def reaction_to(api: str, error: str) -> Reaction:
    """Return what follows an error, by Kafka's name; one that kdiag does not know is over."""
    if error in _MOVED.get(api, ()):
        return Reaction.MOVED
    if not is_expected(api, error):
        return Reaction.OVER
    known = ERROR_BY_CODE.get(CODE_BY_NAME.get(error, 0))
    return Reaction.AGAIN if known is not None and known.is_retriable else Reaction.OVER


def described(error: str) -> str:
    """Return an error with its meaning, and where there is advice about it."""
    known = ERROR_BY_CODE.get(CODE_BY_NAME.get(error, 0))
    if known is None or known.name != error:
        return error
    meaning = known.meaning[:1].lower() + known.meaning[1:].rstrip(".")
    return f"{error}: {meaning} (kdiag errcode {error})"
