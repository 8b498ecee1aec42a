"""What clients and brokers give as reasons, in their words, and the causes that those mean.

Java's clients send texts of `AbstractCoordinator` and `ConsumerCoordinator` (KIP-800, since 3.2)
with JoinGroup and LeaveGroup. Brokers log them behind their own words (`GroupMetadataManager`,
`GroupCoordinator` before 4.0).
"""

import re
from typing import Final, NamedTuple

from kdiag.diagnosis.rebalance.model import CauseKind

FOLLOWS: Final = re.compile(
    r"^(group is already rebalancing|rebalance failed due to|encountered REBALANCE_IN_PROGRESS)"
)
"""The member joins as the group rebalances already: no cause by itself."""

_BY_CLIENTS: Final = (
    (re.compile(r"^consumer poll timeout has expired"), CauseKind.POLL_TIMEOUT),
    (re.compile(r"^cached metadata has changed"), CauseKind.PARTITIONS_CHANGED),
    (re.compile(r"^(the )?subscription has changed"), CauseKind.SUBSCRIPTION_CHANGED),
    (re.compile(r"^need to revoke partitions"), CauseKind.MEMBER_REJOINED),
    (
        re.compile(r"^(rebalance enforced by user|triggered followup rebalance)"),
        CauseKind.MEMBER_REJOINED,
    ),
)
_NOT_GIVEN: Final = frozenset({"", "not provided", "null"})


class Trigger(NamedTuple):
    """What a broker's log line says of a cause.

    Attributes:
        cause: what happened.
        member_id, instance_id: whom it names.
        reason: the client's own words; None if it gave none.
    """

    cause: CauseKind
    member_id: str | None
    instance_id: str | None
    reason: str | None


def cause_of_client(reason: str | None) -> CauseKind | None:
    """Return the cause that a client's own words mean; None if they mean none."""
    return next((kind for text, kind in _BY_CLIENTS if reason and text.search(reason)), None)


_ID: Final = r"(?P<member>.+?)"
_INSTANCE: Final = r"instance id (?P<instance>.+?)"
_DURING: Final = r"(?: during \w+)?"
_BY_BROKERS: Final = (
    (rf"Adding new member {_ID}(?: with group {_INSTANCE})?", CauseKind.MEMBER_JOINED),
    (
        rf"Updating metadata for static member {_ID} with {_INSTANCE}{_DURING}",
        CauseKind.STATIC_MEMBER_RETURNED,
    ),
    (
        rf"Group's selectedProtocol will change because static member {_ID} with {_INSTANCE} .*?",
        CauseKind.ASSIGNOR_CHANGED,
    ),
    (rf"Updating metadata for member {_ID}{_DURING}", CauseKind.SUBSCRIPTION_CHANGED),
    (rf"[Ll]eader {_ID} re-joining group{_DURING}", CauseKind.MEMBER_REJOINED),
    (rf"[Rr]emoving member {_ID} on LeaveGroup", CauseKind.MEMBER_LEFT),
    (rf"[Rr]emoving member {_ID} on heartbeat expiration\.?", CauseKind.MEMBER_FAILED),
    (rf"explicit `LeaveGroup` request for \({_ID}\) members\.?", CauseKind.MEMBER_LEFT),
    (rf"[Rr]emoving {_ID} on pending sync request expiration", CauseKind.MEMBER_FAILED),
)
_COMPILED: Final = tuple(
    (re.compile(rf"^{text}(?:; client reason: (?P<reason>.*))?$"), kind)
    for text, kind in _BY_BROKERS
)


def trigger_of_broker(text: str) -> Trigger:
    """Return what the reason in `Preparing to rebalance group ... (reason: ...)` says.

    The client's own words count where they say more than the broker's: a leader that joins again
    does so because partitions changed, or it must revoke some.
    """
    for pattern, stated in _COMPILED:
        found = pattern.match(text)
        if found is None:
            continue
        parts = found.groupdict()
        reason = parts["reason"]
        reason = None if reason is None or reason in _NOT_GIVEN else reason
        said = cause_of_client(reason)
        kind = stated
        if said is not None and stated in _REFINED:
            kind = said
        elif stated is CauseKind.SUBSCRIPTION_CHANGED and reason is not None:
            kind = CauseKind.MEMBER_REJOINED
        return Trigger(kind, _given(parts["member"]), _given(parts.get("instance")), reason)
    return Trigger(CauseKind.UNKNOWN, None, None, text)


_REFINED: Final = frozenset(
    {CauseKind.MEMBER_REJOINED, CauseKind.SUBSCRIPTION_CHANGED, CauseKind.MEMBER_LEFT}
)


def _given(text: str | None) -> str | None:
    return text if text and text not in {"null", "None"} else None
