"""Asks coordinators for the members of groups: each type of group has a request of its own.

Source: Kafka's DescribeGroups, ConsumerGroupDescribe (KIP-848), ShareGroupDescribe (KIP-932),
StreamsGroupDescribe (KIP-1071).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.groups.model import Assignment, DescribedMember
from kdiag.errors import KdiagError
from kdiag.exchange.embedded import CONSUMER, read_assignment, read_subscription
from kdiag.probe.groups.listing import CLASSIC, ListedGroup
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

GROUPS_PER_REQUEST: Final = 50
REQUESTS_AT_ONCE: Final = 20

V = TypeVar("V")

Progress = Callable[[int], None]
"""Is told how many groups are done."""


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
    client: ClusterClient, groups: Mapping[str, ListedGroup], progress: Progress
) -> dict[str, GroupDescription]:
    """Return the descriptions of groups; one that failed has an error.

    Args:
        client: connected.
        groups: those to describe.
        progress: is told how many are done.
    """
    parts: dict[str, list[tuple[int, Sequence[str]]]] = defaultdict(list)
    for (kind, node_id), names in _by_coordinator(groups).items():
        parts[kind] += [(node_id, part) for part in cut(names, GROUPS_PER_REQUEST)]
    found: dict[str, GroupDescription] = {}
    for kind, asked in parts.items():
        how = _KINDS.get(kind)
        if how is None:
            error = f"groups of type {kind} are newer than this version of kdiag"
            found.update(
                {name: GroupDescription(error=error) for _, part in asked for name in part}
            )
            continue
        for batch in cut(asked, REQUESTS_AT_ONCE):
            found.update(_describe(client, how, batch))
            progress(len(found))
    return found


def _by_coordinator(groups: Mapping[str, ListedGroup]) -> dict[tuple[str, int], list[str]]:
    named: dict[tuple[str, int], list[str]] = defaultdict(list)
    for name, each in groups.items():
        named[each.type, each.node_id].append(name)
    return named


def cut(values: Sequence[V], size: int) -> Iterator[Sequence[V]]:
    """Yield parts of at most so many values."""
    for at in range(0, len(values), size):
        yield values[at : at + size]


def _describe(
    client: ClusterClient, how: _DescribeApi, asked: Sequence[tuple[int, Sequence[str]]]
) -> Iterator[tuple[str, GroupDescription]]:
    questions = [(node_id, how.request(list(names))) for node_id, names in asked]
    answers = client.ask_each(questions, how.response)
    for (_, names), answer in zip(asked, answers, strict=True):
        body: Any = answer.body
        if body is None:
            yield from ((name, GroupDescription(error=_text(answer.error))) for name in names)
            continue
        for each in body.groups:
            if each.error_code:
                yield each.group_id, GroupDescription(error=error_name(each.error_code))
            else:
                yield each.group_id, how.read(each)


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
        subscribed=getattr(member, "subscribed_topic_names", None),
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
