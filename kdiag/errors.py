"""The exceptions that kdiag raises: one for each party that can be at fault.

A broker's error code is a value, not an exception: to a diagnosis it is a finding. Mistakes in
arguments are `ValueError` or `TypeError`. Anything else that escapes from kdiag is a bug.
"""

from enum import StrEnum


class KdiagError(Exception):
    """Base of every error that kdiag raises on purpose."""


class DecodeError(KdiagError):
    """The bytes contradict the format: the fault of whoever wrote them.

    Attributes:
        path: the field that could not be read, such as `topics[0].partitions[2].records`;
            empty when no field was reached.
        offset: where reading failed, counted in bytes from the start of the decoded bytes.
        why: what was expected and what was found.
    """

    def __init__(self, path: str, offset: int, why: str) -> None:
        super().__init__(path, offset, why)
        self.path = path
        self.offset = offset
        self.why = why

    def __str__(self) -> str:
        place = f"{self.path} at byte {self.offset}" if self.path else f"byte {self.offset}"
        return f"{place}: {self.why}"


class EncodeError(KdiagError):
    """A value cannot be written in the version asked for: the caller's fault.

    Attributes:
        path: the field that could not be written.
        why: what the version allows.
    """

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"{self.path}: {self.why}" if self.path else self.why


class CaptureError(KdiagError):
    """A file is not a readable capture, or stops being one.

    Attributes:
        file: the name the file was opened by.
        offset: bytes from the start of the (decompressed) file, where known.
        packet: number of the last good packet, from 1 over all inputs; 0 when there is none.
        why: what was expected, what was found and what to do.
    """

    def __init__(self, file: str, why: str, *, offset: int | None = None, packet: int = 0) -> None:
        super().__init__(file, why, offset, packet)
        self.file = file
        self.why = why
        self.offset = offset
        self.packet = packet

    def __str__(self) -> str:
        place = "" if self.offset is None else f", byte {self.offset}"
        after = f" (after packet {self.packet})" if self.packet else ""
        return f"{self.file}{place}{after}: {self.why}"


class Layer(StrEnum):
    """Which layer a connection failed in, from the name down to what is said on it."""

    DNS = "DNS"
    TCP = "TCP"
    TLS = "TLS"
    SASL = "SASL"
    KAFKA = "Kafka"


class Fault(StrEnum):
    """What went wrong with a connection, so that programs need not read `ConnectError.why`."""

    OTHER = "other"
    UNRESOLVED = "unresolved"
    NO_NAME_SERVER = "no name server"
    REFUSED = "refused"
    DROPPED = "dropped"
    UNROUTED = "unrouted"
    NOT_TLS = "not TLS"
    CERTIFICATE_EXPIRED = "certificate expired"
    WRONG_HOST = "wrong host"
    UNKNOWN_ISSUER = "unknown issuer"
    CLIENT_CERTIFICATE = "client certificate"
    WRONG_CREDENTIALS = "wrong credentials"
    MECHANISM_NOT_ENABLED = "mechanism not enabled"
    NOT_SASL = "not SASL"
    WANTS_SASL = "wants SASL"
    WANTS_TLS = "wants TLS"
    SILENT = "silent"
    NOT_KAFKA = "not Kafka"
    CONTROLLER = "controller"
    BROKEN_PROTOCOL = "broken protocol"
    CLOSED = "closed"


class ConnectError(KdiagError):
    """A broker could not be reached, or the connection broke before it could be used.

    Attributes:
        address: the `host:port` that was tried.
        layer: where it failed.
        why: what was tried, what was expected and what happened.
        fix: what to do about it, one sentence; empty when nothing better than `why` is known.
        fault: which of the known faults it is.
    """

    def __init__(
        self, address: str, layer: Layer, why: str, fix: str = "", fault: Fault = Fault.OTHER
    ) -> None:
        super().__init__(address, layer, why, fix)
        self.address = address
        self.layer = layer
        self.why = why
        self.fix = fix
        self.fault = fault

    def __str__(self) -> str:
        return f"{self.address}: {self.layer}: {self.why}"


class AuthenticationError(ConnectError):
    """Either end refused the other's proof of who it is; trying again will not help."""


class DisconnectedError(KdiagError):
    """A connection ended with requests open on it, or before one could be sent."""


class RequestTimeoutError(KdiagError):
    """No answer came before the deadline."""


class AuthorizationError(KdiagError):
    """The cluster does not let this user do what was asked for."""


class UnsupportedVersionError(KdiagError):
    """Broker and kdiag, or two brokers, share no version of an API that says what must be said."""


class WakeupError(KdiagError):
    """A blocked poll was asked from another thread to return."""


class ConfigError(KdiagError):
    """A setting is unknown, malformed or contradicts another: the user's fault.

    Attributes:
        key: the setting, as its source names it; empty when the source as a whole is at fault.
        origin: where it came from: `client.properties:7`, `-X`, `KDIAG_...`.
        why: what was expected and what was found; never holds a secret.
    """

    def __init__(self, key: str, origin: str, why: str) -> None:
        super().__init__(key, origin, why)
        self.key = key
        self.origin = origin
        self.why = why

    def __str__(self) -> str:
        place = f"{self.key} ({self.origin})" if self.key else self.origin
        return f"{place}: {self.why}"


class _SubjectError(KdiagError):
    """Something cannot be done, for a reason.

    Attributes:
        what: the thing it is about.
        why: what was expected, what was found and what to do.
    """

    def __init__(self, what: str, why: str) -> None:
        super().__init__(what, why)
        self.what = what
        self.why = why

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


class ReportError(_SubjectError):
    """A report, a query or a parameter is wrong, or tables cannot be read or written."""


class ProbeError(_SubjectError):
    """A probe cannot do its work on a topic, a group or a broker, or cannot undo it."""
