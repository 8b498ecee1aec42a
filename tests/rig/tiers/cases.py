"""Runs a small test for many cases, as one test.

    @for_each(("text", "expected"), [("1s", S), ("2m", 120 * S)])
    def test_a_duration_has_a_unit(text: str, expected: int) -> None: ...

Each test of pytest costs milliseconds, even if it does nothing: every worker collects it, sets it
up, tears it down and reports it. A case of `for_each` costs nothing. The first that fails ends the
test, and stands below the error:

    case 2: text='2m', expected=120000000000

All cases have the same fixtures. One that needs its own, or that skips, is a matter for
`pytest.mark.parametrize`.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, Final

from _pytest.mark import ParameterSet

_MOST_LETTERS: Final = 300

Test = Callable[..., None]


def for_each(
    names: str | Sequence[str],
    cases: Iterable[Any],
    ids: Callable[[Any], object] | Iterable[str] = (),
) -> Callable[[Test], Test]:
    """Return a decorator that makes a test of the test of one case.

    Args:
        names: of the parameter that a case is the value of, or of the parameters of its values.
        cases: at least one, with or without `pytest.param`.
        ids: what they are called where one fails, or a function from a value to what it is called,
            as `pytest.mark.parametrize` has it; by default names and values.
    """
    listed = list(cases)
    assert listed, "a test of no case would say nothing"
    for each in listed:
        _values(names, each)  # fails here rather than behind other cases
    called = [] if callable(ids) else [*ids]

    def decorate(test: Test) -> Test:
        own = inspect.signature(test)
        given = {names} if isinstance(names, str) else {*names}
        assert given <= own.parameters.keys(), f"{test.__name__} has not all of {sorted(given)}"

        @wraps(test)
        def run_all(**fixtures: Any) -> None:
            __tracebackhide__ = True
            for place, case in enumerate(listed):
                values = _values(names, case)
                try:
                    test(**values, **fixtures)
                except BaseException as error:
                    text = called[place] if called else _told(values, ids)
                    error.add_note(f"case {place + 1}: {text[:_MOST_LETTERS]}")
                    raise

        left = [each for name, each in own.parameters.items() if name not in given]
        run_all.__signature__ = own.replace(parameters=left)  # type: ignore[attr-defined]
        return run_all

    return decorate


def _values(names: str | Sequence[str], case: Any) -> dict[str, Any]:
    """Return the values of the parameters of a case."""
    if isinstance(case, ParameterSet):
        assert not case.marks, "marks are for pytest.mark.parametrize: all cases run here"
        case = case.values[0] if isinstance(names, str) else case.values
    return {names: case} if isinstance(names, str) else dict(zip(names, case, strict=True))


def _told(values: dict[str, Any], ids: object) -> str:
    if callable(ids):
        return "-".join(str(ids(value)) for value in values.values())
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
