"""Measures again where a busy machine may have spoiled a measurement.

What is measured (a round trip, a rate) is right on a machine that has time for it; other programs
can only make it worse. So a measurement that holds once holds, and one that never holds is wrong.
"""

from collections.abc import Callable


def measure_again(
    measure: Callable[[], None],
    attempts: int,
    spoiled_by: type[Exception] | tuple[type[Exception], ...] = AssertionError,
) -> None:
    """Measure until that raises no such error, so many times at the most.

    Raises:
        AssertionError: or what `spoiled_by` names, as the last attempt did.
    """
    for _ in range(attempts - 1):
        try:
            measure()
        except spoiled_by:
            continue
        return
    measure()
