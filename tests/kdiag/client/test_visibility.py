from collections.abc import Callable, Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.visibility import hidden_groups, hidden_topics, hidden_transactions
from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.describe_transactions import DescribeTransactionsResponse, TransactionState
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseTopic
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.schema import Struct
from scripted_kafka.scripted_broker import HOLD, offering
from scripted_kafka.scripted_cluster import ScriptedCluster
from tiers.cases import for_each

Hidden = Callable[[ClusterClient, int | None], str | None]


def topic(error: str) -> MetadataResponse:
    """Return what Metadata answers about a topic."""
    return MetadataResponse(topics=[MetadataResponseTopic(error_code=CODE_BY_NAME[error])])


def transaction(error: str) -> DescribeTransactionsResponse:
    """Return what is answered about a transactional id."""
    return DescribeTransactionsResponse(transaction_states=[TransactionState(CODE_BY_NAME[error])])


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """One broker."""
    with ScriptedCluster(1) as brokers:
        yield brokers


@pytest.fixture
def client(cluster: ScriptedCluster) -> Iterator[ClusterClient]:
    """Yield a client that knows it."""
    with cluster.client() as connected:
        yield connected


CASES = [
    (hidden_groups, DescribeClusterResponse(cluster_authorized_operations=1 << 8), None),
    (hidden_groups, DescribeClusterResponse(), None),
    (hidden_groups, DescribeClusterResponse(cluster_authorized_operations=1 << 3), "list only"),
    (hidden_groups, DescribeClusterResponse(error_code=-1), "known: UNKNOWN_SERVER_ERROR"),
    (hidden_topics, topic("NONE"), None),
    (hidden_topics, topic("UNKNOWN_TOPIC_OR_PARTITION"), None),
    (hidden_topics, topic("TOPIC_AUTHORIZATION_FAILED"), "list only the topics"),
    (hidden_transactions, transaction("TRANSACTIONAL_ID_NOT_FOUND"), None),
    (hidden_transactions, transaction("NOT_COORDINATOR"), None),
    (hidden_transactions, transaction("TRANSACTIONAL_ID_AUTHORIZATION_FAILED"), "list only the tr"),
]
APIS: dict[Hidden, str] = {
    hidden_groups: "DescribeCluster",
    hidden_topics: "Metadata",
    hidden_transactions: "DescribeTransactions",
}


@for_each(("hidden", "answer", "said"), CASES)
def test_what_is_refused_by_name_may_be_missing_from_lists(
    hidden: Hidden,
    answer: Struct,
    said: str | None,
    cluster: ScriptedCluster,
    client: ClusterClient,
) -> None:
    """Any other answer means that nothing is left out."""
    cluster.on(APIS[hidden], answer)
    why = hidden(client, None)
    assert (why is None) is (said is None)
    assert (said or "") in (why or "")


@for_each(("hidden",), [(each,) for each in APIS])
def test_no_answer_is_no_proof(
    hidden: Hidden, cluster: ScriptedCluster, client: ClusterClient
) -> None:
    """That there is nothing else is not known, then."""
    cluster.on(APIS[hidden], HOLD)
    why = hidden(client, 50_000_000)
    assert why is not None
    assert " are listed is not known: " in why


def test_what_old_brokers_cannot_say_is_not_doubted(cluster: ScriptedCluster) -> None:
    """They have no such request."""
    cluster.on("ApiVersions", offering(DescribeCluster=(0, -1), DescribeTransactions=(0, -1)))
    with cluster.client() as client:
        assert hidden_groups(client) is None
        assert hidden_transactions(client) is None
