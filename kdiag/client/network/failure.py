"""Connection failures in words: which layer, what happened, and what to do.

Errors of a transport or an authenticator (a certificate, a password, a web server) are passed on as
they are. Errors of the operating system, and the silence of a broker, are explained here.
"""

import errno
from enum import Enum
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.errors import (
    AuthenticationError,
    ConnectError,
    Fault,
    KdiagError,
    Layer,
    UnsupportedVersionError,
)
from kdiag.net.receive import NetworkReceive
from kdiag.net.transport import EndOfStreamError


class ConnectionStage(Enum):
    """How far a connection had come."""

    TCP = "the TCP connection"
    TLS = "the TLS handshake"
    SASL = "SASL authentication"
    API_VERSIONS = "the ApiVersions request"
    FIRST_REQUEST = "the first request after ApiVersions"
    READY = "later requests"


class _Reason(NamedTuple):
    """The meaning of an error number of the operating system when connecting."""

    why: str
    fix: str
    fault: Fault = Fault.UNROUTED


_REFUSED: Final = _Reason(
    "connection refused: the host is there, but nothing listens on this port",
    "Start the broker, or give the port of one of its `listeners`",
    Fault.REFUSED,
)
_DROPPED: Final = _Reason(
    "no answer to the attempt to connect: packets are dropped on the way, or the host is off",
    "Check the address, and the firewall or security group between here and there",
    Fault.DROPPED,
)
_NO_ROUTE: Final = _Reason(
    "no route to the host",
    "Check the address, and the network, VPN or routing table of this machine",
)
_BY_NUMBER: Final = {
    errno.ECONNREFUSED: _REFUSED,
    errno.ETIMEDOUT: _DROPPED,
    errno.EHOSTUNREACH: _NO_ROUTE,
    errno.ENETUNREACH: _NO_ROUTE,
    errno.EHOSTDOWN: _NO_ROUTE,
    errno.EADDRNOTAVAIL: _Reason(
        "this machine cannot connect to such an address",
        "Check the address; if it is right, this machine may have run out of local ports",
    ),
    errno.EACCES: _Reason(
        "the operating system forbids the connection", "Check the firewall of this machine"
    ),
    errno.EPERM: _Reason(
        "the operating system forbids the connection", "Check the firewall of this machine"
    ),
    errno.ECONNRESET: _Reason(
        "the connection was reset while it was being made",
        "A proxy or load balancer without a broker behind it does this; check what listens there",
    ),
}


class _StageAdvice(NamedTuple):
    """The explanation of a connection that broke in a stage after TCP had connected.

    Attributes:
        layer: of the stage.
        closed_fix: what to do if the other end closed.
        silent_fix: what to do if it did not answer.
        closed_fault: the most likely fault if it closed; later it may be anything.
    """

    layer: Layer
    closed_fix: str
    silent_fix: str
    closed_fault: Fault = Fault.CLOSED


_OVERLOADED_FIX: Final = "See the broker's log: it hangs or is overloaded"
_ADVICE: Final = {
    ConnectionStage.TLS: _StageAdvice(
        Layer.TLS,
        "If the port is not a TLS listener, use security.protocol PLAINTEXT or SASL_PLAINTEXT; "
        "otherwise see the broker's log",
        "If the port is not a TLS listener, use security.protocol PLAINTEXT or SASL_PLAINTEXT",
        Fault.NOT_TLS,
    ),
    ConnectionStage.SASL: _StageAdvice(
        Layer.SASL,
        "If the listener has no SASL, use security.protocol PLAINTEXT or SSL; otherwise see the "
        "broker's log",
        "See the broker's log: it, or what checks its credentials, may hang",
    ),
    ConnectionStage.API_VERSIONS: _StageAdvice(
        Layer.KAFKA,
        "If the port is a TLS listener, use security.protocol SSL or SASL_SSL; a broker before "
        "Kafka 0.10 closes as well, and so does a proxy without a broker behind it",
        "If the port is a TLS listener, use security.protocol SSL or SASL_SSL; if it is a broker, "
        "it hangs or is overloaded",
        Fault.HUNG_UP,
    ),
    ConnectionStage.FIRST_REQUEST: _StageAdvice(
        Layer.KAFKA,
        "If the listener asks for SASL, use security.protocol SASL_PLAINTEXT or SASL_SSL and set "
        "sasl.mechanism; otherwise see the broker's log",
        _OVERLOADED_FIX,
        Fault.WANTS_SASL,
    ),
    ConnectionStage.READY: _StageAdvice(
        Layer.KAFKA,
        "See the broker's log; it may have been stopped, or have refused a request",
        _OVERLOADED_FIX,
    ),
}

_CONTROLLER_FIX: Final = (
    "Give the port of a listener for clients: one in `listeners` of the broker that is not in its "
    "controller.listener.names"
)
_NO_TLS_EITHER_FIX: Final = (
    "Check what listens there: a proxy without a broker behind it hangs up, and so does a broker "
    "before Kafka 0.10, or one that refuses this machine; see its log"
)
_CUT_SHORT_FIX: Final = (
    "Check that the port is a Kafka listener's; if it is, something on the way loses packets: look "
    "for a too large MTU, or a proxy that cuts"
)


