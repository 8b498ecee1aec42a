"""Lists the groups of a cluster: every broker lists those that it coordinates.

Source: Kafka's ListGroups; KIP-518 (states), KIP-848 (types).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kdiag.client.cluster_client import Answer, ClusterClient
from kdiag.wire.api.list_groups import ListGroupsRequest, ListGroupsResponse
from kdiag.wire.error_code import error_name

CLASSIC: Final = "classic"


class ListedGroup(NamedTuple):
    """A group in a broker's list.

    Attributes:
        type: in lower case; brokers before Kafka 3.7 know classic groups alone, and tell none.
        state: empty where brokers do not list it: before Kafka 2.6.
        protocol_type: as its members gave it.
        node_id: the broker that lists it, which is its coordinator.
    """

    type: str
    state: str
    protocol_type: str
    node_id: int


class GroupListing(NamedTuple):
    """The groups of a cluster.

    Attributes:
        groups: by name.
        failures: why brokers did not list theirs, by broker.
        silent: those of them that did not answer at all.
    """

    groups: Mapping[str, ListedGroup]
    failures: Mapping[int, str]
    silent: frozenset[int] = frozenset()


def list_groups(client: ClusterClient, timeout_ns: int | None = None) -> GroupListing:
    """Ask every broker of a connected client for its groups.

    Args:
        client: connected.
        timeout_ns: how long all of them may take; None for the client's own limit.
    """
    questions = {each.id: ListGroupsRequest() for each in client.brokers}
    answers = client.ask_all(questions, ListGroupsResponse, timeout_ns=timeout_ns)
    groups: dict[str, ListedGroup] = {}
    failures: dict[int, str] = {}
    for node_id, answer in answers.items():
        why = _why_not(answer)
        if answer.body is None or why:
            failures[node_id] = why
            continue
        for each in answer.body.groups:
            kind = each.group_type.lower() or CLASSIC
            groups[each.group_id] = ListedGroup(kind, each.group_state, each.protocol_type, node_id)
    silent = frozenset(node_id for node_id, answer in answers.items() if answer.body is None)
    return GroupListing(dict(sorted(groups.items())), failures, silent)


def _why_not(answer: Answer[ListGroupsResponse]) -> str:
    """Return why a broker did not list its groups; empty if it did."""
    if answer.body is None:
        return str(answer.error)
    return error_name(answer.body.error_code) if answer.body.error_code else ""
