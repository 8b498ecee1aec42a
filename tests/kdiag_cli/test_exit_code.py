from kdiag import errors
from kdiag.findings.finding import found
from kdiag.findings.rule import Severity
from kdiag_cli.exit_code import ExitCode, exit_code_of
from tiers.cases import for_each

ERROR = found("KD1101", address="10.0.0.7:9092")
WARNING = found("KD1206", address="10.0.0.7:9093", not_after="2026-12-01")


def test_exit_codes_are_those_that_scripts_rely_on() -> None:
    """The numbers are a contract; 2 is also what wrong usage gives everywhere."""
    assert {each.name: each.value for each in ExitCode} == {
        "DONE": 0,
        "FINDINGS": 1,
        "USAGE": 2,
        "CANNOT_CONNECT": 3,
        "NOT_AUTHENTICATED": 4,
        "NOT_AUTHORIZED": 5,
        "TIMEOUT": 6,
        "UNSUPPORTED": 7,
        "PARTIAL": 8,
        "INTERRUPTED": 130,
    }


@for_each(
    ("problem", "code"),
    [
        (errors.ConnectError("b:1", errors.Layer.DNS, "no such name"), 3),
        (errors.ConnectError("b:1", errors.Layer.KAFKA, "HTTP"), 3),
        (errors.AuthenticationError("b:1", errors.Layer.TLS, "expired"), 3),
        (errors.AuthenticationError("b:1", errors.Layer.SASL, "refused"), 4),
        (errors.DisconnectedError("gone"), 3),
        (errors.RequestTimeoutError("late"), 6),
        (errors.UnsupportedVersionError("old"), 7),
        (errors.DecodeError("topics", 7, "too short"), 8),
        (errors.EncodeError("key", "null"), 2),
        (errors.ConfigError("x", "-X", "unknown"), 2),
        (errors.WakeupError("stop"), 130),
        (errors.GroupError("g", "INVALID_SESSION_TIMEOUT", "too short"), 2),
        (errors.GroupError("g", "GROUP_AUTHORIZATION_FAILED", "denied"), 5),
        (errors.GroupError("g", "FENCED_INSTANCE_ID", "another came"), 8),
        ("GROUP_AUTHORIZATION_FAILED", 5),
        ("SASL_AUTHENTICATION_FAILED", 4),
        ("REQUEST_TIMED_OUT", 6),
        ("UNSUPPORTED_VERSION", 7),
        ("NOT_COORDINATOR", 0),
        (ExitCode.PARTIAL, 8),
    ],
)
def test_every_problem_has_its_exit_code(
    problem: errors.KdiagError | str | ExitCode, code: int
) -> None:
    """What the broker says of rights and logins counts as what kdiag found itself."""
    assert exit_code_of([problem]) == code


def test_of_several_codes_the_lowest_of_3_to_7_wins_then_8_then_1() -> None:
    """Wrong usage and an interrupt stand above all: nothing else was found out."""
    order = [130, 2, 3, 4, 5, 6, 7, 8, 1, 0]

    for place, code in enumerate(order):
        assert exit_code_of([ExitCode(each) for each in reversed(order[place:])]) == code


def test_findings_fail_a_command_from_the_severity_that_was_asked_for() -> None:
    """An error does by default; a partial result counts more."""
    assert exit_code_of([]) == 0
    assert exit_code_of([], [ERROR]) == 1
    assert exit_code_of([], [WARNING]) == 0
    assert exit_code_of([], [WARNING], Severity.WARNING) == 1
    assert exit_code_of([], [ERROR], is_partial=True) == 8
