"""Rules and severities: the common facts of all findings of one kind, and how bad they are."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple


class Severity(StrEnum):
    """How bad a finding is, the worst first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


_ORDER: Final = tuple(Severity)


def worst_of(severities: Iterable[Severity]) -> Severity | None:
    """Return the worst of some severities; None without any."""
    return min(severities, key=_ORDER.index, default=None)


def is_at_least(severity: Severity, bar: Severity) -> bool:
    """Return whether a severity is as bad as another, or worse."""
    return _ORDER.index(severity) <= _ORDER.index(bar)


class Rule(NamedTuple):
    """The common facts of all findings with one id.

    Attributes:
        severity: how bad they are.
        title: the problem, one line; `{name}` stands for the evidence of that name.
        explanation: the meaning of the problem, and how it comes about.
        fix: the remedy; may hold evidence as the title may.
    """

    severity: Severity
    title: str
    explanation: str
    fix: str
