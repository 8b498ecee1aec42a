import pytest

from kdiag.wire.api.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient
from tiers.cases import for_each


def ask(client: LabClient, *components: ComponentData) -> DescribeClientQuotasResponse:
    """Return the answer to a filter."""
    request = DescribeClientQuotasRequest(components=[*components])
    return client.ask(request, DescribeClientQuotasResponse, 1)


def part(entity_type: str, match_type: int = 0, match: str | None = "one") -> ComponentData:
    """Return a part of a filter."""
    return ComponentData(entity_type=entity_type, match_type=match_type, match=match)


@pytest.mark.parametrize(
    "components",
    [(), (part("user"), part("client-id", 1, None)), (part("ip", 2, None),)],
    ids=["none", "two", "any address"],
)
def test_there_are_none(client: LabClient, components: tuple[ComponentData, ...]) -> None:
    """Whatever is asked for."""
    response = ask(client, *components)
    assert (error_name(response.error_code), response.entries) == ("NONE", [])


@for_each(
    ("components", "error"),
    [
        ((part(""),), "INVALID_REQUEST"),
        ((part("user"), part("user", 1, None)), "INVALID_REQUEST"),
        ((part("host"),), "UNSUPPORTED_VERSION"),
        ((part("user", 3),), "INVALID_REQUEST"),
        ((part("user", 0, None),), "INVALID_REQUEST"),
        ((part("user", 1),), "INVALID_REQUEST"),
        ((part("ip"), part("user")), "INVALID_REQUEST"),
    ],
)
def test_what_nothing_can_match_is_refused(
    client: LabClient, components: tuple[ComponentData, ...], error: str
) -> None:
    """With a reason."""
    response = ask(client, *components)
    assert error_name(response.error_code) == error
    assert response.entries is None
    assert response.error_message
