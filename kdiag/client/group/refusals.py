"""Refusals: a coordinator's error codes as errors that name the setting which mends them.

Source: Kafka's `Errors`, `GroupMaxSizeReachedException`, `FencedInstanceIdException`, and the
settings of brokers that each of them comes from.
"""

from typing import Final

from kdiag.client.error_reactions import is_expected
from kdiag.client.group.member import MemberSettings
from kdiag.clock import NS_PER_MS
from kdiag.errors import GroupError
from kdiag.wire.error_code import CODE_BY_NAME, ERROR_BY_CODE, error_name

_WHY: Final = {
    "FENCED_INSTANCE_ID": (
        "another member has joined with the same group.instance.id, {instance}, and has taken "
        "over; give each member an id of its own"
    ),
    "GROUP_AUTHORIZATION_FAILED": (
        "the user may not be a member; allow the operation READ on the group"
    ),
    "GROUP_MAX_SIZE_REACHED": (
        "the group has as many members as the broker's group.max.size allows, or, by the consumer "
        "protocol, group.consumer.max.size; end another member, or raise that"
    ),
    "INCONSISTENT_GROUP_PROTOCOL": (
        "no assignor is common to all members, or they are not consumers; set "
        "partition.assignment.strategy to one that the others have, or use another group.id"
    ),
    "INVALID_GROUP_ID": "the broker does not take the name; set another group.id",
    "INVALID_REGULAR_EXPRESSION": (
        "the broker does not take the pattern of the topics, which it reads by RE2; write another"
    ),
    "INVALID_SESSION_TIMEOUT": (
        "session.timeout.ms is {session} and must lie between the broker's "
        "group.min.session.timeout.ms and group.max.session.timeout.ms"
    ),
    "UNRELEASED_INSTANCE_ID": (
        "another member has the group.instance.id {instance} and has not left; end it, or wait "
        "until its session has expired, or give this one an id of its own"
    ),
    "UNSUPPORTED_ASSIGNOR": (
        "the broker does not have the assignor that was asked for; set group.remote.assignor to "
        "one that its group.consumer.assignors names, or leave it out"
    ),
    "UNSUPPORTED_VERSION": (
        "the broker does not take what was sent; static members need Kafka 2.3: try it without "
        "group.instance.id"
    ),
}
"""Errors whose meaning alone does not say what to do."""


def refusal(settings: MemberSettings, error_code: int, api: str = "") -> GroupError:
    """Return the error for an error code of a coordinator.

    Args:
        settings: of the member.
        error_code: of the answer.
        api: of the answer, which may be one that it should not have; empty to take any.
    """
    name = error_name(error_code)
    known = ERROR_BY_CODE.get(error_code)
    meaning = (
        "the broker gave an error code that kdiag does not know" if known is None else known[3]
    )
    why = _WHY.get(name, meaning[:1].lower() + meaning[1:].rstrip(".")).format(
        instance=settings.group_instance_id,
        session=settings.session_timeout_ns // NS_PER_MS,
    )
    if not is_expected(api, name):  # trying again may not help
        return GroupError(settings.group_id, name, f"unexpected answer to {api}: {why}")
    is_retriable = known is not None and known.is_retriable
    return GroupError(settings.group_id, name, why, is_retriable=is_retriable)


def named_refusal(settings: MemberSettings, error: str) -> GroupError:
    """Return the error for one that no broker has sent, by Kafka's name."""
    return refusal(settings, CODE_BY_NAME[error])
