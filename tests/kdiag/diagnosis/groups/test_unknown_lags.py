from kdiag.diagnosis.groups.model import Group, PartitionLag
from kdiag.diagnosis.groups.unknown_lags import UnknownLags


def group(name: str, error: str | None, *numbers: int) -> Group:
    """Return a group that has committed partitions of `orders`; their lag is not known."""
    partitions = [PartitionLag(topic="orders", partition=each, error=error) for each in numbers]
    return Group(group=name, type="classic", partitions=partitions)


def test_a_reason_is_said_once_with_what_would_help() -> None:
    """However many partitions and groups there are."""
    lags = UnknownLags()
    lags.add(group("a", "TOPIC_AUTHORIZATION_FAILED", 0, 1))
    lags.add(group("b", "TOPIC_AUTHORIZATION_FAILED", *range(9)))
    lags.add(group("c", "its leader, broker 2, does not answer", 3))
    first, second = lags.warnings()
    assert first == (
        "the lag of orders[0], orders[1], orders[2], orders[3], orders[4] and 4 more in groups a, "
        "b is not known: TOPIC_AUTHORIZATION_FAILED (you need DESCRIBE on the topic)"
    )
    assert second == (
        "the lag of orders[3] in group c is not known: its leader, broker 2, does not answer"
    )


def test_what_has_no_lag_is_not_named() -> None:
    """A partition without a commit, and one that was deleted."""
    lags = UnknownLags()
    lags.add(group("a", None, 0))
    lags.add(group("a", "UNKNOWN_TOPIC_OR_PARTITION", 1))
    assert not [*lags.warnings()]


def test_ages_take_another_right() -> None:
    """They are read from the records."""
    ages = UnknownLags("age")
    one = group("a", None, 0)
    ages.note(one, one.partitions[0], "TOPIC_AUTHORIZATION_FAILED")
    assert [*ages.warnings()] == [
        (
            "the age of orders[0] in group a is not known: TOPIC_AUTHORIZATION_FAILED "
            "(you need READ on the topic)"
        )
    ]
