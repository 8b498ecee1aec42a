"""Lists the groups of a cluster: every broker lists those that it coordinates.

What else is asked about groups goes to their coordinators, about many of them in one request, and
in few requests at a time.

Source: Kafka's ListGroups; KIP-518 (states), KIP-848 (types).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar

from kdiag.client.cluster_client import Answer, ClusterClient
from kdiag.client.network.request import RequestBuilder
from kdiag.errors import ConnectError, KdiagError
from kdiag.wire.api.list_groups import ListGroupsRequest, ListGroupsResponse
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import Struct

CLASSIC: Final = "classic"

GROUPS_PER_REQUEST: Final = 50
REQUESTS_AT_ONCE: Final = 20

R = TypeVar("R", bound=Struct)
V = TypeVar("V")

Progress = Callable[[int], None]
"""Is told how many groups are done."""

AskedGroups = tuple[int, Sequence[str]]
"""A coordinator, and the groups of one request to it."""


class CoordinatorsClient(Protocol):
    """Whatever asks coordinators: a client, or one that waits for no broker twice."""

    def ask_each(
        self, questions: Sequence[tuple[int, Struct | RequestBuilder]], answer: type[R], /
    ) -> list[Answer[R]]:
        """Ask as `ClusterClient.ask_each` does."""


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


def list_groups(
    client: ClusterClient,
    timeout_ns: int | None = None,
    *,
    among: Iterable[int] | None = None,
) -> GroupListing:
    """Ask brokers for their groups; if none can be reached, those that have taken their place.

    Args:
        client: connected.
        timeout_ns: how long all of them may take; None for the client's own limit.
        among: the brokers to ask; None for all.
    """
    nodes = (each.id for each in client.brokers) if among is None else among
    questions = dict.fromkeys(nodes, ListGroupsRequest())
    answers = client.ask_all(questions, ListGroupsResponse, timeout_ns=timeout_ns)
    if among is None and _have_moved(client, answers, timeout_ns):
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


def in_requests(
    groups: Mapping[str, ListedGroup], at_once: int = REQUESTS_AT_ONCE
) -> Iterator[Sequence[AskedGroups]]:
    """Yield groups as the requests that may be under way at the same time."""
    by_node: dict[int, list[str]] = defaultdict(list)
    for name, each in groups.items():
        by_node[each.node_id].append(name)
    asked = [
        (node_id, part)
        for node_id, names in by_node.items()
        for part in cut(names, GROUPS_PER_REQUEST)
    ]
    yield from cut(asked, at_once)


def cut(values: Sequence[V], size: int) -> Iterator[Sequence[V]]:
    """Yield parts of at most so many values."""
    for at in range(0, len(values), size):
        yield values[at : at + size]


def _have_moved(
    client: ClusterClient, answers: Mapping[int, Answer[ListGroupsResponse]], timeout_ns: int | None
) -> bool:
    """Return whether no broker could be reached, and all have other addresses by now."""
    if not all(isinstance(each.error, ConnectError) for each in answers.values()):
        return False
    before = client.brokers
    try:
        client.refresh(timeout_ns=timeout_ns)
    except KdiagError:
        return False
    return client.brokers != before


def _why_not(answer: Answer[ListGroupsResponse]) -> str:
    """Return why a broker did not list its groups; empty if it did."""
    if answer.body is None:
        return str(answer.error)
    return error_name(answer.body.error_code) if answer.body.error_code else ""
