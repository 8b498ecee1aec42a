"""Reads settings of a broker or of a topic, as numbers: what probes do without if they must.

Source: Kafka's DescribeConfigs.
"""

from collections.abc import Sequence
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.errors import KdiagError
from kdiag.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)

_TOPIC: Final = 2
_BROKER: Final = 4


def topic_setting(
    client: ClusterClient, topic: str, key: str, timeout_ns: int | None = None
) -> int | None:
    """Return a setting of a topic; None if the user may not read it, or nobody answers."""
    resource = DescribeConfigsResource(_TOPIC, topic, [key])
    try:
        request = DescribeConfigsRequest([resource])
        body = client.ask_any(request, DescribeConfigsResponse, timeout_ns=timeout_ns)
    except KdiagError:
        return None  # nothing depends on it alone
    return _value(body, key)


def broker_setting(client: ClusterClient, key: str) -> int | None:
    """Return a setting of the first broker, which all are taken to share; None likewise."""
    return broker_settings(client, client.brokers[0].id, [key]).get(key)


def broker_settings(
    client: ClusterClient, node_id: int, keys: Sequence[str], timeout_ns: int | None = None
) -> dict[str, int]:
    """Return settings of a broker, without those that the user may not read; none likewise."""
    resource = DescribeConfigsResource(_BROKER, str(node_id), list(keys))
    try:
        request = DescribeConfigsRequest([resource])
        body = client.ask(node_id, request, DescribeConfigsResponse, timeout_ns=timeout_ns)
    except KdiagError:
        return {}  # as above
    values = {key: _value(body, key) for key in keys}
    return {key: value for key, value in values.items() if value is not None}


def _value(body: DescribeConfigsResponse, key: str) -> int | None:
    configs = [each for result in body.results for each in result.configs]
    return next((int(each.value) for each in configs if each.name == key and each.value), None)
