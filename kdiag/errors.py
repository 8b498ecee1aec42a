"""The exceptions of kdiag: one for each party that can be at fault.

A broker's error code is a value, not an exception: to a diagnosis it is a finding. Mistakes in
arguments are `ValueError` or `TypeError`. Anything else that escapes from kdiag is a bug.
"""

import os
import shlex
import sys
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final

_LIBRARIES: Final = {
    "aws": "botocore",
    "html": "vl_convert",
    "latency": "hdrh",
    "report": "duckdb",
    "scapy": "scapy",
    "spark": "pyspark",
}
"""A library of each extra that no other has."""


def install_command(extra: str) -> str:
    """Return the command that adds an extra to kdiag, by what installed it and from where.

    `pipx` and `uv tool` make the environment anew: they are given the extras that are there, too. A
    folder or file that kdiag was installed from is named again, as no index has it then. The `pip`
    of an environment that is not active is named with its path.

    Source: `pipx_metadata.json` of pipx, `uv-receipt.toml` of uv's tools, `uv` in the `pyvenv.cfg`
    of its environments; PEP 610 (`direct_url.json`).
    """
    environment = Path(sys.prefix)
    if (environment / "pipx_metadata.json").exists():
        return f"pipx install --force {_requirement(_with_present(extra))}"
    if (environment / "uv-receipt.toml").exists():
        return f"uv tool install --force {_requirement(_with_present(extra))}"
    facts = environment / "pyvenv.cfg"
    is_active = not facts.exists() or os.environ.get("VIRTUAL_ENV") == sys.prefix
    if facts.exists() and "\nuv = " in facts.read_text(encoding="utf-8", errors="replace"):
        place = "" if is_active else f"--python {shlex.quote(str(environment))} "
        return f"uv pip install {place}{_requirement(extra)}"
    pip = "pip" if is_active else shlex.quote(_from_here(environment / "bin" / "pip"))
    return f"{pip} install {_requirement(extra)}"


def _from_here(path: Path) -> str:
    """Return a path as it is shortest from the current folder."""
    with suppress(OSError, ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)


