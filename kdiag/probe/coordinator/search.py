"""Asks every broker who coordinates some groups, transactional ids or share partitions.

Three rounds, each to all the brokers that it concerns at once:

1. FindCoordinator, many keys in one request where brokers support that (KIP-699).
2. Metadata and min.insync.replicas of the internal topic that keeps the keys.
3. Type and state, from the coordinators alone; of a group that none of them lists, whether that
   means that there is none.

The first request for a coordinator of its kind makes brokers create the internal topic. They name
no coordinator until it exists, so the probe asks again for a short while.

Source: Kafka's FindCoordinator, Metadata, DescribeConfigs, ListGroups and DescribeTransactions.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from kdiag.client.cluster_client import Answer, ClusterClient
from kdiag.client.network.metadata import Broker, Partition
from kdiag.client.network.request import RequestBuilder
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.coordinator import (
    BrokerAnswer,
    BrokerNode,
    CoordinatorFacts,
    GroupState,
    InternalTopic,
    PartitionPlace,
)
from kdiag.errors import (
    ConnectError,
    DisconnectedError,
    Fault,
    KdiagError,
    RequestTimeoutError,
    UnsupportedVersionError,
)
from kdiag.probe.config_value import topic_setting
from kdiag.probe.groups.listing import list_groups
from kdiag.wire import api_keys
from kdiag.wire.api.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kdiag.wire.api.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kdiag.wire.api.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import MAX_VERSION, Versions

_FIND_COORDINATOR: Final = API_BY_KEY[api_keys.FIND_COORDINATOR]
_FIRST_WITH_MANY_KEYS: Final = 4
_FIRST_VERSION: Final = {
    CoordinatorKind.GROUP: 0,
    CoordinatorKind.TRANSACTION: 1,
    CoordinatorKind.SHARE: 6,
}
_KEYS_PER_REQUEST: Final = 500
_MIN_ISR: Final = "min.insync.replicas"
_LOADING: Final = "COORDINATOR_LOAD_IN_PROGRESS"
_SETTLED: Final = frozenset({"NONE", "GROUP_ID_NOT_FOUND"})
_UNREACHABLE: Final = (ConnectError, DisconnectedError, RequestTimeoutError)
_FENCED: Final = "it is down, or fenced: the cluster does not list it"
_NOT_AVAILABLE: Final = "COORDINATOR_NOT_AVAILABLE"
_UNKNOWN_TOPIC: Final = "UNKNOWN_TOPIC_OR_PARTITION"

PATIENCE_NS: Final = 5 * NS_PER_S
"""How long to ask again while the internal topic is being created; busy brokers take seconds."""

_LAG_NS: Final = NS_PER_S
"""How much later than others a broker may learn of the topic; other servers may not have it."""

_RETRY_NS: Final = 100 * NS_PER_MS

_Answers = dict[str, list[BrokerAnswer]]


class _KeyStates(NamedTuple):
    """What coordinators tell of their keys.

    Attributes:
        groups: type and state by key.
        loading: the brokers that are loading.
        listing: the brokers that have listed all groups that they have loaded.
    """

    groups: Mapping[str, GroupState] = {}
    loading: AbstractSet[int] = frozenset()
    listing: AbstractSet[int] = frozenset()


def find_coordinators(  # noqa: PLR0913 - each of the last three has one caller
    client: ClusterClient,
    keys: Sequence[str],
    kind: CoordinatorKind,
    *,
    patience_ns: int = PATIENCE_NS,
    among: AbstractSet[int] | None = None,
    round_ns: int | None = None,
) -> CoordinatorFacts:
    """Ask every broker of a connected client who coordinates each key.

    Args:
        client: connected.
        keys: to look for; for share partitions `group:topic id:partition`.
        kind: of the keys.
        patience_ns: how long to ask again at most while the internal topic does not exist.
        among: the brokers to ask; None for all.
        round_ns: how long each round may take; None for the client's own limit. With a limit, a
            cluster that says nothing of the internal topic is no error: it is not known.

    Raises:
        KdiagError: if no broker answers for the internal topic.
    """
    nodes = [each.id for each in client.brokers if among is None or each.id in among]
    answers, unreachable, hanging, topic = _ask_once(client, keys, kind, nodes, round_ns)
    began_ns = client.clock.monotonic_ns()
    while client.clock.monotonic_ns() < began_ns + _useful_ns(answers, topic, patience_ns):
        client.wait(_RETRY_NS)
        answers, unreachable, hanging, topic = _ask_once(client, keys, kind, nodes, round_ns)
    if topic is not None:
        _add_missing(client, topic, answers, unreachable)
    asked = {
        node_id: keys
        for node_id, keys in _named(answers).items()
        if node_id in nodes and node_id not in unreachable
    }
    states = _states(client, kind, asked, round_ns)
    known = states.groups.keys() | _absent(client, asked, states, round_ns)
    return CoordinatorFacts(
        kind=kind,
        brokers={each.id: _node(each) for each in client.brokers},
        unreachable=unreachable,
        answers=answers,
        topic=topic,
        groups=states.groups,
        loading=states.loading,
        unknown=frozenset(keys) - known if kind is CoordinatorKind.GROUP else frozenset(),
        hanging=hanging,
    )


def coordinator_request(kind: CoordinatorKind, keys: Sequence[str]) -> RequestBuilder:
    """Return the request for some keys; one key fits every version of its kind."""
    least = _FIRST_VERSION[kind]
    if len(keys) > 1:
        least = max(least, _FIRST_WITH_MANY_KEYS)

    def build(version: int) -> FindCoordinatorRequest:
        if version >= _FIRST_WITH_MANY_KEYS:
            return FindCoordinatorRequest(key_type=kind.key_type, coordinator_keys=list(keys))
        return FindCoordinatorRequest(key=keys[0], key_type=kind.key_type)

    return RequestBuilder(_FIND_COORDINATOR, Versions(least, MAX_VERSION), build)


def _ask_every_broker(
    client: ClusterClient,
    keys: Sequence[str],
    kind: CoordinatorKind,
    nodes: Sequence[int],
    round_ns: int | None,
) -> tuple[_Answers, dict[int, str], set[int]]:
    """Return each broker's answer by key, why brokers are unreachable, and which of them hang."""
    parts = [keys[at : at + _KEYS_PER_REQUEST] for at in range(0, len(keys), _KEYS_PER_REQUEST)]
    answers: _Answers = {key: [] for key in keys}
    unreachable: dict[int, str] = {}
    hanging: set[int] = set()
    one_by_one = []
    for (node_id, part), answer in _ask(client, kind, parts, nodes, round_ns):
        if isinstance(answer.error, UnsupportedVersionError) and len(part) > 1:
            one_by_one.append(node_id)
        elif answer.body is not None:
            _add_answer(answers, node_id, part, answer.body, answer.rtt_ns)
        else:
            assert answer.error is not None
            why = _why(answer.error, round_ns)
            _add_failure(answers, node_id, part, why)
            if isinstance(answer.error, _UNREACHABLE):
                unreachable[node_id] = why
            if _is_silence(answer.error):
                hanging.add(node_id)
    if one_by_one:
        _ask_one_by_one(client, kind, one_by_one, answers, round_ns)
    return answers, unreachable, hanging


