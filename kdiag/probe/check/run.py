"""Checks a cluster from the outside in: names, addresses, connections, listeners, state.

1. It connects to every address of every bootstrap server at once; the first answer names the
   brokers.
2. It connects to every address that a broker advertises, as clients would; meanwhile it asks the
   first node for the user's permissions and for all topics.
3. With those answers it asks the reachable brokers for min.insync.replicas of topics with replicas
   out of sync, for the coordinator of a group, and for their log directories.

It creates nothing: without a group to look for, it asks for a coordinator only where
`__consumer_offsets` exists.

Source: Kafka's Metadata, DescribeCluster, DescribeConfigs, FindCoordinator and DescribeGroups.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.network.metadata import Cluster, Node, metadata_request
from kdiag.client.network.request import RequestBuilder
from kdiag.client.visibility import hidden_topics
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.check.facts import CheckedEndpoint, CheckFacts, Exposure, SessionLimits
from kdiag.errors import KdiagError
from kdiag.net.address import Lookup, look_up_all
from kdiag.net.timed_channel import TimedChannels
from kdiag.probe import PROBE_PREFIX
from kdiag.probe.check.attempts import ConnectionAttempts
from kdiag.probe.check.disks import look_at_disks
from kdiag.probe.check.pings import ping_late_brokers
from kdiag.probe.check.tiers import find_tiers
from kdiag.probe.config_value import broker_settings
from kdiag.probe.coordinator.search import PATIENCE_NS, find_coordinators
from kdiag.probe.groups.listing import ListedGroup, list_groups
from kdiag.probe.groups.members import describe_groups
from kdiag.wire.api.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kdiag.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from kdiag.wire.api.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kdiag.wire.api.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)
from kdiag.wire.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import MAX_VERSION, Struct, Versions

if TYPE_CHECKING:
    from kdiag.client.consumer_network_client import ResponseFuture
    from kdiag.diagnosis.coordinator import CoordinatorFacts

LIMIT_NS: Final = 2 * NS_PER_S
"""How long one round of connections may take; two rounds are seldom both slow."""

OWN_GROUP: Final = "kdiag-check"
"""The group whose coordinator is looked up if the user names none; nobody joins it."""

_LEAST_NS: Final = 800 * NS_PER_MS
_REQUESTS_NS: Final = 4 * NS_PER_S
"""How long all requests after the connections may take."""
_QUORUM_ROUNDS: Final = 3
"""How often all brokers are asked for the controllers: an election takes some 2 s."""
_METADATA: Final = API_BY_KEY[3]
_DESCRIBE_GROUPS: Final = API_BY_KEY[15]
_DESCRIBE_CLUSTER: Final = API_BY_KEY[60]
_OPERATIONS_SINCE: Final = 8
_FENCED_SINCE: Final = 2
_GROUP_VERSIONS: Final = Versions(3, 5)
"""Those that report operations, and report a group that does not exist as dead."""
_TOPIC: Final = 2
_MIN_ISR: Final = "min.insync.replicas"
_MIN_SESSION: Final = "group.min.session.timeout.ms"
_MAX_SESSION: Final = "group.max.session.timeout.ms"
_MAX_TOPICS: Final = 1000

R = TypeVar("R", bound=Struct)

_QUORUM_REQUEST: Final = DescribeQuorumRequest([TopicData("__cluster_metadata", [PartitionData()])])


class CheckPlan(NamedTuple):
    """The extent of a check.

    Attributes:
        topics: to describe by name.
        groups: whose coordinators to look for; without any, that of kdiag's own.
        session_timeout_ms: of the client's configuration, for the facts; None if nobody is to join.
        is_quick: whether to stop at the first answer.
        limit_ns: how long one round of connections may take.
        has_tls: whether connections are encrypted, for the facts.
        login: mechanism and user, for the facts.
        exposure: what the client's configuration gives away, for the facts.
    """

    topics: Sequence[str] = ()
    groups: Sequence[str] = ()
    session_timeout_ms: int | None = None
    is_quick: bool = False
    limit_ns: int = LIMIT_NS
    has_tls: bool = False
    login: str | None = None
    exposure: Exposure = Exposure()


def check(client: ClusterClient, timed: TimedChannels, plan: CheckPlan) -> CheckFacts:
    """Return the facts of a cluster; whatever fails there is a fact, not an error.

    Args:
        client: not connected yet; its deadline may be moved nearer.
        timed: makes the client's channels.
        plan: the extent of the check.
    """
    return _Check(client, timed, plan).run()


class _Check:
    """One check under way."""

    def __init__(self, client: ClusterClient, timed: TimedChannels, plan: CheckPlan) -> None:
        self._client = client
        self._plan = plan
        self._attempts = ConnectionAttempts(client, timed)
        self._nodes: dict[tuple[str, int, int | None], list[Node]] = {}
        self._began_ns = client.clock.monotonic_ns()
        self._facts = CheckFacts(
            epoch_ns=client.clock.epoch_ns(),
            has_tls=plan.has_tls,
            login=plan.login,
            exposure=plan.exposure,
            servers=(),
        )
        self._failures: dict[str, str] = {}
        self._took_ns: dict[str, int] = {}
        self._pending: dict[str, ResponseFuture] = {}

    def run(self) -> CheckFacts:
        """Return the facts."""
        plan, facts = self._plan, self._facts
        facts.is_quick = plan.is_quick
        facts.failures, facts.took_ns = self._failures, self._took_ns
        servers = [(host, port, None) for host, port in self._client.settings.servers]
        lookups = self._begin(servers, plan.limit_ns)
        self._attempts.run(self._left_ns(), until_first=True)
        first = self._attempts.first_answer
        if first is not None:
            node, facts.metadata = first
            nodes = [each for some in self._nodes.values() for each in some]
            self._client.join(Cluster.from_response(facts.metadata), node, nodes)
            if not plan.is_quick:
                self._ask_first(int(node.id))
                self._connect_to_listeners(facts.metadata)
        facts.servers = self._endpoints(servers, lookups)
        if self._pending:
            until_ns = self._client.clock.monotonic_ns() + _REQUESTS_NS
            self._client.deadline_ns = min(self._client.deadline_ns, until_ns)
            self._read_answers()
            self._ask_min_isr()
            if facts.wanted is not None:
                limit_ns = self._left_ns()
                topics, among = facts.wanted.topics, self._usable()
                facts.tiers = list(find_tiers(self._client, topics, among, limit_ns))
            self._ask_coordinator()
            self._find_probes()
            self._ask_quorum_again()
            facts.pings = ping_late_brokers(self._client, facts.listeners)
            facts.log_dirs = look_at_disks(self._client, sorted(self._usable()), plan.limit_ns)
        return facts

    def _ask_first(self, node_id: int) -> None:
        """Send the first node the requests that any broker can answer; the answers come later."""
        requests: dict[str, Struct | RequestBuilder | None] = {
            "cluster": _cluster_request(),
            "topics": metadata_request(None),
            "wanted": _topics_request(self._plan.topics) if self._plan.topics else None,
            # Last: while a broker waits for the controllers, later requests wait as well.
            "quorum": _QUORUM_REQUEST,
        }
        self._pending = {
            name: self._client.send(node_id, request)
            for name, request in requests.items()
            if request is not None
        }

    def _connect_to_listeners(self, metadata: MetadataResponse) -> None:
        """Connect to the brokers by the addresses that they advertise."""
        brokers = sorted(metadata.brokers, key=lambda each: each.node_id)
        listeners = [(each.host, each.port, each.node_id) for each in brokers]
        lookups = self._begin(listeners, self._left_ns())
        self._attempts.run(self._left_ns())
        self._facts.listeners = self._endpoints(listeners, lookups)

    def _read_answers(self) -> None:
        """Read the answers of the node that answered first."""
        facts = self._facts
        facts.cluster = self._answer("cluster", DescribeClusterResponse)
        facts.topics = self._answer("topics", MetadataResponse)
        if facts.topics is not None:
            facts.unseen_topics = hidden_topics(self._client, self._left_ns())
        if "wanted" in self._pending:
            facts.wanted = self._answer("wanted", MetadataResponse)
        facts.quorum = self._answer("quorum", DescribeQuorumResponse)
        is_broker_well = facts.topics is not None
        facts.is_quorum_silent = is_broker_well and not self._pending["quorum"].is_done

    def _ask_quorum_again(self) -> None:
        """Ask all brokers for the controllers if none led, or none answered.

        They may be electing. And a broker waits for the controller that it sent the question to,
        though others have been elected since: another broker asks those.
        """
        facts = self._facts
        for _ in range(_QUORUM_ROUNDS):
            if not facts.is_quorum_silent and _leader_epoch(facts.quorum) is not None:
                return
            questions = dict.fromkeys(sorted(self._usable()), _QUORUM_REQUEST)
            answers = self._client.ask_all(questions, DescribeQuorumResponse, timeout_ns=_LEAST_NS)
            bodies = [each.body for each in answers.values() if each.body is not None]
            if bodies:
                facts.quorum = max(bodies, key=lambda each: _leader_epoch(each) or -1)
                facts.is_quorum_silent = False

    def _left_ns(self) -> int:
        """Return how long a round may take: the rest of the limit, but not too little."""
        now_ns = self._client.clock.monotonic_ns()
        least_ns = max(_LEAST_NS, self._plan.limit_ns - (now_ns - self._began_ns))
        return max(0, min(least_ns, self._client.deadline_ns - now_ns))

    def _begin(
        self, named: Sequence[tuple[str, int, int | None]], limit_ns: int
    ) -> dict[tuple[str, int], Lookup]:
        """Look hosts up and begin to connect to all of their addresses."""
        endpoints = [(host, port) for host, port, _ in named]
        resolve = self._client.settings.network.lookup
        lookups = look_up_all(endpoints, resolve, self._client.clock, limit_ns)
        for key in dict.fromkeys(named):
            host, port, node_id = key
            addresses = lookups[host, port].addresses
            ids = self._node_ids(node_id, len(addresses))
            nodes = zip(ids, addresses, strict=True)
            self._nodes[key] = [Node(each, host, port, address) for each, address in nodes]
            self._attempts.begin(self._nodes[key])
        return lookups

    def _node_ids(self, node_id: int | None, count: int) -> list[str]:
        """Return ids of connections: -1, -2 ... for a bootstrap server, its own for a broker."""
        if node_id is None:
            known = sum(len(each) for each in self._nodes.values())
            return [str(-1 - known - number) for number in range(count)]
        return [
            str(node_id),
            *(f"{node_id} by address {number}" for number in range(2, count + 1)),
        ][:count]

    def _endpoints(
        self,
        named: Iterable[tuple[str, int, int | None]],
        lookups: dict[tuple[str, int], Lookup],
    ) -> list[CheckedEndpoint]:
        return [
            CheckedEndpoint(
                host=host,
                port=port,
                node_id=node_id,
                lookup=lookups[host, port],
                visits=[
                    self._attempts.result(each.id) for each in self._nodes[host, port, node_id]
                ],
            )
            for host, port, node_id in named
        ]

    def _answer(self, stage: str, answer: type[R]) -> R | None:
        """Return an answer; None, with the reason among the failures, if there is none."""
        future = self._pending[stage]
        until_ns = self._client.clock.monotonic_ns() + self._left_ns()
        self._client.client.await_future(future, min(until_ns, self._client.deadline_ns))
        if future.succeeded:
            response = future.value()
            assert isinstance(response.body, answer)
            self._took_ns[stage] = response.rtt_ns or 0
            return response.body
        self._failures[stage] = str(future.error()) if future.failed else "no answer in time"
        return None

    def _ask_min_isr(self) -> None:
        """Ask for min.insync.replicas of topics that have replicas out of sync."""
        topics = self._facts.topics.topics if self._facts.topics else []
        names = [
            topic.name or ""
            for topic in topics
            if any(len(each.isr_nodes) < len(each.replica_nodes) for each in topic.partitions)
        ]
        if not names:
            return
        resources = [DescribeConfigsResource(_TOPIC, name, [_MIN_ISR]) for name in names]
        request = DescribeConfigsRequest(resources[:_MAX_TOPICS])
        try:
            body = self._client.ask_any(
                request, DescribeConfigsResponse, timeout_ns=self._plan.limit_ns
            )
        except KdiagError as error:
            self._failures["min_isr"] = str(error)
            return
        self._facts.min_isr = {
            result.resource_name: int(config.value)
            for result in body.results
            for config in result.configs
            if config.name == _MIN_ISR and config.value and config.value.isdecimal()
        }

    def _ask_coordinator(self) -> None:
        """Ask the reachable brokers who coordinates the groups."""
        facts, groups = self._facts, self._plan.groups
        offsets = CoordinatorKind.GROUP.topic
        exists = facts.topics and any(each.name == offsets for each in facts.topics.topics)
        usable = self._usable()
        if not usable or not (groups or exists):
            return
        facts.groups = groups
        began_ns = self._client.clock.monotonic_ns()
        left_ns = max(0, self._client.deadline_ns - began_ns)
        try:
            found = find_coordinators(
                self._client,
                groups or [OWN_GROUP],
                CoordinatorKind.GROUP,
                among=usable,
                patience_ns=min(PATIENCE_NS, left_ns // 2),  # the rest is for the answers
            )
            facts.coordinator = self._with_unreachable(found)
            self._took_ns["coordinator"] = self._client.clock.monotonic_ns() - began_ns
            for group in groups:
                answers = found.answers[group]
                named = {each.coordinator.node_id for each in answers if each.coordinator}
                self._ask_group(group, sorted(named & usable))
                self._ask_session_limits(group, sorted(named & usable))
            self._ask_members(found, usable)
        except KdiagError as error:
            self._failures["coordinator"] = str(error)

    def _usable(self) -> set[int]:
        """Return the brokers with a listener that can be used from here."""
        return {
            each.node_id for each in self._facts.listeners if each.best and each.node_id is not None
        }

    def _find_probes(self) -> None:
        """Find what probes have left: topics among all, groups on the reachable brokers."""
        known = self._facts.topics.topics if self._facts.topics else []
        names = [each.name or "" for each in known]
        self._facts.probe_topics = [each for each in names if each.startswith(PROBE_PREFIX)]
        limit_ns = self._plan.limit_ns
        listing = list_groups(self._client, limit_ns, among=sorted(self._usable()))
        self._facts.unlisted = listing.failures
        self._facts.probe_groups = [
            name for name in listing.groups if name.startswith(PROBE_PREFIX)
        ]

    def _with_unreachable(self, found: "CoordinatorFacts") -> "CoordinatorFacts":
        """Return what was found, with coordinators as unreachable whose listeners are."""
        named = {
            each.coordinator.node_id
            for answers in found.answers.values()
            for each in answers
            if each.coordinator
        }
        failed = {
            each.node_id: each.errors[0].why
            for each in self._facts.listeners
            if each.node_id in named and each.best is None and each.errors
        }
        return msgspec.structs.replace(found, unreachable={**failed, **found.unreachable})

    def _ask_group(self, group: str, coordinators: Sequence[int]) -> None:
        """Ask the coordinator for the user's permissions on the group."""
        request = DescribeGroupsRequest([group], include_authorized_operations=True)
        builder = RequestBuilder(_DESCRIBE_GROUPS, _GROUP_VERSIONS, lambda _: request)
        for node_id in coordinators[:1]:
            limit_ns = self._plan.limit_ns
            body = self._client.ask(node_id, builder, DescribeGroupsResponse, timeout_ns=limit_ns)
            for described in body.groups:
                if described.error_code:
                    self._failures["group"] = error_name(described.error_code)
                else:
                    known = self._facts.group_operations
                    self._facts.group_operations = {**known, group: described.authorized_operations}

    def _ask_session_limits(self, group: str, coordinators: Sequence[int]) -> None:
        """Ask the coordinator which session timeouts it takes; not everybody may know that."""
        facts, keys = self._facts, (_MIN_SESSION, _MAX_SESSION)
        facts.session_timeout_ms = self._plan.session_timeout_ms
        if facts.session_timeout_ms is None:
            return
        for node_id in coordinators[:1]:
            asked = {each.node_id: each for each in facts.session_limits.values()}
            limits = asked.get(node_id)
            if limits is None:
                told = broker_settings(self._client, node_id, keys, self._plan.limit_ns)
                if set(told) != set(keys):
                    return
                limits = SessionLimits(node_id, *(told[key] for key in keys))
            facts.session_limits = {**facts.session_limits, group: limits}

    def _ask_members(self, found: "CoordinatorFacts", usable: set[int]) -> None:
        """Ask the coordinators how many members the groups have."""
        listed = {
            group: ListedGroup(state.type, state.state, "", each.coordinator.node_id)
            for group, state in found.groups.items()
            for each in found.answers[group]
            if each.coordinator and each.coordinator.node_id in usable
        }
        described = describe_groups(self._client, listed, lambda _: None)
        self._facts.group_members = {
            group: len(each.members)
            for group, each in described.items()
            if each.members is not None
        }


