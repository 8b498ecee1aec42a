from kdiag.lab.coordinator.transaction.transaction_state import STATE_BY_TEXT, TransactionState
from tiers.cases import for_each


def test_states_have_kafkas_names_and_numbers() -> None:
    """As records and DescribeTransactions have them."""
    assert [*STATE_BY_TEXT] == [
        *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort"),
        *("CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"),
    ]
    assert [state.value for state in TransactionState] == list(range(8))


@for_each(
    ("before", "after"),
    [
        ("Empty", {"Empty", "Ongoing", "PrepareAbort", "Dead"}),
        (
            "Ongoing",
            {"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"},
        ),
        ("PrepareCommit", {"CompleteCommit"}),
        ("PrepareAbort", {"CompleteAbort"}),
        ("CompleteCommit", {"Empty", "Ongoing", "PrepareAbort", "Dead"}),
        ("CompleteAbort", {"Empty", "Ongoing", "PrepareAbort", "Dead"}),
        ("Dead", set()),
        ("PrepareEpochFence", {"PrepareAbort"}),
    ],
)
def test_only_some_states_may_follow(before: str, after: set[str]) -> None:
    """What is prepared can only be completed."""
    state = STATE_BY_TEXT[before]
    assert {each.text for each in TransactionState if each.may_follow(state)} == after


def test_what_rests_may_be_forgotten() -> None:
    """What is going on, or ending, may not."""
    resting = {each.text for each in TransactionState if each.is_expiration_allowed}
    assert resting == {"Empty", "CompleteCommit", "CompleteAbort"}
