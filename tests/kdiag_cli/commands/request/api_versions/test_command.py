"""`kdiag api-versions`: what it takes."""

import pytest

from programs.kdiag_program import kdiag


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--api", "Produse"], "no API is called 'Produse'; did you mean Produce?"),
        (["--to", "everywhere"], "'everywhere' is not a destination"),
        (["--timeout", "soon"], "'soon' is not a duration"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_asked(arguments: list[str], why: str) -> None:
    """Exit code 2, and the message says what would be right."""
    done = kdiag("api-versions", "-b", "localhost:1", *arguments)
    assert (done.code, done.out) == (2, "")
    assert why in done.err


def test_nothing_listens_is_said_with_the_fix() -> None:
    """Exit code 3, the layer by its name, nothing on stdout."""
    done = kdiag("api-versions", "-b", "localhost:1")
    assert (done.code, done.out) == (3, "")
    assert "TCP: connection refused" in done.err
