"""Topics of kdiag's own, for probes that write: created for them, and always removed.

    with probe_topic(client, ProbeTopicSettings([1, 2])) as topic:
        topic.leaders  # {0: 1, 1: 2}: partition 0 is led by broker 1, partition 1 by broker 2

Probes never write to a user's topic. Removal has a few seconds of its own, so that the topic is
removed even if the command is interrupted or its time is up.

Source: Kafka's CreateTopics and DeleteTopics; KIP-516 (topic ids), KIP-590 (any broker forwards).
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final, NamedTuple, TypeVar

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.error_reactions import Reaction, described, reaction_to
from kdiag.client.network.request import RequestBuilder, builder_of
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import (
    AuthorizationError,
    ConnectError,
    KdiagError,
    ProbeError,
    RequestTimeoutError,
    UnsupportedVersionError,
)
from kdiag.probe import PROBE_PREFIX
from kdiag.wire.api.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kdiag.wire.api.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import ZERO_UUID, Struct

A = TypeVar("A", bound=Struct)

CLEANUP_NS: Final = 5 * NS_PER_S
"""How long the removal may take beyond the time of the command."""

_CREATION_NS: Final = 30 * NS_PER_S
_DELETE_TOPICS: Final = builder_of(DeleteTopicsRequest())
_FIRST_WITH_STATES: Final = 6
_RETRY_NS: Final = 100 * NS_PER_MS
_NONE: Final = "NONE"
_GONE: Final = frozenset((_NONE, "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"))
_ELSEWHERE: Final = frozenset(("NOT_CONTROLLER", "COORDINATOR_LOAD_IN_PROGRESS"))
_DENIED: Final = frozenset(("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"))


class ProbeTopicSettings(NamedTuple):
    """The topic to create.

    Attributes:
        partition_leaders: the broker to lead each partition, by partition.
        configs: settings of the topic, by Kafka's names.
        replication_factor: the other replicas are on the next brokers by id.
    """

    partition_leaders: Sequence[int]
    configs: Mapping[str, str] = {}
    replication_factor: int = 1


class ProbeTopic(NamedTuple):
    """A topic that exists.

    Attributes:
        name: its name.
        topic_id: sixteen bytes; zeros before Kafka 2.8.
        leaders: the broker that leads each partition.
    """

    name: str
    topic_id: bytes
    leaders: Mapping[int, int]


@contextmanager
def probe_topic(client: ClusterClient, settings: ProbeTopicSettings) -> Iterator[ProbeTopic]:
    """Create a topic, and remove it at the end.

    Args:
        client: connected; used for the topic alone, so that it is not busy at the removal.
        settings: of the topic.

    Raises:
        AuthorizationError: if this user may not create topics.
        ProbeError: if the cluster refuses for another reason, or the topic cannot be removed.
        UnsupportedVersionError: if the client and the broker share no version of CreateTopics.
        RequestTimeoutError: if its partitions are not ready in time.
        KdiagError: if no broker answers.
    """
    name = PROBE_PREFIX + secrets.token_hex(4)
    until_ns = min(client.clock.monotonic_ns() + _CREATION_NS, client.deadline_ns)
    with ExitStack() as ending:
        # The topic may exist even if no answer comes.
        ending.callback(_remove, client, name)
        ending.push(partial(hang_up_if_interrupted, client))
        try:
            _create(client, name, settings, until_ns)
        except (AuthorizationError, ProbeError, UnsupportedVersionError):
            ending.pop_all()
            raise
        yield _led(client, name, len(settings.partition_leaders), until_ns)


def hang_up_if_interrupted(
    client: ClusterClient, kind: type[BaseException] | None, *_: object
) -> None:
    """Give the removal new connections after an interruption in the middle of a request."""
    if kind is not None and not issubclass(kind, Exception):
        client.hang_up()


def _create(client: ClusterClient, name: str, settings: ProbeTopicSettings, until_ns: int) -> None:
    assignments = [
        CreatableReplicaAssignment(index, _replicas(client, leader, settings.replication_factor))
        for index, leader in enumerate(settings.partition_leaders)
    ]
    configs = [CreatableTopicConfig(*each) for each in settings.configs.items()]
    topic = CreatableTopic(name, -1, -1, assignments, configs)
    request = CreateTopicsRequest([topic], timeout_ms=_CREATION_NS // NS_PER_MS)

    def create() -> tuple[str, str | None]:
        result = _ask_controller(client, request, CreateTopicsResponse, until_ns).topics[0]
        return error_name(result.error_code), result.error_message

    error, message = _repeated(client, create, until_ns)
    if error in _DENIED:
        raise AuthorizationError(f"topic {name}: not authorized to create it ({error})")
    if error != _NONE:
        raise ProbeError(f"topic {name}", f"cannot be created: {error}: {message or 'no reason'}")


def _replicas(client: ClusterClient, leader: int, replication_factor: int) -> list[int]:
    """Return the brokers of a partition: its leader, and the next ones by id."""
    others = sorted(
        (each.id for each in client.brokers if each.id != leader),
        key=lambda each: (each < leader, each),
    )
    return [leader, *others[: replication_factor - 1]]


def _led(client: ClusterClient, name: str, partitions: int, until_ns: int) -> ProbeTopic:
    """Wait until all partitions have leaders, and return the topic."""
    error = _NONE
    while (left_ns := until_ns - client.clock.monotonic_ns()) > 0:
        try:
            topic = client.refresh([name], timeout_ns=left_ns).topics.get(name)
        except (ConnectError, RequestTimeoutError):
            if error == _NONE:
                raise
            break  # the time was too short for another answer: the last one says more
        if topic is not None:
            leaders = {each.partition_index: each.leader_id for each in topic.partitions}
            codes = [topic.error_code, *(each.error_code for each in topic.partitions)]
            if len(leaders) == partitions and min(leaders.values()) >= 0 and not any(codes):
                return ProbeTopic(name, topic.topic_id, leaders)
            error = error_name(next(filter(None, codes), 0))
            if error != _NONE and reaction_to("Metadata", error) is Reaction.OVER:
                raise ProbeError(f"topic {name}", f"the brokers answer {described(error)}")
        client.wait(min(_RETRY_NS, left_ns))
    why = "" if error == _NONE else f": {described(error)}"
    raise RequestTimeoutError(f"topic {name}: its partitions were not ready in time{why}")


def _remove(client: ClusterClient, name: str) -> None:
    until_ns = client.clock.monotonic_ns() + CLEANUP_NS
    client.deadline_ns = max(client.deadline_ns, until_ns)
    request = _DELETE_TOPICS._replace(build=partial(_deletion, name))

    def delete() -> tuple[str, str | None]:
        result = _ask_controller(client, request, DeleteTopicsResponse, until_ns).responses[0]
        return error_name(result.error_code), result.error_message

    try:
        error, message = _repeated(client, delete, until_ns)
    except KdiagError as failure:
        raise ProbeError(f"topic {name}", f"remove it yourself: {failure}") from failure
    if error not in _GONE:
        why = f"remove it yourself, for it could not be: {error}: {message or 'no reason'}"
        raise ProbeError(f"topic {name}", why)


def _deletion(name: str, version: int) -> DeleteTopicsRequest:
    """Return the request that deletes a topic; its names are elsewhere since version 6."""
    states = [DeleteTopicState(name, ZERO_UUID)] if version >= _FIRST_WITH_STATES else []
    return DeleteTopicsRequest(states, [name], CLEANUP_NS // NS_PER_MS)


def _repeated(
    client: ClusterClient, do: Callable[[], tuple[str, str | None]], until_ns: int
) -> tuple[str, str | None]:
    """Repeat a request until the controller itself answers; return its error and message."""
    while True:
        error, message = do()
        if error not in _ELSEWHERE or client.clock.monotonic_ns() >= until_ns:
            return error, message
        client.wait(_RETRY_NS)
        client.refresh()


def _ask_controller(
    client: ClusterClient, request: Struct | RequestBuilder, answer: type[A], until_ns: int
) -> A:
    """Return the controller's answer; with KRaft any broker forwards the request to it."""
    timeout_ns = max(0, until_ns - client.clock.monotonic_ns())
    controller = client.cluster.controller_id
    if controller in client.cluster.brokers:
        return client.ask(controller, request, answer, timeout_ns=timeout_ns)
    return client.ask_any(request, answer, timeout_ns=timeout_ns)
