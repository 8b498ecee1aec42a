"""What clients do about the error codes in answers: one table for all APIs that readers use.

    reaction_to("Fetch", "NOT_LEADER_OR_FOLLOWER")   MOVED   ask who leads, and then that one
    reaction_to("Fetch", "CORRUPT_MESSAGE")          AGAIN   the same request again, after a while
    reaction_to("Fetch", "UNSUPPORTED_VERSION")      OVER    for good: trying again does not help

An error is reported by its name whatever follows it: at once, unless it is the usual way to learn
of a move; a move that leads nowhere is reported after `LASTING_NS`. So no error is silent because
it is in no list: the last row of each API holds all others.

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
    "Heartbeat": _COORDINATOR_MOVED,
}


def reaction_to(api: str, error: str) -> Reaction:
    """Return what follows an error, by Kafka's name; one that kdiag does not know is over."""
    if error in _MOVED.get(api, ()):
        return Reaction.MOVED
    known = ERROR_BY_CODE.get(CODE_BY_NAME.get(error, 0))
    return Reaction.AGAIN if known is not None and known.is_retriable else Reaction.OVER


def described(error: str) -> str:
    """Return an error with its meaning, and where there is advice about it."""
    known = ERROR_BY_CODE.get(CODE_BY_NAME.get(error, 0))
    if known is None or known.name != error:
        return error
    meaning = known.meaning[:1].lower() + known.meaning[1:].rstrip(".")
    return f"{error}: {meaning} (kdiag errcode {error})"
