import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.coordinator.runtime.coordinator_runtime import CoordinatorRuntime
from kdiag.wire.api.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kdiag.wire.error_code import error_name
from lab_ends.transacting_client import NAME, TransactingClient
from tiers.cases import for_each


def listed(
    producer: TransactingClient, request: ListTransactionsRequest, version: int = 2
) -> list[str]:
    """Return the names that are told."""
    response = producer.client.ask(request, ListTransactionsResponse, version)
    assert response.unknown_state_filters == [
        each for each in request.state_filters if each == "Lost"
    ]
    return [each.transactional_id for each in response.transaction_states]


@for_each(
    ("request_of", "version", "count"),
    [
        ({}, 0, 1),
        ({"state_filters": ["Ongoing", "Lost"]}, 0, 1),
        ({"state_filters": ["Empty"]}, 0, 0),
        ({"producer_id_filters": [0]}, 1, 1),
        ({"producer_id_filters": [77]}, 1, 0),
        ({"duration_filter": 3_600_000}, 1, 0),
        ({"transactional_id_pattern": "pay.*"}, 2, 1),
        ({"transactional_id_pattern": "pay"}, 2, 0),
    ],
)
def test_only_what_is_asked_for_is_told(
    producer: TransactingClient, request_of: dict[str, object], version: int, count: int
) -> None:
    """By state, producer id, duration and name."""
    producer.add("orders", 0)
    request = ListTransactionsRequest(**request_of)  # type: ignore[arg-type]
    assert listed(producer, request, version) == [NAME] * count


def test_a_pattern_that_is_none_is_refused(producer: TransactingClient) -> None:
    """With an error for the whole."""
    request = ListTransactionsRequest(transactional_id_pattern="(")
    response = producer.client.ask(request, ListTransactionsResponse, 2)
    assert error_name(response.error_code) == "INVALID_REGULAR_EXPRESSION"


def test_what_is_being_read_is_not_told_in_part(
    lab: LabCluster, producer: TransactingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client asks again."""
    assert lab.nodes
    monkeypatch.setattr(CoordinatorRuntime, "is_loading", property(lambda _: True))
    response = producer.client.ask(ListTransactionsRequest(), ListTransactionsResponse, 2)
    monkeypatch.undo()
    assert error_name(response.error_code) == "COORDINATOR_LOAD_IN_PROGRESS"