def _ask(
    client: ClusterClient,
    kind: CoordinatorKind,
    parts: Sequence[Sequence[str]],
    nodes: Sequence[int],
    round_ns: int | None,
) -> Iterator[tuple[tuple[int, Sequence[str]], Answer[FindCoordinatorResponse]]]:
    """Ask every broker for every part of the keys."""
    asked = [(node_id, part) for part in parts for node_id in nodes]
    questions = [(node_id, coordinator_request(kind, part)) for node_id, part in asked]
    answers = client.ask_each(questions, FindCoordinatorResponse, timeout_ns=round_ns)
    return zip(asked, answers, strict=True)


def _ask_one_by_one(
    client: ClusterClient,
    kind: CoordinatorKind,
    nodes: Sequence[int],
    answers: _Answers,
    round_ns: int | None,
) -> None:
    """Ask brokers from before KIP-699, which accept one key in each request."""
    asked = [(node_id, key) for node_id in dict.fromkeys(nodes) for key in answers]
    questions = [(node_id, coordinator_request(kind, [key])) for node_id, key in asked]
    results = client.ask_each(questions, FindCoordinatorResponse, timeout_ns=round_ns)
    for (node_id, key), answer in zip(asked, results, strict=True):
        if answer.body is not None:
            _add_answer(answers, node_id, [key], answer.body, answer.rtt_ns)
        else:
            assert answer.error is not None
            _add_failure(answers, node_id, [key], _why(answer.error, round_ns))


