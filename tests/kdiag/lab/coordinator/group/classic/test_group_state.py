from itertools import product

from kdiag.lab.coordinator.group.classic.group_state import ClassicGroupState

LEGAL = {
    ("PreparingRebalance", "Empty"),
    ("Empty", "PreparingRebalance"),
    ("Stable", "PreparingRebalance"),
    ("CompletingRebalance", "PreparingRebalance"),
    ("PreparingRebalance", "CompletingRebalance"),
    ("CompletingRebalance", "Stable"),
}


def test_a_state_follows_only_where_it_may() -> None:
    """Dead may follow any; nothing follows Dead but itself."""
    legal = {
        (before, after)
        for before, after in product(ClassicGroupState, ClassicGroupState)
        if after.may_follow(before)
    }
    assert legal == LEGAL | {(each, "Dead") for each in ClassicGroupState}
