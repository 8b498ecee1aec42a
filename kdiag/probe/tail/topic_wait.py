"""Waits for topics that are still to be created.

    wait = TopicWait(client, [parse_selector("orders")])
    while (missing := wait.look()) is not None:
        client.wait(TopicWait.INTERVAL_NS)
    wait.selectors                      orders:new

A topic that came while somebody waited for it is new: it is read from its beginning.
"""

from collections.abc import Sequence
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.network.metadata import Cluster
from kdiag.clock import NS_PER_S
from kdiag.errors import ConfigError
from kdiag.probe.tail.topic_selection import TopicSelector, names_to_ask, select
from kdiag.wire.error_code import error_name

_TO_COME: Final = frozenset({"NONE", "UNKNOWN_TOPIC_OR_PARTITION", "LEADER_NOT_AVAILABLE"})


class TopicWait:
    """Looks whether topics exist.

    Attributes:
        selectors: select the topics; those that were missing at the first look from their
            beginnings.
    """

    INTERVAL_NS: Final = NS_PER_S // 2

    def __init__(self, client: ClusterClient, selectors: Sequence[TopicSelector]) -> None:
        self.selectors = list(selectors)
        self._client = client
        self._is_first = True

    def look(self) -> ConfigError | None:
        """Return what does not exist yet; None once all does.

        Raises:
            ConfigError: if a topic can never exist.
            AuthorizationError: if a topic may not be described.
            KdiagError: if the cluster cannot be asked.
        """
        cluster = self._client.refresh(names_to_ask(self.selectors))
        missing = [_missing(each, cluster) for each in self.selectors]
        if self._is_first:
            self.selectors = [
                each if error is None or each.partitions is not None else _from_beginning(each)
                for each, error in zip(self.selectors, missing, strict=True)
            ]
        self._is_first = False
        return next((error for error in missing if error is not None), None)


def _missing(selector: TopicSelector, cluster: Cluster) -> ConfigError | None:
    """Return why a selector selects nothing yet.

    Raises:
        ConfigError: if it never will.
    """
    must_be = selector._replace(takes_new=False) if selector.is_pattern else selector
    try:
        select([must_be], cluster)
    except ConfigError as error:
        named = cluster.topics.get(selector.pattern)
        if named is not None and error_name(named.error_code) not in _TO_COME:
            raise
        return error
    return None


def _from_beginning(selector: TopicSelector) -> TopicSelector:
    return selector._replace(partitions={}, takes_new=True)