def _add_answer(
    answers: _Answers,
    node_id: int,
    keys: Sequence[str],
    body: FindCoordinatorResponse,
    rtt_ns: int | None,
) -> None:
    """Add the answer of a broker; before version 4 it does not repeat its one key."""
    coordinators = body.coordinators or [
        Coordinator(
            keys[0], body.node_id, body.host, body.port, body.error_code, body.error_message
        )
    ]
    for each in coordinators:
        if each.key in answers:
            answers[each.key].append(_answer(node_id, each, rtt_ns))


def _answer(node_id: int, found: Coordinator, rtt_ns: int | None) -> BrokerAnswer:
    if found.error_code:
        return BrokerAnswer(
            node_id=node_id,
            error=error_name(found.error_code),
            message=found.error_message or None,
            rtt_ns=rtt_ns,
        )
    named = BrokerNode(found.node_id, found.host, found.port)
    return BrokerAnswer(node_id=node_id, coordinator=named, rtt_ns=rtt_ns)


def _is_silence(error: KdiagError) -> bool:
    """Return whether a broker accepts connections and says nothing."""
    return isinstance(error, RequestTimeoutError) or (
        isinstance(error, ConnectError) and error.fault is Fault.SILENT
    )


def _why(error: KdiagError, round_ns: int | None) -> str:
    """Return why a broker did not answer; its address is told elsewhere."""
    if isinstance(error, RequestTimeoutError) and round_ns is not None:
        return f"no answer within {round_ns / NS_PER_S:.1f} s"
    return error.why if isinstance(error, ConnectError) else str(error)


def _add_failure(answers: _Answers, node_id: int, keys: Sequence[str], why: str) -> None:
    """Add the failure of a broker to answer."""
    for key in keys:
        answers[key].append(BrokerAnswer(node_id=node_id, failure=why))


def _internal_topic(
    client: ClusterClient, kind: CoordinatorKind, round_ns: int | None
) -> InternalTopic | None:
    """Return where the partitions of the internal topic are; None if a limit was too short."""
    try:
        topic = client.refresh([kind.topic], timeout_ns=round_ns).topics.get(kind.topic)
    except KdiagError:
        if round_ns is None:
            raise
        return None
    if topic is None or not topic.partitions:
        error = None if topic is None else error_name(topic.error_code)
        return InternalTopic(name=kind.topic, partitions={}, error=error)
    min_isr = topic_setting(client, kind.topic, _MIN_ISR, round_ns)
    places = {each.partition_index: _partition_place(each, min_isr) for each in topic.partitions}
    return InternalTopic(name=kind.topic, partitions=places)


def _partition_place(partition: Partition, min_isr: int | None) -> PartitionPlace:
    return PartitionPlace(
        topic=partition.topic,
        partition=partition.partition_index,
        leader=partition.leader_id if partition.leader_id >= 0 else None,
        replicas=partition.replica_ids,
        isr=partition.isr_ids,
        error=error_name(partition.error_code) if partition.error_code else None,
        min_isr=min_isr,
    )


def _ask_once(
    client: ClusterClient,
    keys: Sequence[str],
    kind: CoordinatorKind,
    nodes: Sequence[int],
    round_ns: int | None,
) -> tuple[_Answers, dict[int, str], set[int], InternalTopic | None]:
    """Return what `_ask_every_broker` does, and where the partitions are."""
    return *_ask_every_broker(client, keys, kind, nodes, round_ns), _internal_topic(
        client, kind, round_ns
    )


def _useful_ns(answers: _Answers, topic: InternalTopic | None, patience_ns: int) -> int:
    """Return for how long another request may help."""
    if topic is None:
        return 0
    if _is_being_created(answers, topic):
        return patience_ns
    is_unheard_of = not topic.partitions and topic.error in {None, _UNKNOWN_TOPIC}
    is_lagging = any(
        any(each.coordinator for each in given)
        and (is_unheard_of or any(each.error == _NOT_AVAILABLE for each in given))
        for given in answers.values()
    )
    return min(_LAG_NS, patience_ns) if is_lagging else 0


