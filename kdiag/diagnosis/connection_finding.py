"""The finding for the error of a connection."""

from typing import Final

import msgspec

from kdiag.errors import AdvertisedAddressError, ConnectError, Fault, Layer
from kdiag.findings.finding import Finding, found

_BY_FAULT: Final = {
    Fault.UNRESOLVED: "KD1001",
    Fault.NO_NAME_SERVER: "KD1002",
    Fault.REFUSED: "KD1101",
    Fault.DROPPED: "KD1102",
    Fault.UNROUTED: "KD1104",
    Fault.NOT_TLS: "KD1201",
    Fault.CERTIFICATE_EXPIRED: "KD1202",
    Fault.WRONG_HOST: "KD1203",
    Fault.UNKNOWN_ISSUER: "KD1204",
    Fault.CLIENT_CERTIFICATE: "KD1205",
    Fault.WRONG_CREDENTIALS: "KD1301",
    Fault.MECHANISM_NOT_ENABLED: "KD1302",
    Fault.NOT_SASL: "KD1303",
    Fault.WANTS_SASL: "KD1304",
    Fault.WANTS_TLS: "KD1401",
    Fault.SILENT: "KD1402",
    Fault.NOT_KAFKA: "KD1403",
    Fault.BROKEN_PROTOCOL: "KD1404",
    Fault.CLOSED: "KD1405",
    Fault.HUNG_UP: "KD1408",
    Fault.CONTROLLER: "KD1406",
}
_BY_LAYER: Final = {
    Layer.DNS: "KD1001",
    Layer.TCP: "KD1104",
    Layer.TLS: "KD1207",
    Layer.SASL: "KD1305",
    Layer.KAFKA: "KD1405",
}
"""For faults without an id of their own."""


def connection_finding(error: ConnectError) -> Finding:
    """Return the finding, with the error's own fix if it has one, as that is more specific."""
    if isinstance(error, AdvertisedAddressError):
        return found("KD1501", node_id=error.node_id, address=error.address, why=error.why)
    rule_id = _BY_FAULT.get(error.fault) or _BY_LAYER[error.layer]
    host = error.address.partition(" ")[0].rpartition(":")[0]
    evidence = {"address": error.address, "host": host, "layer": str(error.layer)}
    if error.fault is Fault.CONTROLLER:
        evidence["asked"] = ""  # captures have other clients that asked there
    finding = found(rule_id, **evidence, why=error.why)
    return msgspec.structs.replace(finding, fix=sentence(error.fix)) if error.fix else finding


def of_hanging_broker(finding: Finding, broker: object) -> Finding:
    """Return a finding about a broker that accepts connections and says nothing, with its fix."""
    fix = f"See the log of broker {broker}: it hangs or is overloaded."
    return msgspec.structs.replace(finding, fix=fix)


def sentence(text: str) -> str:
    """Return a text with a full stop at its end."""
    return text if text.endswith(".") else f"{text}."
