import pytest

from kdiag.lab.controller.refusal import RequestRefusedError, check_named_once


def test_a_refusal_has_the_number_of_its_error() -> None:
    """And says what was expected."""
    error = RequestRefusedError("TOPIC_ALREADY_EXISTS", "there is one")
    assert error.code == 36
    assert str(error) == "TOPIC_ALREADY_EXISTS: there is one"


def test_a_topic_stands_once_in_a_request() -> None:
    """Twice is refused."""
    check_named_once(is_twice=False)
    with pytest.raises(RequestRefusedError, match="INVALID_REQUEST"):
        check_named_once(is_twice=True)
