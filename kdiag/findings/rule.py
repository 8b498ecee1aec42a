"""One rule, and how bad a finding can be."""

from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """How bad a finding is, the worst first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Rule(NamedTuple):
    """What all findings of one id have in common.

    Attributes:
        severity: how bad it is.
        title: what is wrong, one line; `{name}` stands for the evidence of that name.
        explanation: what that means, and how it comes about.
        fix: what to do about it; may hold evidence as the title may.
    """

    severity: Severity
    title: str
    explanation: str
    fix: str
