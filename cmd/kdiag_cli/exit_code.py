"""Exit codes: what each means, and which one counts where several things went wrong."""

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from kdiag.errors import (
    AbsentError,
    AuthorizationError,
    CaptureError,
    ConfigError,
    ConnectError,
    DisconnectedError,
    EncodeError,
    GroupError,
    KdiagError,
    Layer,
    RequestTimeoutError,
    UnsupportedVersionError,
    WakeupError,
)
from kdiag.findings.rule import Severity, is_at_least

if TYPE_CHECKING:
    from kdiag.findings.finding import Finding  # which loads all rules


class ExitCode(IntEnum):
    """The exit codes; of several, the lowest of 3 to 7 wins over 8, and 8 over 1."""

    DONE = 0
    FINDINGS = 1
    USAGE = 2
    CANNOT_CONNECT = 3
    NOT_AUTHENTICATED = 4
    NOT_AUTHORIZED = 5
    TIMEOUT = 6
    UNSUPPORTED = 7
    PARTIAL = 8
    INTERRUPTED = 130


_AUTHORIZATION: Final = "_AUTHORIZATION_FAILED"
_CODES: Final[tuple[tuple[type[KdiagError], ExitCode], ...]] = (
    (WakeupError, ExitCode.INTERRUPTED),
    (AbsentError, ExitCode.FINDINGS),
    (ConfigError, ExitCode.USAGE),
    (EncodeError, ExitCode.USAGE),
    (CaptureError, ExitCode.USAGE),
    (AuthorizationError, ExitCode.NOT_AUTHORIZED),
    (ConnectError, ExitCode.CANNOT_CONNECT),
    (DisconnectedError, ExitCode.CANNOT_CONNECT),
    (RequestTimeoutError, ExitCode.TIMEOUT),
    (UnsupportedVersionError, ExitCode.UNSUPPORTED),
)
_ERROR_NAMES: Final = {
    "SASL_AUTHENTICATION_FAILED": ExitCode.NOT_AUTHENTICATED,
    "UNSUPPORTED_SASL_MECHANISM": ExitCode.NOT_AUTHENTICATED,
    "ILLEGAL_SASL_STATE": ExitCode.NOT_AUTHENTICATED,
    "REQUEST_TIMED_OUT": ExitCode.TIMEOUT,
    "UNSUPPORTED_VERSION": ExitCode.UNSUPPORTED,
}
_REFUSED_SETTINGS: Final = frozenset(
    {
        "INCONSISTENT_GROUP_PROTOCOL",
        "INVALID_GROUP_ID",
        "INVALID_REGULAR_EXPRESSION",
        "INVALID_SESSION_TIMEOUT",
        "UNSUPPORTED_ASSIGNOR",
    }
)
"""Why a group refuses a member that asks for what it cannot have."""

_MOST_TELLING: Final = (
    ExitCode.INTERRUPTED,
    ExitCode.USAGE,
    ExitCode.CANNOT_CONNECT,
    ExitCode.NOT_AUTHENTICATED,
    ExitCode.NOT_AUTHORIZED,
    ExitCode.TIMEOUT,
    ExitCode.UNSUPPORTED,
    ExitCode.PARTIAL,
    ExitCode.FINDINGS,
    ExitCode.DONE,
)


def exit_code_of(
    problems: Iterable[KdiagError | str | ExitCode],
    findings: Iterable["Finding"] = (),
    fail_on: Severity = Severity.ERROR,
    *,
    is_partial: bool = False,
) -> ExitCode:
    """Return the exit code of a live command: the one that counts most.

    Args:
        problems: errors that kdiag raised, names of errors that brokers answered with, and exit
            codes that the command has decided on. A name that says nothing about connection or
            rights, such as `NOT_COORDINATOR`, is for a finding and counts nothing here.
        findings: what is wrong.
        fail_on: the least severity at which findings fail the command.
        is_partial: whether some brokers did not answer, or part of the result is missing.
    """
    codes = {_code(each) for each in problems}
    if is_partial:
        codes.add(ExitCode.PARTIAL)
    if any(is_at_least(each.severity, fail_on) for each in findings):
        codes.add(ExitCode.FINDINGS)
    return min(codes, key=_MOST_TELLING.index, default=ExitCode.DONE)


def _code(problem: KdiagError | str | ExitCode) -> ExitCode:
    if isinstance(problem, ExitCode):
        return problem
    if isinstance(problem, str):
        is_denied = problem.endswith(_AUTHORIZATION)
        return ExitCode.NOT_AUTHORIZED if is_denied else _ERROR_NAMES.get(problem, ExitCode.DONE)
    if isinstance(problem, GroupError):
        is_usage = problem.error in _REFUSED_SETTINGS
        return ExitCode.USAGE if is_usage else _code(problem.error) or ExitCode.PARTIAL
    if isinstance(problem, ConnectError) and problem.layer is Layer.SASL:
        return ExitCode.NOT_AUTHENTICATED
    kinds = (code for kind, code in _CODES if isinstance(problem, kind))
    return next(kinds, ExitCode.PARTIAL)  # what is left could not be decoded
