"""The topics that a member wants, and the names of those that it is assigned.

The broker names topics by their ids. A member that has a list knows the ids of these; one that has
a pattern asks for all topics, and also matches them itself, for brokers that cannot. An id that is
not known yet is waited for: the metadata are asked for again.

Source: Kafka's `AbstractMembershipManager.findResolvableAssignmentAndTriggerMetadataUpdate`;
KIP-848 (regular expressions).
"""

from collections.abc import Collection

from kdiag.client.group.member import MemberSettings, TopicSubscription
from kdiag.client.network.metadata_updater import FollowingMetadataUpdater


class SubscribedTopics:
    """Follows the topics of one member.

    Attributes:
        wanted: a list of topics, or a pattern.
    """

    def __init__(
        self,
        wanted: TopicSubscription,
        updater: FollowingMetadataUpdater,
        settings: MemberSettings,
    ) -> None:
        """Begin to follow them.

        Raises:
            ConfigError: if the pattern is not a regular expression.
        """
        self._updater = updater
        self._names: dict[bytes, str] = {}
        self.wanted = wanted
        updater.follow((), settings.refresh_times)
        self.subscribe(wanted)

    @property
    def pattern(self) -> str | None:
        """Return the regular expression, for brokers that match it."""
        return self.wanted.pattern

    @property
    def is_ready(self) -> bool:
        """Return whether the topics are known that a pattern may match."""
        return self.wanted.pattern is None or not self._updater.is_stale

    def subscribe(self, wanted: TopicSubscription) -> None:
        """Want something else from now on.

        Raises:
            ConfigError: if the pattern is not a regular expression.
        """
        wanted.matching(())
        self.wanted = wanted
        self._updater.follow(None if wanted.pattern is not None else wanted.topics)

    def names(self) -> list[str]:
        """Return the topics of the list, or those that match the pattern: none of Kafka's own."""
        topics = self._updater.cluster.topics
        visible = [name for name, each in topics.items() if name and not each.is_internal]
        return sorted(self.wanted.matching(visible))

    def names_of(self, ids: Collection[bytes]) -> dict[bytes, str]:
        """Return the names of topics, of those that are known.

        If there are others, the metadata will be asked for. The name of a topic that is assigned
        is kept, as it may be deleted before its partitions are given up.
        """
        found = {each.topic_id: name for name, each in self._updater.cluster.topics.items() if name}
        known = {**self._names, **found}
        self._names = {each: known[each] for each in ids if each in known}
        if len(self._names) < len(set(ids)):
            self._updater.request_update()
        return self._names

    def forget_names(self) -> None:
        """Forget the names that are kept."""
        self._names = {}
