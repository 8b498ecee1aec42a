from kdiag.wire.catalog import API_BY_KEY
from kdiag_schema.api_purpose import API_PURPOSE


def test_every_api_has_a_sentence_that_fits_a_line() -> None:
    """It opens the module as the first line of its docstring."""
    assert API_PURPOSE.keys() == API_BY_KEY.keys()
    assert [key for key, text in API_PURPOSE.items() if len(text) > 97 or text[-1] != "."] == []


def test_no_two_apis_have_the_same_sentence() -> None:
    """A sentence says what is special about its API."""
    assert len(set(API_PURPOSE.values())) == len(API_PURPOSE)
