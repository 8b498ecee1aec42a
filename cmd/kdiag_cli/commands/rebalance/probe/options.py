"""The options of `kdiag rebalance probe`, validated."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import typer

from kdiag.diagnosis.rebalance.model import CauseKind

COMMAND: Final = "rebalance probe"
MOST_MEMBERS: Final = 100
MOST_PARTITIONS: Final = 10_000
_PARTITIONS_EACH: Final = 3


class ProbedProtocol(StrEnum):
    """The protocols of groups that can be probed, as the user names them."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


class ProvokedCause(StrEnum):
    """The causes that can be provoked, as the user names them."""

    MEMBER_JOINED = "member_joined"
    MEMBER_FAILED = "member_failed"
    MEMBER_LEFT = "member_left"
    PARTITIONS_CHANGED = "partitions_changed"
    SUBSCRIPTION_CHANGED = "subscription_changed"


class ProbeOptions(NamedTuple):
    """What to provoke, in which groups.

    Attributes:
        member_count: how many members begin.
        partition_count: of the topic.
        protocols: all that the cluster has if there are none.
        assignors: the usual ones if there are none.
        is_static: whether members have instance ids.
        causes: those to provoke.
        group: a real one to join; None for groups of kdiag's own.
        shows_members: whether each member has a line of its own.
        has_headers: whether tables have lines of column names.
    """

    member_count: int
    partition_count: int
    protocols: Sequence[ProbedProtocol]
    assignors: Sequence[str]
    is_static: bool
    causes: Sequence[CauseKind]
    group: str | None
    shows_members: bool
    has_headers: bool


def read_partitions(given: int | None, member_count: int) -> int:
    """Return how many partitions the topic has: by default three for each member.

    Raises:
        typer.BadParameter: if members would be left without any.
    """
    if given is None:
        return member_count * _PARTITIONS_EACH
    if given <= member_count:
        why = f"must be more than --members, which are {member_count}: one more member joins"
        raise typer.BadParameter(why, param_hint="--partitions")
    return given


def check_group(
    group: str | None,
    protocols: Sequence[ProbedProtocol],
    assignors: Sequence[str],
    *,
    is_known: bool,
) -> None:
    """Refuse to join a real group unless the user knows what that does.

    Raises:
        typer.BadParameter: if it is not said, or what the group decides is given.
    """
    if group is None:
        if is_known:
            raise typer.BadParameter("is for --group", param_hint="--i-know")
        return
    if not group:
        raise typer.BadParameter("a group has a name", param_hint="--group")
    if protocols or assignors:
        why = "the group has its own"
        raise typer.BadParameter(why, param_hint="--protocol, --assignor")
    if not is_known:
        why = (
            f"the members of {group} would rebalance with each cause, and wait for a member that "
            "crashes until its session times out; if they may, say --i-know"
        )
        raise typer.BadParameter(why, param_hint="--group")


def read_causes(given: Sequence[ProvokedCause]) -> list[CauseKind]:
    """Return the causes to provoke, in the order in which that is done; by default all."""
    return [CauseKind(each) for each in ProvokedCause if not given or each in given]
