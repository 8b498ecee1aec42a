"""Committed offsets of a group, as a member asks for them before it reads.

An offset that was committed within a transaction which is still open counts only once that ends:
the coordinator is asked again until then (KIP-447). A request that was interrupted, by a deadline
or a wakeup, is waited for by the next call for the same partitions.

Source: Kafka's `ConsumerCoordinator.fetchCommittedOffsets`, `OffsetFetchResponseHandler`; KIP-709
(one request for many groups).
"""

from collections import defaultdict
from collections.abc import Collection
from typing import Any, Final, NamedTuple

from kdiag.client.error_reactions import is_moved
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.coordinator_lookup import Coordinated
from kdiag.client.group.member import OffsetAndMetadata
from kdiag.client.group.membership import Generation
from kdiag.client.group.refusals import refusal
from kdiag.client.network.backoff import ExponentialBackoff
from kdiag.client.network.request import RequestBuilder
from kdiag.client.request_future import RequestFuture
from kdiag.clock import NS_PER_S
from kdiag.errors import AuthorizationError, GroupError, KdiagError, RequestTimeoutError
from kdiag.wire import api_keys
from kdiag.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import Versions

Committed = dict[PartitionKey, OffsetAndMetadata]

_MOMENT_NS: Final = 1 * NS_PER_S
"""So long most transactions take: until then offsets that wait for one are asked for again."""

_FIRST_WITH_GROUPS: Final = 8
_FIRST_WITH_STABLE: Final = 7
_LAST_WITH_NAMES: Final = 9


class UnstableOffsetsError(GroupError):
    """Offsets of a group are in a transaction that is open: they may be asked for later.

    Attributes:
        keys: the partitions.
    """

    def __init__(self, refused: GroupError, keys: frozenset[PartitionKey]) -> None:
        super().__init__(refused.group_id, refused.error, refused.why, is_retriable=True)
        self.keys = keys


class _Pending(NamedTuple):
    """A request that somebody may still want the answer of."""

    keys: frozenset[PartitionKey]
    generation: Generation | None
    future: RequestFuture[Committed]


class CommittedOffsets:
    """Asks the coordinator for the offsets of one group."""

    def __init__(self, member: Coordinated) -> None:
        """Begin with nothing asked; an answer from another generation will not be used."""
        self._lookup = member.lookup
        self._membership = member.membership
        self._settings = settings = member.settings
        self._client = member.client
        self._clock = member.clock
        self._backoff = ExponentialBackoff(
            settings.retry_backoff_ns, settings.retry_backoff_max_ns, jitter=settings.jitter
        )
        self._pending: _Pending | None = None

    def fetch(self, keys: Collection[PartitionKey], deadline_ns: int) -> Committed:
        """Return the committed offsets of partitions, of those that have any.

        Raises:
            AuthorizationError: if the user may not read one of the topics.
            UnstableOffsetsError: if they are in an open transaction for longer than a moment.
            GroupError: if the coordinator refuses, or does not know a partition.
            RequestTimeoutError: if there is no answer by the deadline.
            WakeupError: if another thread ends the wait.
        """
        attempts, last = 0, ""
        moment_ns = min(deadline_ns, self._clock.monotonic_ns() + _MOMENT_NS)
        while keys:
            if not self._lookup.ensure_ready(deadline_ns):
                break
            future = self._request(frozenset(keys))
            if not self._client.await_future(future, deadline_ns):
                break
            self._pending = None
            if future.succeeded:
                return future.value()
            if not future.is_retriable:
                raise future.error()
            last = f"; its last answer: {future.error()}"
            now_ns = self._clock.monotonic_ns()
            if now_ns >= moment_ns and isinstance(future.error(), UnstableOffsetsError):
                raise future.error()
            if now_ns >= deadline_ns:
                break
            until_ns = min(deadline_ns, now_ns + self._backoff.after(attempts))
            self._client.await_condition(lambda: False, until_ns)
            attempts += 1
        else:
            return {}
        raise RequestTimeoutError(
            f"group {self._settings.group_id}: the coordinator has not returned the committed "
            f"offsets in time{last}"
        )

    def _request(self, keys: frozenset[PartitionKey]) -> RequestFuture[Committed]:
        """Return the future of a request, which may have been sent by a former call."""
        generation = self._membership.stable_generation
        pending = self._pending
        if pending is None or (pending.keys, pending.generation) != (keys, generation):
            future = self._lookup.send(self._builder(keys), self._handle_response)
            self._pending = pending = _Pending(keys, generation, future)
        return pending.future

    def _builder(self, keys: frozenset[PartitionKey]) -> RequestBuilder:
        """Return the request, about one group in either form."""
        topics: dict[str, list[int]] = defaultdict(list)
        for key in sorted(keys):
            topics[key.topic].append(key.partition)
        group_id = self._settings.group_id

        def build(version: int) -> OffsetFetchRequest:
            if version >= _FIRST_WITH_GROUPS:
                asked = [
                    OffsetFetchRequestTopics(name=name, partition_indexes=each)
                    for name, each in topics.items()
                ]
                group = OffsetFetchRequestGroup(group_id=group_id, topics=asked)
                return OffsetFetchRequest(groups=[group], require_stable=True)
            return OffsetFetchRequest(
                group_id=group_id,
                topics=[OffsetFetchRequestTopic(*each) for each in topics.items()],
                require_stable=version >= _FIRST_WITH_STABLE,
            )

        versions = Versions(0, _LAST_WITH_NAMES)
        return RequestBuilder(API_BY_KEY[api_keys.OFFSET_FETCH], versions, build)

    def _handle_response(self, body: OffsetFetchResponse, future: RequestFuture[Committed]) -> None:
        """Complete the future with the offsets, or fail it."""
        group: Any = body.groups[0] if body.groups else body
        if group.error_code:
            future.fail(self._refused(group.error_code))
            return
        offsets: Committed = {}
        errors: dict[PartitionKey, int] = {}
        for topic in group.topics:
            for each in topic.partitions:
                key = PartitionKey(topic.name, each.partition_index)
                if each.error_code:
                    errors[key] = each.error_code
                elif each.committed_offset >= 0:
                    offsets[key] = OffsetAndMetadata(
                        each.committed_offset, each.committed_leader_epoch, each.metadata or ""
                    )
        error = self._partition_error(errors)
        if error is None:
            future.complete(offsets)
        else:
            future.fail(error)

    def _refused(self, error_code: int) -> KdiagError:
        """Return the error for an error code about the whole group."""
        if is_moved("OffsetFetch", error_name(error_code)):
            self._lookup.mark_unknown()
        return refusal(self._settings, error_code, "OffsetFetch")

    def _partition_error(self, errors: dict[PartitionKey, int]) -> KdiagError | None:
        """Return the error for those of partitions; None if there are none."""
        names = {key: error_name(code) for key, code in errors.items()}
        denied = {key.topic for key, name in names.items() if name == "TOPIC_AUTHORIZATION_FAILED"}
        soft = {"TOPIC_AUTHORIZATION_FAILED", "UNSTABLE_OFFSET_COMMIT"}
        hard = [key for key, name in names.items() if name not in soft]
        if hard:
            key = hard[0]
            why = f"the coordinator does not tell the committed offset of {key}"
            return GroupError(self._settings.group_id, names[key], why)
        if denied:
            return AuthorizationError(
                f"the user may not read {', '.join(sorted(denied))}; allow the operation READ on it"
            )
        if errors:
            refused = refusal(self._settings, next(iter(errors.values())))
            return UnstableOffsetsError(refused, frozenset(errors))
        return None
