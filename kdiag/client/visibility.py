"""What brokers leave out of their lists without a word: what the user may not DESCRIBE.

    ListGroups         the groups that the user may describe; DESCRIBE on the cluster shows all
    Metadata           the topics that the user may describe
    ListTransactions   the transactional ids that the user may describe

An empty list proves nothing, then. Whether a list is whole, another request shows: a topic or an id
that the user has not been given by name is refused unless the user may describe all of its kind.

Source: Kafka's KafkaApis, AuthHelper; KIP-430 (authorized operations).
"""

from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.network.metadata import metadata_request
from kdiag.clock import NS_PER_S
from kdiag.errors import (
    ConnectError,
    DisconnectedError,
    RequestTimeoutError,
    UnsupportedVersionError,
)
from kdiag.wire.api.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kdiag.wire.api.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kdiag.wire.api.metadata import MetadataResponse
from kdiag.wire.error_code import error_name

_ANY_TOPIC: Final = "__consumer_offsets"
"""Refused, like any other, whether it exists or not."""
_ANY_ID: Final = "kdiag.any.transactional.id"
_DESCRIBE: Final = 1 << 8
_NOT_REPORTED: Final = -(1 << 31)
_LIMIT_NS: Final = 4 * NS_PER_S
_UNREACHABLE: Final = (ConnectError, DisconnectedError, RequestTimeoutError)


def hidden_groups(client: ClusterClient, limit_ns: int | None = _LIMIT_NS) -> str | None:
    """Return why there may be more groups than brokers list; None if there are not.

    Args:
        client: connected.
        limit_ns: how long that may take to find out; None for the client's own limit.
    """
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    try:
        body = client.ask_any(
            request, DescribeClusterResponse, timeout_ns=limit_ns, is_harmless=True
        )
    except UnsupportedVersionError:
        return None  # before Kafka 2.8, no request shows it
    except _UNREACHABLE as error:
        return _unsure("groups", str(error))
    if body.error_code:
        return _unsure("groups", error_name(body.error_code))
    bits = body.cluster_authorized_operations
    is_whole = bits == _NOT_REPORTED or bits & _DESCRIBE
    return None if is_whole else _partial("groups", "DESCRIBE on the cluster")


def hidden_topics(
    client: ClusterClient, limit_ns: int | None = _LIMIT_NS, *, name: str = _ANY_TOPIC
) -> str | None:
    """Return why there may be more topics than brokers list, of those that are like a name."""
    request = metadata_request([name])
    try:
        body = client.ask_any(request, MetadataResponse, timeout_ns=limit_ns, is_harmless=True)
    except _UNREACHABLE as error:
        return _unsure("topics", str(error))
    errors = {error_name(each.error_code) for each in body.topics}
    is_whole = "TOPIC_AUTHORIZATION_FAILED" not in errors
    which = "all topics" if name == _ANY_TOPIC else f"topics such as {name}"
    return None if is_whole else _partial("topics", f"DESCRIBE on {which}")


def hidden_transactions(client: ClusterClient, limit_ns: int | None = _LIMIT_NS) -> str | None:
    """Return why there may be more transactions than brokers list; likewise."""
    request = DescribeTransactionsRequest([_ANY_ID])
    try:
        body = client.ask_any(
            request, DescribeTransactionsResponse, timeout_ns=limit_ns, is_harmless=True
        )
    except UnsupportedVersionError:
        return None  # nor is any listed: before Kafka 3.0
    except _UNREACHABLE as error:
        return _unsure("transactions", str(error))
    errors = {error_name(each.error_code) for each in body.transaction_states}
    is_whole = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" not in errors
    return None if is_whole else _partial("transactions", "DESCRIBE on all transactional ids")


def _partial(kind: str, right: str) -> str:
    return f"brokers list only the {kind} that you may describe: for all, you need {right}"


def _unsure(kind: str, why: str) -> str:
    return f"whether all {kind} are listed is not known: {why}"