def _requirement(extras: str) -> str:
    """Return what to install, quoted for a shell: `kdiag[report]`, or its folder and extras."""
    import json  # noqa: PLC0415 - 3 ms, where an extra is missing
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - 20 ms
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415 - 5 ms

    try:
        source = json.loads(distribution("kdiag").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        source = {}
    url = str(source.get("url", ""))
    if not url.startswith("file:"):
        at = f" @ {'git+' * ('vcs_info' in source)}{url}" if url else ""
        return shlex.quote(f"kdiag[{extras}]{at}")
    path = unquote(urlsplit(url).path)
    is_editable = bool(source.get("dir_info", {}).get("editable"))
    return "-e " * is_editable + shlex.quote(f"{path}[{extras}]")


def _with_present(extra: str) -> str:
    from importlib.util import find_spec  # noqa: PLC0415 - 2 ms that every start would take

    present = {name for name, library in _LIBRARIES.items() if find_spec(library)}
    return ",".join(sorted({extra, *present}))


class KdiagError(Exception):
    """Base of every error that kdiag raises on purpose."""


class DecodeError(KdiagError):
    """The bytes contradict the format: the fault of their writer.

    Attributes:
        path: the field that could not be read, such as `topics[0].partitions[2].records`;
            empty if no field was reached.
        offset: the place of the fault, in bytes from the start of the decoded bytes.
        why: the expected bytes and those that were found.
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
    """A value cannot be written in the requested version: the caller's fault.

    Attributes:
        path: the field that could not be written.
        why: the values that the version allows.
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
        file: the name of the file, as it was opened.
        offset: bytes from the start of the (decompressed) file; None if not known.
        packet: number of the last good packet, from 1 over all inputs; 0 without any.
        why: the expected content, the actual content and the remedy.
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
    """The layers of a connection, from the name of the host to the requests on it."""

    DNS = "DNS"
    TCP = "TCP"
    TLS = "TLS"
    SASL = "SASL"
    KAFKA = "Kafka"


class Fault(StrEnum):
    """The kinds of failed connections, for programs that do not read `ConnectError.why`."""

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
    HUNG_UP = "hung up"
    """It closed before it said anything, as some TLS listeners do that hear plaintext."""


class ConnectError(KdiagError):
    """A broker could not be reached, or the connection broke before it could be used.

    Attributes:
        address: the `host:port` of the attempt.
        layer: the layer that failed.
        why: the attempt, the expected result and the actual one.
        fix: the remedy, one sentence; empty if nothing better than `why` is known.
        fault: the kind of the failure.
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
    """One end refused the credentials of the other; trying again will not help."""


class AdvertisedAddressError(ConnectError):
    """The address that a broker advertises cannot be used from here, nor that of any other broker.

    Attributes:
        node_id: the broker.
    """

    def __init__(self, node_id: int, address: str, layer: Layer, why: str) -> None:
        fix = (
            f"Start broker {node_id} if it is down; otherwise set its advertised.listeners to an "
            "address that its clients can reach, or use a listener meant for them."
        )
        super().__init__(address, layer, why, fix)
        self.node_id = node_id

    def __str__(self) -> str:
        return (
            f"KD1501: broker {self.node_id} advertises {self.address}, which cannot be used from "
            f"here: {self.why}"
        )


class DisconnectedError(KdiagError):
    """A connection ended with requests in flight, or before one was sent."""


class RequestTimeoutError(KdiagError):
    """No response came before the deadline."""


class AuthorizationError(KdiagError):
    """The cluster does not allow this user the operation."""


class UnsupportedVersionError(KdiagError):
    """Broker and kdiag, or two brokers, share no version of an API with the needed fields."""


class WakeupError(KdiagError):
    """Another thread ended a blocked poll."""


class ConfigError(KdiagError):
    """A setting is unknown, malformed or contradicts another: the user's fault.

    Attributes:
        key: the setting, as its source names it; empty if the source as a whole is at fault.
        origin: the source: `client.properties:7`, `-X`, `KDIAG_...`.
        why: the expected value and the actual one; never holds a secret.
    """

    def __init__(self, key: str, origin: str, why: str) -> None:
        super().__init__(key, origin, why)
        self.key = key
        self.origin = origin
        self.why = why

    def __str__(self) -> str:
        is_known = self.key not in {"", self.origin}
        place = f"{self.key} ({self.origin})" if is_known else self.origin
        return f"{place}: {self.why}"


class NoPasswordError(ConfigError):
    """A user is named and no password is given; a person may be asked for it.

    Attributes:
        username: whose password.
    """

    def __init__(self, error: ConfigError, username: str) -> None:
        super().__init__(error.key, error.origin, error.why)
        self.username = username


class _SubjectError(KdiagError):
    """An operation on something failed.

    Attributes:
        what: the object of the operation.
        why: the expected state, the actual one and the remedy.
    """

    def __init__(self, what: str, why: str) -> None:
        super().__init__(what, why)
        self.what = what
        self.why = why

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


class ReportError(_SubjectError):
    """A report, a query or a parameter is wrong, or tables cannot be read or written."""


class AbsentError(_SubjectError):
    """What was asked about is not on the cluster: a finding, not a fault of whoever asked."""


class ProbeError(_SubjectError):
    """A probe failed on a topic, a group or a broker, or could not undo its work."""


class GroupError(KdiagError):
    """The coordinator of a group refused a member, or the group did.

    Attributes:
        group_id: the group.
        error: Kafka's name of the error, such as `FENCED_INSTANCE_ID`.
        why: the expected state, the actual one and the remedy.
        is_retriable: whether the same request may succeed later.
    """

    def __init__(self, group_id: str, error: str, why: str, *, is_retriable: bool = False) -> None:
        super().__init__(group_id, error, why)
        self.group_id = group_id
        self.error = error
        self.why = why
        self.is_retriable = is_retriable

    def __str__(self) -> str:
        return f"group {self.group_id}: {self.error}: {self.why}"


class CommitFailedError(GroupError):
    """A member is not in its group any more: others may own the partitions it commits for."""
