"""The findings that a capture proves: one for each broker and cause.

    36 SYNs that 10.0.0.7:9092 answered with RST           KD1101, nothing listens there
    12 SYNs to 10.0.0.8:9092, and no packet back           KD1102, it does not answer
    TLS alert `unknown_ca` of the client                   KD1207, the handshake fails
    a ClientHello answered by something else               KD1201, it speaks no TLS
    a request answered by a TLS alert                      KD1401, it wants TLS
    an answer that nobody asked for, no byte missing       KD1404, the protocol is broken
    an answer after one to a later request                 KD1404, too
    FIN or RST of the broker while a request waits         KD1407, closed instead of answering
    ... and the request states more than 100 MiB           KD1409, it is too large
    ... behind a PROXY header, without any answer          KD1410, Kafka does not know it

What else could explain the packets is no finding: a request in flight at the end, bytes that are
lost, TLS for which there are no keys.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from kdiag.exchange.documents.document import Clockface
from kdiag.exchange.line.shown_time import span_of_day
from kdiag.exchange.model import Connection, Exchange, TlsFault, UnansweredReason
from kdiag.exchange.summary.counts import kind_text
from kdiag.findings.rule import Severity
from kdiag.wire.frame import DEFAULT_MAX_FRAME_BYTES

if TYPE_CHECKING:
    from kdiag.findings.finding import Finding

MAX_KINDS: Final = 1_000
"""How many brokers and causes are told apart; a port scan has more."""

_MOST_NAMES: Final = 5
_NEVER_MADE: Final = {"refused": "KD1101", "no answer": "KD1102"}
_TLS: Final = {
    TlsFault.HANDSHAKE: "KD1207",
    TlsFault.BROKEN: "KD1405",
    TlsFault.PLAINTEXT_PORT: "KD1201",
    TlsFault.TLS_PORT: "KD1401",
}
_CLOSED: Final = {
    UnansweredReason.BROKER_CLOSED: "closed",
    UnansweredReason.BROKER_RESET: "reset",
}
_UNANSWERED: Final = "KD1407"
_TOO_LARGE: Final = "KD1409"
_PROXY_HEADER: Final = "KD1410"
_PROXY: Final = "PROXY "
_UNASKED: Final = "it sent answers that nobody asked for"
_OUT_OF_ORDER: Final = "it answered requests in another order than they came"
_SKIPPED: Final = "it left requests without an answer and answered later ones"
"""The hour, minute and second of a time in RFC 3339."""

_SEVERITIES: Final = tuple(Severity)

Key = tuple[str, str, str | None]
"""The id of a rule, the broker's address, and why."""


class FaultTally(msgspec.Struct):
    """How often one broker showed one fault, when and to whom.

    Attributes:
        count: connections or exchanges.
        first_ns, last_ns: when, since 1970.
        clients: addresses of clients without their ports, the first of them.
        apis: the requests that were not answered, the first kinds of them.
    """

    count: int
    first_ns: int
    last_ns: int
    clients: dict[str, None]
    apis: dict[str, None]

    def evidence(self) -> dict[str, Any]:
        """Return it as plain values."""
        clock = Clockface()
        return {
            "count": self.count,
            "first_time": clock.text(self.first_ns),
            "last_time": clock.text(self.last_ns),
            "clients": list(self.clients),
        }