def _leader_epoch(quorum: DescribeQuorumResponse | None) -> int | None:
    """Return the epoch of the controller that leads; None without one.

    Where there is no quorum, or one may not see it, there is nothing to wait for: that is 0.
    """
    partitions = (
        [] if quorum is None else [each for one in quorum.topics for each in one.partitions]
    )
    if any(each.leader_id < 0 for each in partitions):
        return None
    return max((each.leader_epoch for each in partitions), default=0)


def _cluster_request() -> RequestBuilder:
    """Return the request for the cluster's brokers, and the user's permissions on it."""

    def build(version: int) -> DescribeClusterRequest:
        return DescribeClusterRequest(
            include_cluster_authorized_operations=True,
            include_fenced_brokers=version >= _FENCED_SINCE,
        )

    return RequestBuilder(_DESCRIBE_CLUSTER, Versions(0, MAX_VERSION), build)


def _topics_request(names: Sequence[str]) -> RequestBuilder:
    """Return the request for topics, and the user's permissions on each."""
    topics = [MetadataRequestTopic(name=each) for each in names]

    def build(_: int) -> MetadataRequest:
        return MetadataRequest(
            topics=topics, allow_auto_topic_creation=False, include_topic_authorized_operations=True
        )

    return RequestBuilder(_METADATA, Versions(_OPERATIONS_SINCE, MAX_VERSION), build)
