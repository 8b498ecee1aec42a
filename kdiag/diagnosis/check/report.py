"""The report of a check: a row for each checked thing, and the problems."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kdiag.errors import ConnectError
from kdiag.findings.finding import Finding, worst

if TYPE_CHECKING:
    from kdiag.findings.rule import Severity

NOT_REACHED: Final = "not reached"
"""The detail of a stage that was not checked because of an earlier failure."""


class CheckStage(StrEnum):
    """The stages of a check, in order."""

    DNS = "DNS"
    TCP = "TCP"
    TLS = "TLS"
    SASL = "SASL"
    API_VERSIONS = "ApiVersions"
    METADATA = "Metadata"
    LISTENERS = "Listeners"
    ACLS = "ACLs"
    PARTITIONS = "Partitions"
    COORDINATOR = "Coordinator"


class CheckStatus(StrEnum):
    """The status of a row, the worst first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    OK = "ok"
    SKIPPED = "skipped"


class CheckRow(msgspec.Struct, kw_only=True):
    """One thing that was checked.

    Attributes:
        stage: the stage.
        status: the result.
        target: an address, a broker, a topic; empty for the cluster as a whole.
        took_ns: the duration; None if it was not measured.
        detail: the observation, or the problem.
        facts: the same for programs, as plain values of JSON.
    """

    stage: CheckStage
    status: CheckStatus
    target: str = ""
    took_ns: int | None = None
    detail: str = ""
    facts: dict[str, Any] = {}


class CheckPart(msgspec.Struct, kw_only=True):
    """The result of one part of a check; all parts together are the report.

    Attributes:
        rows: the checked things, in order.
        findings: the problems.
        errors: the failures of connections that clients need.
        error_names: Kafka's names of errors that came instead of an answer.
        warnings: the reasons why the result is incomplete.
        is_partial: whether something that was asked for is missing.
    """

    rows: list[CheckRow] = []
    findings: list[Finding] = []
    errors: list[ConnectError] = []
    error_names: list[str] = []
    warnings: list[str] = []
    is_partial: bool = False

    @property
    def problems(self) -> list[ConnectError | str]:
        """Return the problems that determine the exit code before findings do."""
        return [*self.errors, *self.error_names]


def joined(parts: Iterable[CheckPart]) -> CheckPart:
    """Return parts as one; a finding of several parts occurs once."""
    whole = CheckPart()
    for part in parts:
        whole.rows += part.rows
        whole.findings += [each for each in part.findings if each not in whole.findings]
        whole.errors += part.errors
        whole.error_names += part.error_names
        whole.warnings += part.warnings
        whole.is_partial |= part.is_partial
    return whole


def status_of(findings: Sequence[Finding]) -> CheckStatus:
    """Return the status of a row with these findings."""
    severity: Severity | None = worst(findings)
    return CheckStatus.OK if severity is None else CheckStatus(severity)


def listed(items: Sequence[object], most: int = 5) -> str:
    """Return items as text; those beyond `most` are only counted."""
    shown = ", ".join(map(str, items[:most]))
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"
