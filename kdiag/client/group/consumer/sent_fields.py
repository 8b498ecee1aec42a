"""Heartbeats by the consumer protocol: what each has to say that the broker does not know.

The first one, with epoch 0, has everything; the others have only what has changed since the last
one that was answered. After an error, nobody knows what the broker knows, and the next one has
everything again. A broker that does not match patterns itself (version 0) is told names.

Source: Kafka's `ConsumerHeartbeatRequestManager.HeartbeatState`; KIP-848, KIP-1082 (member ids).
"""

from typing import Final, NamedTuple

from kdiag.client.group.consumer.local_assignment import LocalAssignment
from kdiag.client.group.member import MemberSettings
from kdiag.client.network.request import RequestBuilder
from kdiag.clock import NS_PER_MS
from kdiag.wire import api_keys
from kdiag.wire.api.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.schema import ALL_VERSIONS

INT_MAX: Final = 2**31 - 1
_FIRST_WITH_PATTERN: Final = 1


class HeartbeatFields(NamedTuple):
    """What a member is at a moment.

    Attributes:
        member_id: its own.
        member_epoch: 0 to join, -1 to leave, -2 to leave as a static member that comes back.
        names: the topics that it wants, sorted.
        pattern: the regular expression that they are from; None for a list.
        assignor: the broker's assignor that it asks for; None for the broker's choice.
        assignment: what it owns.
        is_joining: whether the broker knows nothing of it.
    """

    member_id: str
    member_epoch: int
    names: list[str]
    pattern: str | None
    assignor: str | None
    assignment: LocalAssignment
    is_joining: bool


class SentFields:
    """Knows what the broker was told."""

    def __init__(self, settings: MemberSettings) -> None:
        self._settings = settings
        self._sent: HeartbeatFields | None = None

    def reset(self) -> None:
        """Tell everything with the next heartbeat."""
        self._sent = None

    def leave(self, fields: HeartbeatFields) -> RequestBuilder:
        """Return the last heartbeat, which says nothing but that."""
        self.reset()
        message = self._start(fields)
        return RequestBuilder(_API, ALL_VERSIONS, lambda _: message)

    def next(self, fields: HeartbeatFields) -> RequestBuilder:
        """Return a heartbeat with what the broker does not know; from then on it does."""
        sent = None if fields.is_joining else self._sent
        self._sent = fields
        settings = self._settings
        message = self._start(fields)
        if sent is None:
            message.rebalance_timeout_ms = min(settings.max_poll_interval_ns // NS_PER_MS, INT_MAX)
            message.rack_id = settings.rack
        if sent is None or sent.assignor != fields.assignor:
            message.server_assignor = fields.assignor
        if sent is None or sent.assignment != fields.assignment:
            message.topic_partitions = [] if fields.is_joining else fields.assignment.by_topic()

        def build(version: int) -> ConsumerGroupHeartbeatRequest:
            has_patterns = version >= _FIRST_WITH_PATTERN
            is_matched = has_patterns and fields.pattern is not None
            if has_patterns and sent is not None and sent.pattern and fields.pattern is None:
                message.subscribed_topic_regex = ""
            if is_matched and (sent is None or sent.pattern != fields.pattern):
                message.subscribed_topic_regex = fields.pattern
                message.subscribed_topic_names = []
            elif not is_matched and (sent is None or sent.names != fields.names):
                message.subscribed_topic_names = fields.names
            return message

        return RequestBuilder(_API, ALL_VERSIONS, build)

    def _start(self, fields: HeartbeatFields) -> ConsumerGroupHeartbeatRequest:
        """Return what every heartbeat has."""
        return ConsumerGroupHeartbeatRequest(
            group_id=self._settings.group_id,
            member_id=fields.member_id,
            member_epoch=fields.member_epoch,
            instance_id=self._settings.group_instance_id,
        )


_API: Final = API_BY_KEY[api_keys.CONSUMER_GROUP_HEARTBEAT]
