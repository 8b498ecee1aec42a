"""Phrases for the APIs of groups: coordinators, membership and offsets, of all four kinds."""

from typing import Any, Final

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.embedded import read_assignment, read_subscription
from kdiag.exchange.line.phrase import address_text, clause, count, listed, quoted, short_id
from kdiag.exchange.line.topics import Topics
from kdiag.wire import api_keys

_KEY_TYPES: Final = {0: "group", 1: "transaction", 2: "share"}
_JOINS, _LEAVES, _LEAVES_FOR_NOW = 0, -1, -2
_EPOCHS: Final = {_JOINS: "joins", _LEAVES: "leaves", _LEAVES_FOR_NOW: "leaves for now"}


def _find_coordinator_request(request: Any, _: Dissection, __: Topics) -> str:
    keys = request.coordinator_keys or [request.key]
    return f"{_KEY_TYPES.get(request.key_type, request.key_type)} {listed(keys)}"


def _find_coordinator_response(response: Any, _: Dissection, __: Topics) -> str:
    found = response.coordinators or [response]
    nodes = [
        f"node {each.node_id} {address_text(each.host, each.port)}"
        for each in found
        if each.node_id >= 0
    ]
    return listed(list(dict.fromkeys(nodes)), ", ")


def _member(member_id: str | None, instance_id: str | None = None) -> str | None:
    """Return the name of a member; a static member keeps its instance id over restarts."""
    name = f"member {short_id(member_id)}" if member_id else None
    return clause(f"instance {instance_id}" if instance_id else None, name) or None


def _subscribed(data: bytes) -> str:
    found = read_subscription(data)
    return listed(found.message.topics) if found is not None else ""


def _join_request(request: Any, _: Dissection, __: Topics) -> str:
    subscribed = {_subscribed(protocol.metadata): None for protocol in request.protocols}
    return clause(
        f"group {request.group_id}",
        listed([each for each in subscribed if each]),
        listed([protocol.name for protocol in request.protocols], "/"),
        quoted(short_id(request.reason)) if request.reason else None,
        _member(request.member_id, request.group_instance_id) or "new member",
    )


def _join_response(response: Any, _: Dissection, __: Topics) -> str:
    if response.generation_id < 0:
        return _member(response.member_id) or ""
    is_leader = response.leader == response.member_id
    return clause(
        f"gen {response.generation_id}",
        f"leads {count(len(response.members), 'member')}" if is_leader else "follows",
        response.protocol_name,
    )


def _sync_request(request: Any, _: Dissection, topics: Topics) -> str:
    shares = [_assigned(each.assignment, topics) for each in request.assignments]
    return clause(
        _generation(request),
        f"assigns {listed(shares, ' / ')}" if shares else None,
        _member(request.member_id, request.group_instance_id),
    )


def _sync_response(response: Any, dissection: Dissection, topics: Topics) -> str:
    return "" if dissection.error_code else _assigned(response.assignment, topics)


def _assigned(data: bytes, topics: Topics) -> str:
    if not data:
        return "nothing"
    found = read_assignment(data)
    if found is None:
        return count(len(data), "byte")
    return topics.partitions(found.message.assigned_partitions) or "nothing"


def _generation(request: Any) -> str:
    return f"group {request.group_id} gen {request.generation_id}"


def _heartbeat_request(request: Any, _: Dissection, __: Topics) -> str:
    return clause(_generation(request), _member(request.member_id, request.group_instance_id))


def _leave_request(request: Any, _: Dissection, __: Topics) -> str:
    leaving = [_member(each.member_id, each.group_instance_id) or "" for each in request.members]
    reasons = {each.reason: None for each in request.members if each.reason}
    return clause(
        f"group {request.group_id}",
        listed(leaving) or _member(request.member_id),
        listed([quoted(reason) for reason in reasons]),
    )


def _commit_request(request: Any, _: Dissection, topics: Topics) -> str:
    offsets = topics.partitions(request.topics, lambda each: f"@{each.committed_offset}")
    generation = request.generation_id_or_member_epoch
    transaction = getattr(request, "transactional_id", None)
    return clause(
        f"group {request.group_id}" + (f" gen {generation}" if generation >= 0 else ""),
        offsets,
        f"transaction {transaction}" if transaction else None,
    )


def _offsets_request(request: Any, _: Dissection, topics: Topics) -> str:
    groups = [
        f"group {group.group_id} {_wanted(group.topics, topics)}".rstrip()
        for group in request.groups or [request]
    ]
    return listed(groups, ", ")


def _wanted(wanted: Any, topics: Topics) -> str:
    return "all offsets" if wanted is None else topics.partitions(wanted)


