from collections.abc import Sequence
from typing import Any

import pytest

from kdiag.diagnosis.check.connections import judge_servers
from kdiag.diagnosis.check.exposure import judge_exposure
from kdiag.diagnosis.check.facts import CheckFacts, CheckStep, Exposure, Visit
from kdiag.diagnosis.check.report import CheckStage, CheckStatus
from kdiag.errors import AuthenticationError, ConnectError, Fault, Layer
from kdiag.findings.rule import Severity
from made_values.check_subject import endpoint, facts, refused, visit

ALL: dict[CheckStep, int] = dict.fromkeys(CheckStep, 1)
PLAIN: dict[CheckStep, int] = {step: 1 for step in ALL if step is not CheckStep.TLS}
TCP = {CheckStep.TCP: 1}
PASSWORD = Exposure(secret="password")
WRONG = AuthenticationError("a:1", Layer.SASL, "refused", fault=Fault.WRONG_CREDENTIALS)


def seen(exposure: Exposure, *visits: Visit, **more: Any) -> CheckFacts:
    """Return the facts of a check with these visits to one server, and a login unless denied."""
    login = {"login": "PLAIN as alice", "has_tls": True, **more}
    return facts([endpoint("kafka", *visits)], exposure=exposure, **login)


def titles(found: CheckFacts) -> list[str]:
    """Return the findings, each as its id and its title; all are warnings."""
    findings = judge_exposure(found).findings
    assert {each.severity for each in findings} <= {Severity.WARNING}
    return [f"{each.id} {each.title}" for each in findings]


def statuses(found: CheckFacts) -> dict[CheckStage, CheckStatus]:
    """Return the status of TLS and SASL."""
    stages = (CheckStage.TLS, CheckStage.SASL)
    return {row.stage: row.status for row in judge_servers(found).rows if row.stage in stages}


@pytest.mark.parametrize(
    ("exposure", "title"),
    [
        (
            PASSWORD._replace(verifies_certificate=False),
            (
                "KD1208 the certificate of kafka:9092 (10.0.0.1) is not verified; "
                "the password was sent there"
            ),
        ),
        (
            PASSWORD._replace(verifies_hostname=False),
            (
                "KD1209 the host name in the certificate of kafka:9092 (10.0.0.1) is not verified; "
                "the password was sent there"
            ),
        ),
        (
            PASSWORD._replace(verifies_certificate=False, verifies_hostname=False),
            (
                "KD1208 the certificate of kafka:9092 (10.0.0.1) is not verified; "
                "the password was sent there"
            ),
        ),
        (
            Exposure(verifies_certificate=False),
            "KD1208 the certificate of kafka:9092 (10.0.0.1) is not verified",
        ),
        (
            Exposure(secret="token", verifies_hostname=False),
            (
                "KD1209 the host name in the certificate of kafka:9092 (10.0.0.1) is not verified; "
                "the token was sent there"
            ),
        ),
    ],
)
def test_an_end_that_proved_nothing_is_a_warning(exposure: Exposure, title: str) -> None:
    """With the address, and what was sent there; SCRAM sends nothing, but may be misled."""
    found = seen(exposure, visit("10.0.0.1", host="kafka", took_ns=ALL))
    assert titles(found) == [title]
    assert statuses(found) == {CheckStage.TLS: CheckStatus.WARNING, CheckStage.SASL: CheckStatus.OK}


def test_a_password_in_the_clear_is_a_warning_with_every_address() -> None:
    """Bootstrap servers and advertised listeners, each once."""
    found = seen(PASSWORD, visit("10.0.0.1", took_ns=PLAIN), has_tls=False)
    found.listeners = [
        endpoint("10.0.0.1", visit("10.0.0.1", took_ns=PLAIN), node_id=1),
        endpoint("10.0.0.2", visit("10.0.0.2", took_ns=PLAIN), node_id=2),
        endpoint("10.0.0.3", visit("10.0.0.3", error=refused()), node_id=3),
    ]
    assert titles(found) == [
        "KD1306 the password was sent unencrypted to 10.0.0.1:9092, 10.0.0.2:9092"
    ]
    assert statuses(found) == {CheckStage.SASL: CheckStatus.WARNING}


def test_a_password_that_is_refused_was_sent_all_the_same() -> None:
    """Though no login succeeded."""
    found = seen(PASSWORD, visit(took_ns=TCP, error=WRONG), is_lost=True, has_tls=False)
    assert titles(found) == ["KD1306 the password was sent unencrypted to 203.0.113.7:9092"]


def test_an_unverified_end_that_got_no_password_is_told_apart() -> None:
    """Two addresses without verification, of which one had the login refused before it."""
    steps = {CheckStep.TCP: 1, CheckStep.TLS: 1}
    early = AuthenticationError("a:1", Layer.SASL, "x", fault=Fault.MECHANISM_NOT_ENABLED)
    found = seen(
        PASSWORD._replace(verifies_certificate=False),
        visit("10.0.0.1", took_ns=ALL),
        visit("10.0.0.2", took_ns=steps, error=early),
    )
    assert titles(found) == [
        (
            "KD1208 the certificate of 10.0.0.1:9092, 10.0.0.2:9092 is not verified; "
            "the password was sent to 10.0.0.1:9092"
        )
    ]


def failed(layer: Layer, fault: Fault) -> Sequence[Visit]:
    """Return a visit that failed before the credentials were sent."""
    return [visit(took_ns=TCP, error=ConnectError("a:1", layer, "why", fault=fault))]


@pytest.mark.parametrize(
    "found",
    [
        seen(PASSWORD, visit(took_ns=ALL)),
        seen(Exposure(), visit(took_ns=PLAIN), has_tls=False),
        seen(Exposure(), visit(took_ns=PLAIN), has_tls=False, login=None),
        seen(PASSWORD, *failed(Layer.SASL, Fault.MECHANISM_NOT_ENABLED), has_tls=False),
        seen(PASSWORD, *failed(Layer.SASL, Fault.NOT_SASL), has_tls=False),
        seen(PASSWORD, *failed(Layer.KAFKA, Fault.HUNG_UP), has_tls=False),
        seen(PASSWORD, visit(error=refused()), has_tls=False, is_lost=True),
        seen(PASSWORD._replace(verifies_certificate=False), *failed(Layer.TLS, Fault.NOT_TLS)),
    ],
)
def test_what_was_verified_or_not_sent_is_no_warning(found: CheckFacts) -> None:
    """All is verified; SCRAM, or no SASL, in the clear; the login ended before its credentials."""
    assert titles(found) == []
    assert CheckStatus.WARNING not in {row.status for row in judge_servers(found).rows[1:2]}


def test_a_client_secret_over_http_is_a_warning() -> None:
    """Whatever the brokers speak, even where none answers."""
    exposure = Exposure(secret="token", open_endpoint="http://idp:80")
    found = seen(exposure, visit(error=refused()), is_lost=True)
    assert titles(found) == ["KD1307 the OAuth client secret is sent unencrypted to http://idp:80"]
