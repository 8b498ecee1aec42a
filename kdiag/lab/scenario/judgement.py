"""Compares what kdiag tells of a scenario with what it must tell.

    judge(wanted, told, is_disturbed=True)

With the disturbance a finding must be there, with evidence as it is wanted. Without, a finding of
that id must not be there at all; a cause may be, as all groups begin with members that join, but
not with that evidence.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from kdiag.lab.scenario.looks import Told
from kdiag.lab.scenario.scenario import EvidenceBound, Setting, WantedFinding

MOST_SHOWN: Final = 5


class LookVerdict(NamedTuple):
    """Whether something was found as it should be.

    Attributes:
        wanted: what was looked for.
        is_right: whether it was there, or was not, as it should be.
        evidence: what was told, a line each: of what was looked for, or else of what there was.
    """

    wanted: WantedFinding
    is_right: bool
    evidence: tuple[str, ...]


def judge(wanted: WantedFinding, told: Sequence[Told], *, is_disturbed: bool) -> LookVerdict:
    """Return whether it is told, or not told, as it should be."""
    alike = [each for each in told if each.kind == wanted.kind]
    fitting = [each for each in alike if _fits(each, wanted)]
    if is_disturbed:
        shown = fitting or alike or told
        return LookVerdict(wanted, bool(fitting), _lines(shown))
    against = alike if wanted.finding else fitting
    return LookVerdict(wanted, not against, _lines(against))


def text_of(wanted: WantedFinding) -> str:
    """Return what is looked for, in a line: `groups: KD3402 (lost 10 to 10)`."""
    facts = ", ".join(f"{key} {_bound_text(value)}" for key, value in wanted.evidence.items())
    return f"{wanted.by}: {wanted.kind} ({facts})" if facts else f"{wanted.by}: {wanted.kind}"


def _bound_text(value: EvidenceBound | Setting) -> str:
    if not isinstance(value, EvidenceBound):
        return str(value)
    parts = []
    if value.min is not None:
        parts.append(f"at least {value.min:g}")
    if value.max is not None:
        parts.append(f"at most {value.max:g}")
    if value.has is not None:
        parts.append(f"with {value.has}")
    return " and ".join(parts)


def _lines(told: Sequence[Told]) -> tuple[str, ...]:
    lines = [f"{each.kind}: {each.text}" for each in told[:MOST_SHOWN]]
    if len(told) > MOST_SHOWN:
        lines.append(f"and {len(told) - MOST_SHOWN} more")
    return tuple(lines)


def _fits(told: Told, wanted: WantedFinding) -> bool:
    return all(_is(told.evidence.get(key), value) for key, value in wanted.evidence.items())


def _is(found: Any, wanted: EvidenceBound | Setting) -> bool:
    """Return whether a value is as it is wanted; bounds of a number need a number."""
    if not isinstance(wanted, EvidenceBound):
        return bool(found == wanted)
    if wanted.has is not None and not (
        isinstance(found, str | list | tuple) and wanted.has in found
    ):
        return False
    if wanted.min is None and wanted.max is None:
        return True
    if isinstance(found, bool) or not isinstance(found, int | float):
        return False
    low = found if wanted.min is None else wanted.min
    high = found if wanted.max is None else wanted.max
    return low <= found <= high
