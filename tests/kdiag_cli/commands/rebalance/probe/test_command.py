from programs.kdiag_program import kdiag
from tiers.cases import for_each


@for_each(
    ("arguments", "why"),
    [
        (["--members", "2"], "--members"),
        (["--partitions", "4"], "must be more than --members"),
        (["--protocol", "share"], "--protocol"),
        (["--cause", "coordinator_moved"], "--cause"),
        (["--group", "orders"], "say --i-know"),
        (["--i-know"], "is for --group"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_made(arguments: list[str], why: str) -> None:
    """Exit code 2, and nobody is asked anything."""
    done = kdiag("rebalance", "probe", "-b", "127.0.0.1:1", *arguments)
    assert done.code == 2
    assert why in done.err


def test_help_tells_what_it_does_and_what_it_leaves() -> None:
    """Nothing."""
    said = " ".join(kdiag("rebalance", "probe", "--help").out.split())
    assert "removes all of them at its end, however that comes" in said
    assert "--i-know" in said
