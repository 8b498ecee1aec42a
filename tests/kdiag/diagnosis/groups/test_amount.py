import pytest

from kdiag.diagnosis.groups.amount import Amount, Certainty, largest, total, unknown

NOTHING: Amount[int] = Amount()
UNKNOWN: Amount[int] = unknown()
ABOUT = Amount(7, Certainty.ABOUT)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([Amount(20), Amount(545)], "565"),
        ([Amount(20), ABOUT], "~27"),
        ([Amount(20), UNKNOWN, Amount(545)], ">=565"),
        ([ABOUT, UNKNOWN], ">=7"),
        ([Amount(0), UNKNOWN], ">=0"),
        ([UNKNOWN, UNKNOWN, NOTHING], "?"),
        ([Amount(3), NOTHING], "3"),
        ([NOTHING], "-"),
        ([], "-"),
    ],
)
def test_a_sum_is_as_sure_as_its_worst_part(parts: list[Amount[int]], told: str) -> None:
    """What is not known is never counted as zero."""
    assert str(total(parts)) == told


def test_sums_of_sums_stay_what_they_are() -> None:
    """The least of a group makes the total a least one."""
    assert str(total([total([Amount(5), UNKNOWN]), Amount(1)])) == ">=6"
    assert not total([UNKNOWN]).is_whole
    assert total([ABOUT]).is_whole
    assert not total([ABOUT]).is_exact


def test_the_largest_of_amounts_may_be_a_larger_one() -> None:
    """An unknown one could be."""
    assert str(largest([Amount(3), Amount(2)])) == "3"
    assert str(largest([Amount(3), UNKNOWN])) == ">=3"