def _offsets_response(response: Any, dissection: Dissection, topics: Topics) -> str:
    found = [
        topics.partitions(
            group.topics,
            lambda each: "@none" if each.committed_offset < 0 else f"@{each.committed_offset}",
        )
        for group in response.groups or [response]
    ]
    return listed([each for each in found if each], ", ") or (
        "" if dissection.error_code else "no offsets"
    )


def _delete_offsets_request(request: Any, _: Dissection, topics: Topics) -> str:
    return clause(f"group {request.group_id}", topics.partitions(request.topics).replace("[]", ""))


def _describe_request(request: Any, _: Dissection, __: Topics) -> str:
    groups = request.groups if hasattr(request, "groups") else request.group_ids
    return listed([f"group {group}" for group in groups])


def _described(response: Any, _: Dissection, __: Topics) -> str:
    words = [
        f"{group.group_state} {count(len(group.members), 'member')}"
        for group in response.groups
        if group.group_state
    ]
    return listed(words, ", ")


def _list_response(response: Any, _: Dissection, __: Topics) -> str:
    return count(len(response.groups), "group")


def _delete_groups_request(request: Any, _: Dissection, __: Topics) -> str:
    return listed([f"group {group}" for group in request.groups_names])


def _epoch_heartbeat_request(request: Any, _: Dissection, topics: Topics) -> str:
    epoch = request.member_epoch
    owned = getattr(request, "topic_partitions", None)
    subscribed = getattr(request, "subscribed_topic_names", None)
    return clause(
        f"group {request.group_id} {_EPOCHS.get(epoch, f'epoch {epoch}')}",
        f"wants {listed(subscribed)}" if subscribed else None,
        f"owns {topics.partitions(owned)}" if owned else None,
        _tasks(request),
        _member(request.member_id, getattr(request, "instance_id", None)),
    )


def _epoch_heartbeat_response(response: Any, dissection: Dissection, topics: Topics) -> str:
    if dissection.error_code:
        return ""
    epoch = response.member_epoch
    assignment = getattr(response, "assignment", None)
    return clause(
        f"epoch {epoch}" if epoch >= 0 else None,
        f"gets {topics.partitions(assignment.topic_partitions) or 'nothing'}"
        if assignment
        else None,
        _tasks(response),
    )


def _tasks(message: Any) -> str | None:
    """Return the tasks in a heartbeat of a streams group: `active 0[0,1] standby 1[2]`."""
    words = []
    for kind in ("active", "standby", "warmup"):
        tasks = getattr(message, f"{kind}_tasks", None)
        if tasks:
            words.append(f"{kind} {listed([_task(each) for each in tasks])}")
    return " ".join(words) or None


def _task(task: Any) -> str:
    return f"{task.subtopology_id}[{listed([str(each) for each in task.partitions], ',')}]"


GROUPS: Final = {
    api_keys.OFFSET_COMMIT: (_commit_request, None),
    api_keys.OFFSET_FETCH: (_offsets_request, _offsets_response),
    api_keys.FIND_COORDINATOR: (_find_coordinator_request, _find_coordinator_response),
    api_keys.JOIN_GROUP: (_join_request, _join_response),
    api_keys.HEARTBEAT: (_heartbeat_request, None),
    api_keys.LEAVE_GROUP: (_leave_request, None),
    api_keys.SYNC_GROUP: (_sync_request, _sync_response),
    api_keys.DESCRIBE_GROUPS: (_describe_request, _described),
    api_keys.LIST_GROUPS: (None, _list_response),
    api_keys.TXN_OFFSET_COMMIT: (_commit_request, None),
    api_keys.DELETE_GROUPS: (_delete_groups_request, None),
    api_keys.OFFSET_DELETE: (_delete_offsets_request, None),
    api_keys.CONSUMER_GROUP_HEARTBEAT: (_epoch_heartbeat_request, _epoch_heartbeat_response),
    api_keys.CONSUMER_GROUP_DESCRIBE: (_describe_request, _described),
    api_keys.SHARE_GROUP_HEARTBEAT: (_epoch_heartbeat_request, _epoch_heartbeat_response),
    api_keys.SHARE_GROUP_DESCRIBE: (_describe_request, _described),
    api_keys.STREAMS_GROUP_HEARTBEAT: (_epoch_heartbeat_request, _epoch_heartbeat_response),
    api_keys.STREAMS_GROUP_DESCRIBE: (_describe_request, _described),
    api_keys.ALTER_SHARE_GROUP_OFFSETS: (_delete_offsets_request, None),
    api_keys.DELETE_SHARE_GROUP_OFFSETS: (_delete_offsets_request, None),
}
"""The phrases of request and response by API key."""
