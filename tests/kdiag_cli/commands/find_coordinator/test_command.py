"""`kdiag find-coordinator`: what it takes."""

from programs.kdiag_program import kdiag
from tiers.cases import for_each


@for_each(
    ("arguments", "why"),
    [
        ([], "give names, or --moves alone"),
        (["orders", "--moves"], "give names, or --moves alone"),
        (["orders", "--txn", "--share"], "choose one of --txn and --share"),
        (["orders", "--watch", "--interval", "soon"], "'soon' is not a duration"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_asked(arguments: list[str], why: str) -> None:
    """Exit code 2, and the message says what would be right."""
    done = kdiag("find-coordinator", "-b", "localhost:1", *arguments)
    assert done.code == 2
    assert why in done.err


def test_nothing_listens_is_said_with_the_fix() -> None:
    """Exit code 3, the layer by its name, nothing on stdout."""
    done = kdiag("find-coordinator", "-b", "localhost:1", "orders")
    assert (done.code, done.out) == (3, "")
    assert "TCP: connection refused" in done.err
    assert "Start the broker" in done.err
