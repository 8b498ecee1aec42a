import pytest
import typer

from kdiag_cli.options.apis import ApiKeys, read_api, read_api_keys
from tiers.cases import for_each


@for_each(
    "text",
    ["FindCoordinator", "findcoordinator", "find-coordinator", "FindCoordinatorRequest", "10"],
)
def test_an_api_is_found_however_its_name_is_written(text: str) -> None:
    """Or by its number."""
    assert read_api(text).name == "FindCoordinator"


@pytest.mark.parametrize(
    ("text", "why"),
    [("Fetsch", "did you mean Fetch"), ("999", "names are as Fetch"), ("", "names are as Fetch")],
)
def test_an_unknown_api_is_refused_with_those_that_are_near(text: str, why: str) -> None:
    """A typing mistake costs one look."""
    with pytest.raises(typer.BadParameter, match=why):
        read_api(text)


def test_keys_come_of_names_in_any_case_or_are_keys_already() -> None:
    """Several at once with commas; a key may be one that kdiag does not know."""
    assert read_api_keys("fetch") == ApiKeys({1})
    assert read_api_keys("PRODUCE,joinGroup,999") == ApiKeys({0, 11, 999})


@pytest.mark.parametrize("text", ["Fech", "Fetch,Fech", "fetch, Fech"])
def test_one_unknown_name_of_several_is_refused(text: str) -> None:
    """A typing mistake should not look like an empty capture."""
    with pytest.raises(typer.BadParameter, match="did you mean Fetch"):
        read_api_keys(text)
