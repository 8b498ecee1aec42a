"""Why a TLS connection could not be read, or was not made, in one sentence with its evidence.

What only lacks a key log that nobody gave is no problem: it is encrypted, as it should be.
"""

from typing import Final, NamedTuple

from kdiag.exchange.model import Connection, TlsAlert, TlsFault
from kdiag.pcap.tls.facts import Alert, TlsFacts

BROKER_SPEAKS_TLS: Final = "the broker speaks TLS and the client does not: the port is one for TLS"

_FAULTS: Final = {
    BROKER_SPEAKS_TLS: TlsFault.TLS_PORT,
    "the broker answers without TLS": TlsFault.PLAINTEXT_PORT,
    "the broker closed without a byte of TLS": TlsFault.HANDSHAKE,
    "no common version": TlsFault.HANDSHAKE,
    "the handshake failed": TlsFault.HANDSHAKE,
    "the broker said": TlsFault.BROKEN,
    "the client said": TlsFault.BROKEN,
}
"""By what the sentences begin with."""

_STARTED_BEFORE: Final = "it started before the capture, so its keys cannot be found"
_HARMLESS: Final = frozenset({"close_notify", "user_canceled", "no_renegotiation", "encrypted"})
_SIDES: Final = ("broker", "client")


class TlsProblem(NamedTuple):
    """What kept a TLS connection from being made or read.

    Attributes:
        text: one sentence.
        fault: what is wrong between the two ends; None if it only cannot be read.
    """

    text: str
    fault: TlsFault | None = None


def fault_of(text: str) -> TlsFault | None:
    """Return the fault that the sentence of a problem tells: it is all that tables have of it.

    Returns:
        None if the connection only cannot be read.
    """
    return next((fault for words, fault in _FAULTS.items() if text.startswith(words)), None)


def told_alerts(facts: TlsFacts) -> tuple[TlsAlert, ...]:
    """Return the alerts that say more than that a connection ends."""
    return tuple(
        TlsAlert(_SIDES[each.is_client], each.level, each.name)
        for each in facts.alerts
        if each.name not in _HARMLESS
    )


def tls_problem(facts: TlsFacts, connection: Connection, *, has_keys: bool) -> TlsProblem | None:
    """Return what kept a TLS connection from being made or read; None if nothing did.

    Args:
        facts: of its TLS.
        connection: tells who closed it.
        has_keys: whether secrets of any connection were given.
    """
    if facts.server_speaks_tls is False:
        return _problem("the broker answers without TLS: the port is one for plaintext")
    alert = next((each for each in facts.alerts if each.name not in _HARMLESS), None)
    if alert is not None:
        return _problem(_alert_text(facts, alert))
    if facts.client_speaks_tls and facts.server_speaks_tls is None:
        is_refused = connection.closed_by == "broker"
        why = "the broker closed without a byte of TLS, as a plaintext listener does"
        return _problem(why) if is_refused else None
    unread = _key_problem(facts) if has_keys else _start_problem(facts)
    if unread == _STARTED_BEFORE and connection.continues:
        unread = "it was silent for so long that its keys were given up"
    return None if unread is None else _problem(unread)


def _problem(text: str) -> TlsProblem:
    return TlsProblem(text, fault_of(text))


def _key_problem(facts: TlsFacts) -> str | None:
    """Return why the secrets that were given do not open a connection."""
    if facts.keys_found is False:
        return next((each for each in facts.notes if "client random" in each), None)
    if facts.unopened_records and facts.notes:
        return facts.notes[0]
    return _start_problem(facts)


def _start_problem(facts: TlsFacts) -> str | None:
    """Return that a handshake is not in the capture, which no key log makes up for."""
    if facts.offered_versions or facts.version:
        return None
    return _STARTED_BEFORE


def _alert_text(facts: TlsFacts, alert: Alert) -> str:
    """Return what an alert says: in TLS most of them end the handshake."""
    who = _SIDES[alert.is_client]
    if alert.name == "protocol_version":
        offered = ", ".join(facts.offered_versions) or "none that was captured"
        return f"no common version: the client offers {offered}, the {who} said protocol_version"
    if facts.decrypted_records:
        return f"the {who} said {alert.name}"
    return f"the handshake failed: the {who} said {alert.name}"
