"""Many cases in one test: all of them run, and the one that fails is named."""

import pytest

from tiers.cases import for_each


def test_every_case_runs_with_the_fixtures_of_the_test() -> None:
    """In their order; a case is a value, or one for each name, also with `pytest.param`."""
    found: list[tuple[object, ...]] = []

    @for_each("letter", "ab")
    @for_each(("number", "is_odd"), [(1, True), pytest.param(2, False, id="two")])
    def each(letter: str, number: int, fixture: str, *, is_odd: bool) -> None:
        found.append((letter, number, is_odd, fixture))

    each(fixture="made")
    assert found == [
        ("a", 1, True, "made"),
        ("a", 2, False, "made"),
        ("b", 1, True, "made"),
        ("b", 2, False, "made"),
    ]


def test_the_case_that_fails_is_named() -> None:
    """Those behind it do not run."""
    ran = []

    @for_each("number", [1, 2, 3])
    def each(number: int) -> None:
        ran.append(number)
        assert number != 2

    with pytest.raises(AssertionError) as caught:
        each()
    assert ran == [1, 2]
    assert caught.value.__notes__ == ["case 2: number=2"]
    for ids in (["one", "two"], lambda number: "two" if number == 2 else "one"):
        with pytest.raises(ZeroDivisionError) as named:
            for_each("number", [1, 2], ids=ids)(lambda number: 1 / (number - 2))()
        assert named.value.__notes__ == ["case 2: two"]


def test_no_case_and_a_name_that_the_test_has_not_are_mistakes() -> None:
    """Each would be a test that says nothing, or that never runs."""
    with pytest.raises(AssertionError, match="a test of no case"):
        for_each("number", [])
    with pytest.raises(AssertionError, match="has not all of"):
        for_each("nunber", [1])(test_the_case_that_fails_is_named)