class RecordedFaults:
    """Collects the faults of a capture.

    Attributes:
        left_out: faults of more brokers and causes than are told apart.
    """

    def __init__(self) -> None:
        self.left_out = 0
        self._tallies: dict[Key, FaultTally] = {}

    def add_connection(self, connection: Connection) -> None:
        """Add a connection that has ended."""
        address, reason = connection.broker, connection.close_reason
        key = key_of_connection(address, reason, connection.tls_fault, connection.tls_problem)
        if key is not None:
            self.add(key, _once(connection, connection.first_ns))

    def add_exchange(self, exchange: Exchange) -> None:
        """Add an exchange, of which only those count that lack a side or are out of order."""
        connection, reason = exchange.connection, exchange.unanswered_reason
        symptoms = Symptoms(
            connection.broker,
            reason,
            exchange.is_violation,
            connection.tls_fault is not None,
            None if exchange.request is None else exchange.request.size,
            is_behind_proxy_header(connection),
        )
        key = key_of_exchange(symptoms)
        if key is not None:
            once = _once(connection, exchange.time_ns)
            once.apis[kind_text(exchange.api_key, exchange.version)] = None
            self.add(key, once)

    def add(self, key: Key, times: FaultTally) -> None:
        """Add that a fault was seen, once or several times."""
        tally = self._tallies.get(key)
        if tally is None:
            if len(self._tallies) >= MAX_KINDS:
                self.left_out += times.count
                return
            tally = FaultTally(0, times.first_ns, times.last_ns, {}, {})
            self._tallies[key] = tally
        tally.count += times.count
        tally.first_ns = min(tally.first_ns, times.first_ns)
        tally.last_ns = max(tally.last_ns, times.last_ns)
        for known, more in ((tally.clients, times.clients), (tally.apis, times.apis)):
            if len(known) < _MOST_NAMES:
                known.update(more)

    def findings(self) -> "list[Finding]":
        """Return a finding for each broker and cause: the worst first, then the most frequent."""
        made = [_finding(key, tally) for key, tally in self._tallies.items()]
        return sorted(
            made, key=lambda each: (_SEVERITIES.index(each.severity), -each.evidence["count"])
        )


def key_of_connection(
    address: str, close_reason: str | None, fault: TlsFault | None, problem: str | None
) -> Key | None:
    """Return the fault of a connection; None if it has none.

    Args:
        address: of the broker.
        close_reason: as `Connection` has it.
        fault: of its TLS.
        problem: the same in words.
    """
    rule_id = _NEVER_MADE.get(close_reason or "")
    if rule_id is not None:
        return rule_id, address, None
    return None if fault is None else (_TLS[fault], address, problem)


class Symptoms(NamedTuple):
    """What an exchange shows of a fault.

    Attributes:
        address: of the broker.
        reason: why it was not answered.
        is_violation: as `Exchange` has it.
        has_tls_fault: whether its connection has a fault of TLS, which explains the rest.
        request_bytes: the size that the request states; None without one.
        is_behind_proxy_header: whether a PROXY header is all that the broker may have read.
    """

    address: str
    reason: UnansweredReason | None
    is_violation: bool
    has_tls_fault: bool
    request_bytes: int | None
    is_behind_proxy_header: bool


def key_of_exchange(symptoms: Symptoms) -> Key | None:
    """Return the fault that an exchange shows; None if it shows none."""
    address, reason = symptoms.address, symptoms.reason
    if symptoms.is_violation:
        is_unasked = symptoms.request_bytes is None
        return "KD1404", address, _UNASKED if is_unasked else _OUT_OF_ORDER
    if reason is None or symptoms.has_tls_fault:
        return None
    if reason is UnansweredReason.SKIPPED:
        return "KD1404", address, _SKIPPED
    if reason not in _CLOSED:
        return None
    rule_id = _UNANSWERED
    if symptoms.is_behind_proxy_header:
        rule_id = _PROXY_HEADER
    elif (symptoms.request_bytes or 0) > DEFAULT_MAX_FRAME_BYTES:
        rule_id = _TOO_LARGE
    return rule_id, address, _CLOSED[reason]


def is_behind_proxy_header(connection: Connection) -> bool:
    """Return whether a PROXY header begins a connection on which the broker answered nothing."""
    return (connection.preamble or "").startswith(_PROXY) and not connection.responses


def _once(connection: Connection, time_ns: int) -> FaultTally:
    return FaultTally(1, time_ns, time_ns, {connection.client.rpartition(":")[0]: None}, {})


def _finding(key: Key, tally: FaultTally) -> "Finding":
    from kdiag.findings.finding import found  # noqa: PLC0415 - 3 ms: all rules, for few captures

    rule_id, address, why = key
    evidence: dict[str, Any] = {"address": address, **tally.evidence()}
    if why is not None:
        evidence["why"] = why
    if rule_id in {_UNANSWERED, _TOO_LARGE}:
        evidence["apis"] = ", ".join(sorted(tally.apis))
    finding = found(rule_id, **evidence)
    return msgspec.structs.replace(finding, title=f"{finding.title} ({_when(tally)})")


def _when(tally: FaultTally) -> str:
    """Return how often and when: what was so in a capture need not be so now."""
    span = span_of_day(tally.first_ns, tally.last_ns, digits=0)
    return f"once, at {span}" if tally.count == 1 else f"{tally.count:,} times, {span}"