def _is_being_created(answers: _Answers, topic: InternalTopic) -> bool:
    """Return whether a coordinator is missing because its topic does not exist yet."""
    if any(each.leader is None and not each.isr for each in topic.partitions.values()):
        return False
    return any(
        given and all(each.error == _NOT_AVAILABLE for each in given if each.failure is None)
        for given in answers.values()
        if any(each.failure is None for each in given)
    )


def _add_missing(
    client: ClusterClient,
    topic: InternalTopic,
    answers: _Answers,
    unreachable: dict[int, str],
) -> None:
    """Add brokers that have a replica but are not in the cluster as unreachable: they are down."""
    alive = {each.id for each in client.brokers}
    holders = {node_id for each in topic.partitions.values() for node_id in each.replicas}
    for node_id in sorted(holders - alive):
        unreachable[node_id] = _FENCED
        for given in answers.values():
            if all(each.node_id != node_id for each in given):
                given.append(BrokerAnswer(node_id=node_id, failure=_FENCED))


def _named(answers: _Answers) -> dict[int, list[str]]:
    """Return the keys that each broker coordinates, by all answers."""
    named: dict[int, list[str]] = defaultdict(list)
    for key, given in answers.items():
        for node_id in {each.coordinator.node_id for each in given if each.coordinator}:
            named[node_id].append(key)
    return named


def _states(
    client: ClusterClient,
    kind: CoordinatorKind,
    asked: Mapping[int, list[str]],
    round_ns: int | None,
) -> _KeyStates:
    """Return what coordinators tell of their keys."""
    if kind is CoordinatorKind.TRANSACTION:
        return _KeyStates(_transactions(client, asked, round_ns))
    if kind is CoordinatorKind.GROUP:
        return _groups(client, asked, round_ns)
    return _KeyStates()


def _groups(
    client: ClusterClient, asked: Mapping[int, list[str]], round_ns: int | None
) -> _KeyStates:
    listing = list_groups(client, round_ns, among=asked)
    wanted = {key for keys in asked.values() for key in keys}
    states = {
        name: GroupState(each.type, each.state)
        for name, each in listing.groups.items()
        if name in wanted
    }
    loading = {node_id for node_id, why in listing.failures.items() if why == _LOADING}
    return _KeyStates(states, loading, asked.keys() - listing.failures.keys())


def _absent(
    client: ClusterClient, asked: Mapping[int, list[str]], states: _KeyStates, round_ns: int | None
) -> set[str]:
    """Return the groups that certainly do not exist.

    A broker lists the groups of the partitions that it has loaded, and nothing tells which these
    are. DescribeGroups does: it fails for a group that the broker does not coordinate yet, or any
    more. So a group is absent if it is not listed even after that has been answered.
    """
    missing = {
        node_id: left
        for node_id, keys in asked.items()
        if node_id in states.listing and (left := [key for key in keys if key not in states.groups])
    }
    questions = {node_id: DescribeGroupsRequest(keys) for node_id, keys in missing.items()}
    described = client.ask_all(questions, DescribeGroupsResponse, timeout_ns=round_ns)
    settled = {
        each.group_id
        for answer in described.values()
        for each in (answer.body.groups if answer.body is not None else ())
        if error_name(each.error_code) in _SETTLED
    }
    answering = dict.fromkeys(
        node_id for node_id, keys in missing.items() if settled.intersection(keys)
    )
    listing = list_groups(client, round_ns, among=answering)
    return {
        key
        for node_id in answering
        if node_id not in listing.failures
        for key in settled.intersection(missing[node_id]) - listing.groups.keys()
    }


def _transactions(
    client: ClusterClient, asked: Mapping[int, list[str]], round_ns: int | None
) -> dict[str, GroupState]:
    questions = {node_id: DescribeTransactionsRequest(keys) for node_id, keys in asked.items()}
    answers = client.ask_all(questions, DescribeTransactionsResponse, timeout_ns=round_ns)
    return {
        each.transactional_id: GroupState("transaction", each.transaction_state)
        for answer in answers.values()
        if answer.body is not None
        for each in answer.body.transaction_states
        if not each.error_code
    }


def _node(broker: Broker) -> BrokerNode:
    return BrokerNode(broker.id, broker.host, broker.port, broker.rack)
