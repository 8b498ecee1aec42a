"""What a login gives away: secrets that were sent unencrypted, or to an end that proved nothing.

    SASL_PLAINTEXT, PLAIN             KD1306    the password, for everyone on the way to read
    SASL_SSL, no verification         KD1208    to whoever answered there, with any certificate
    SASL_SSL, no host name checked    KD1209    to the owner of any certificate of the CA
    token endpoint http://            KD1307    the client secret, on the way to the provider

A warning names the addresses concerned. SCRAM sends no password; with SCRAM, and without SASL, a
certificate that is not verified is a warning all the same. Where a login ended before its
credentials were sent, they went nowhere.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from kdiag.diagnosis.check.facts import CheckFacts, CheckStep, Exposure, Visit
from kdiag.diagnosis.check.report import CheckPart, CheckStage, listed
from kdiag.errors import Fault
from kdiag.findings.finding import found

_SHOWN: Final = 20
_AFTER_SENDING: Final = frozenset((Fault.WRONG_CREDENTIALS, Fault.CLOSED))
"""The faults of a login whose credentials were sent: others come before."""


def judge_exposure(facts: CheckFacts) -> CheckPart:
    """Return a warning for each way in which secrets were exposed."""
    part = CheckPart()
    exposure = facts.exposure
    if exposure.open_endpoint:
        part.findings.append(found("KD1307", endpoint=exposure.open_endpoint))
    secret = exposure.secret
    logins = _addresses(each for each in _visits(facts) if secret and _has_sent_login(each))
    if not facts.has_tls:
        if logins:
            part.findings.append(found("KD1306", secret=secret, addresses=logins))
        return part
    rule = _rule_of(exposure)
    secured = _addresses(each for each in _visits(facts) if CheckStep.TLS in each.took_ns)
    if rule and secured:
        place = "there" if logins == secured else f"to {logins}"
        sent = f"; the {secret} was sent {place}" if logins else ""
        part.findings.append(found(rule, addresses=secured, sent=sent))
    return part


def is_exposed(stage: CheckStage, facts: CheckFacts) -> bool:
    """Return whether a step that succeeded is a warning: it proved too little, or hid nothing."""
    if stage is CheckStage.TLS:
        return bool(_rule_of(facts.exposure))
    return stage is CheckStage.SASL and not facts.has_tls and bool(facts.exposure.secret)


def _rule_of(exposure: Exposure) -> str:
    """Return the finding about TLS; empty if everything is verified."""
    if not exposure.verifies_certificate:
        return "KD1208"
    return "" if exposure.verifies_hostname else "KD1209"


def _addresses(visits: Iterable[Visit]) -> str:
    return listed([*dict.fromkeys(each.target for each in visits)], _SHOWN)


def _visits(facts: CheckFacts) -> Iterator[Visit]:
    for endpoint in (*facts.servers, *facts.listeners):
        yield from endpoint.visits


def _has_sent_login(visit: Visit) -> bool:
    """Return whether the credentials were sent: SASL succeeded, or failed on them or later."""
    is_refused = visit.error is not None and visit.error.fault in _AFTER_SENDING
    return CheckStep.SASL in visit.took_ns or (visit.failed_step is CheckStep.SASL and is_refused)