def failure(
    address: str, stage: ConnectionStage, error: Exception | None, *, has_tls: bool = False
) -> ConnectError:
    """Return why a connection broke.

    Args:
        address: `host:port`, with the IP address where the host is a name.
        stage: how far it had come.
        error: the selector's cause; None if it was closed for being idle.
        has_tls: whether it was encrypted.
    """
    if isinstance(error, ConnectError):
        return _from_below(error, has_tls=has_tls)
    broken = getattr(error, "connect_error", None)  # HandshakeBrokenError: plaintext never loads it
    if isinstance(broken, ConnectError):
        return broken
    if stage is ConnectionStage.TCP:
        return _not_connected(address, error)
    advice = _ADVICE[stage]
    if error is None:
        return ConnectError(address, advice.layer, "the connection was closed, being idle")
    how = f"broke ({error})"
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        how = "reset the connection"
    elif isinstance(error, EndOfStreamError):
        how = "closed the connection"
    why = f"the other end accepted, then {how} during {stage.value}"
    if has_tls and advice.closed_fault is Fault.HUNG_UP:
        fix = _ADVICE[ConnectionStage.READY].closed_fix
        return ConnectError(address, advice.layer, why, fix, Fault.CLOSED)
    return ConnectError(address, advice.layer, why, advice.closed_fix, advice.closed_fault)


def asked_in_tls(error: ConnectError, *, speaks_tls: bool) -> ConnectError:
    """Return the error of a port that hung up on plaintext, after it was asked whether it has TLS.

    Args:
        error: of the fault `HUNG_UP`.
        speaks_tls: whether it answered a ClientHello in TLS.
    """
    if speaks_tls:
        why = "the port speaks TLS: it hung up on plaintext, and answered a TLS handshake"
        fix = "Use security.protocol SSL, or SASL_SSL"
        return ConnectError(error.address, Layer.TLS, why, fix, Fault.WANTS_TLS)
    why = f"{error.why}; it does not answer a TLS handshake either"
    return ConnectError(error.address, Layer.KAFKA, why, _NO_TLS_EITHER_FIX, Fault.HUNG_UP)


def silence(address: str, stage: ConnectionStage, waited_ns: int) -> ConnectError:
    """Return why a connection was given up that took too long.

    Args:
        address: as above.
        stage: the one that did not end.
        waited_ns: for how long.
    """
    waited = f"within {waited_ns / NS_PER_S:.3g} s"
    if stage is ConnectionStage.TCP:
        why = f"{_DROPPED.why} ({waited})"
        return ConnectError(address, Layer.TCP, why, _DROPPED.fix, _DROPPED.fault)
    why = f"the other end accepts connections, but did not answer {stage.value} {waited}"
    advice = _ADVICE[stage]
    return ConnectError(address, advice.layer, why, advice.silent_fix, Fault.SILENT)


def cut_short(
    address: str, stage: ConnectionStage, receive: NetworkReceive, waited_ns: int
) -> ConnectError:
    """Return why a connection was given up on which a frame stayed incomplete.

    Args:
        address: as above.
        stage: the one that it should answer.
        receive: the incomplete frame.
        waited_ns: how long the rest was waited for.
    """
    size, missing = receive.size, receive.missing_bytes
    why = (
        f"the other end announced {size} bytes to answer {stage.value}, of which {missing} have not"
        f" come within {waited_ns / NS_PER_S:.3g} s"
    )
    return ConnectError(address, _ADVICE[stage].layer, why, _CUT_SHORT_FIX, Fault.BROKEN_PROTOCOL)


def no_metadata(address: str, problem: KdiagError | None) -> ConnectError:
    """Return why a node is of no use that answered ApiVersions, but not Metadata.

    Args:
        address: as above.
        problem: how the request ended; None if it was not answered in time.
    """
    if problem is None:
        why = "it answered ApiVersions, but did not answer Metadata in time"
        return ConnectError(address, Layer.KAFKA, why, _OVERLOADED_FIX, Fault.SILENT)
    if isinstance(problem, UnsupportedVersionError):  # all brokers know Metadata
        why = f"this is a controller's listener, as it seems: {problem}"
        return ConnectError(address, Layer.KAFKA, why, _CONTROLLER_FIX, Fault.CONTROLLER)
    return ConnectError(address, Layer.KAFKA, str(problem), "See the broker's log", Fault.CLOSED)


def _from_below(error: ConnectError, *, has_tls: bool) -> ConnectError:
    """Return the error of a transport or an authenticator, which does not know of TLS."""
    if not has_tls or error.fault is not Fault.HUNG_UP:
        return error
    return AuthenticationError(error.address, error.layer, error.why, error.fix, Fault.CLOSED)


def _not_connected(address: str, error: Exception | None) -> ConnectError:
    """Return why TCP did not connect."""
    number = error.errno if isinstance(error, OSError) else None
    reason = _BY_NUMBER.get(number or 0)
    if reason is None:
        return ConnectError(address, Layer.TCP, f"could not connect: {error}")
    return ConnectError(address, Layer.TCP, *reason)


_HOW_FAR: Final = (Layer.DNS, Layer.TCP, Layer.KAFKA, Layer.TLS, Layer.SASL)


def most_telling(errors: list[ConnectError]) -> ConnectError:
    """Return the error of the attempt that came furthest; the first of several.

    A broker that refuses a password says more than one that is off; a refused connection more
    than packets that vanish.
    """
    return max(errors, key=lambda each: (_HOW_FAR.index(each.layer), each.why == _REFUSED.why))
