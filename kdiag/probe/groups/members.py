"""Asks coordinators for the members of groups: each type of group has a request of its own.

Source: Kafka's DescribeGroups, ConsumerGroupDescribe (KIP-848), ShareGroupDescribe (KIP-932),
StreamsGroupDescribe (KIP-1071).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kdiag.diagnosis.groups.model import Assignment, DescribedMember
from kdiag.errors import KdiagError
from kdiag.exchange.embedded import CONSUMER, read_assignment, read_subscription
from kdiag.probe.groups.listing import (
    CLASSIC,
    AskedGroups,
    CoordinatorsClient,
    ListedGroup,
    Progress,
    in_requests,
)
from kdiag.wire.api.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kdiag.wire.api.describe_groups import (
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kdiag.wire.api.share_group_describe import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from kdiag.wire.api.streams_group_describe import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import Struct

_MEMBER_TYPES: Final = {0: CLASSIC, 1: CONSUMER}
_NOT_TOLD: Final = -1


class GroupDescription(NamedTuple):
    """A group as its coordinator describes it; the attributes are those of `Group`."""

    state: str = ""
    protocol: str | None = None
    assignor: str | None = None
    epoch: int | None = None
    assignment_epoch: int | None = None
    members: Sequence[DescribedMember] | None = None
    error: str | None = None


class _DescribeApi(NamedTuple):
    """How groups of a type are described."""

    request: Callable[[list[str]], Struct]
    response: type[Struct]
    read: Callable[[Any], GroupDescription]


def describe_groups(
    client: CoordinatorsClient, groups: Mapping[str, ListedGroup], progress: Progress
) -> dict[str, GroupDescription]:
    """Return the descriptions of groups; one that failed has an error.

    Args:
        client: connected.
        groups: those to describe.
        progress: is told how many are done.
    """
    by_type: dict[str, dict[str, ListedGroup]] = defaultdict(dict)
    for name, each in groups.items():
        by_type[each.type][name] = each
    found: dict[str, GroupDescription] = {}
    for kind, of_type in by_type.items():
        how = _KINDS.get(kind)
        if how is None:
            error = f"groups of type {kind} are newer than this version of kdiag"
            found.update(dict.fromkeys(of_type, GroupDescription(error=error)))
            continue
        for asked in in_requests(of_type):
            found.update(_describe(client, how, asked))
            progress(len(found))
    return found


def _describe(
    client: CoordinatorsClient, how: _DescribeApi, asked: Sequence[AskedGroups]
) -> Iterator[tuple[str, GroupDescription]]:
    for name, group, error in _ask(client, how, asked):
        if group is None:
            yield name, GroupDescription(error=error)
        elif group.error_code:
            yield name, GroupDescription(error=error_name(group.error_code))
        else:
            yield name, how.read(group)


def describe_raw(
    client: CoordinatorsClient, kind: str, asked: Sequence[AskedGroups]
) -> Iterator[tuple[str, Any, str]]:
    """Yield groups of one type as coordinators describe them.

    Args:
        client: connected.
        kind: their type, one of four.
        asked: the groups, by coordinator.

    Yields:
        the name, the element of the response (None without one), and why there is none.
    """
    yield from _ask(client, _KINDS[kind], asked)


def _ask(
    client: CoordinatorsClient, how: _DescribeApi, asked: Sequence[AskedGroups]
) -> Iterator[tuple[str, Any, str]]:
    questions = [(node_id, how.request(list(names))) for node_id, names in asked]
    answers = client.ask_each(questions, how.response)
    for (_, names), answer in zip(asked, answers, strict=True):
        body: Any = answer.body
        if body is None:
            yield from ((name, None, _text(answer.error)) for name in names)
        else:
            yield from ((each.group_id, each, "") for each in body.groups)


def _text(error: KdiagError | None) -> str:
    return "no answer" if error is None else str(error)


def _read_classic(group: Any) -> GroupDescription:
    return GroupDescription(
        state=group.group_state,
        protocol=group.protocol_type or None,
        assignor=group.protocol_data or None,
        members=[_classic_member(each, group.protocol_type) for each in group.members],
    )


def _classic_member(member: DescribedGroupMember, protocol_type: str) -> DescribedMember:
    """Return a member; only consumers write a format that is known."""
    subscribed, assignment = None, None
    if protocol_type == CONSUMER:
        wanted, owned = (
            read_subscription(member.member_metadata),
            read_assignment(member.member_assignment),
        )
        subscribed = None if wanted is None else list(wanted.message.topics)
        assignment = {} if not member.member_assignment else _of_classic(owned)
    return DescribedMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        host=_host(member.client_host),
        subscribed=subscribed,
        assignment=assignment,
    )


def _of_classic(owned: Any) -> Assignment | None:
    if owned is None:
        return None
    return {each.topic: sorted(each.partitions) for each in owned.message.assigned_partitions}


def _read_consumer(group: Any) -> GroupDescription:
    return _epoch_group(
        group,
        CONSUMER,
        [
            _epoch_member(
                each, _named(each.assignment), each.instance_id, _named(each.target_assignment)
            )
            for each in group.members
        ],
    )


def _read_share(group: Any) -> GroupDescription:
    members = [_epoch_member(each, _named(each.assignment)) for each in group.members]
    return _epoch_group(group, "share", members)


def _read_streams(group: Any) -> GroupDescription:
    """Return a streams group: the active tasks of a member become the partitions that they read."""
    topology = group.topology
    sources = {
        each.subtopology_id: [
            *each.source_topics,
            *(one.name for one in each.repartition_source_topics),
        ]
        for each in (topology.subtopologies if topology is not None else None) or ()
    }
    members = [
        _epoch_member(
            each,
            _of_tasks(each.assignment.active_tasks, sources),
            each.instance_id,
            _of_tasks(each.target_assignment.active_tasks, sources),
        )
        for each in group.members
    ]
    return _epoch_group(group, "streams", members)


def _epoch_group(group: Any, protocol: str, members: list[DescribedMember]) -> GroupDescription:
    return GroupDescription(
        state=group.group_state,
        protocol=protocol,
        assignor=group.assignor_name or None,
        epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        members=members,
    )


def _epoch_member(
    member: Any,
    assignment: Assignment,
    instance_id: str | None = None,
    target: Assignment | None = None,
) -> DescribedMember:
    """Return a member of a group whose coordinator assigns."""
    return DescribedMember(
        member_id=member.member_id,
        instance_id=instance_id,
        client_id=member.client_id,
        host=_host(member.client_host),
        rack=member.rack_id,
        epoch=member.member_epoch,
        protocol=_MEMBER_TYPES.get(getattr(member, "member_type", _NOT_TOLD)),
        subscribed=getattr(member, "subscribed_topic_names", None),
        pattern=getattr(member, "subscribed_topic_regex", None) or None,
        assignment=assignment,
        target=target,
    )


def _named(assignment: Any) -> Assignment:
    return {each.topic_name: sorted(each.partitions) for each in assignment.topic_partitions}


def _of_tasks(tasks: Iterable[Any], sources: Mapping[str, Sequence[str]]) -> Assignment:
    partitions: dict[str, set[int]] = defaultdict(set)
    for task in tasks:
        for topic in sources.get(task.subtopology_id, ()):
            partitions[topic].update(task.partitions)
    return {topic: sorted(numbers) for topic, numbers in partitions.items()}


def _host(host: str) -> str:
    """Return a host without the slash that Java writes before an address."""
    return host.removeprefix("/")


_KINDS: Final = {
    CLASSIC: _DescribeApi(DescribeGroupsRequest, DescribeGroupsResponse, _read_classic),
    "consumer": _DescribeApi(
        ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, _read_consumer
    ),
    "share": _DescribeApi(ShareGroupDescribeRequest, ShareGroupDescribeResponse, _read_share),
    "streams": _DescribeApi(
        StreamsGroupDescribeRequest, StreamsGroupDescribeResponse, _read_streams
    ),
}
