"""What a check may have seen, for tests that judge it.

facts(listeners=[endpoint("kafka-2", 9092, visit(2, error=refused()), node_id=2)])
"""

import socket
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kdiag.diagnosis.check.facts import CheckedEndpoint, CheckFacts, CheckStep, Visit
from kdiag.errors import ConnectError, Fault, Layer
from kdiag.net.address import Address, Lookup
from kdiag.net.timed_channel import HandshakeFacts
from kdiag.net.tls.certificate import Certificate, Key
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsResponse, SupportedFeatureKey
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseBroker

MS: Final = 1_000_000
S: Final = 1_000 * MS
DAY: Final = 86_400 * S
NOW: Final = 20_000 * DAY
"""When the checks take place: 2024-10-04."""
CLUSTER: Final = "MkU3OEVBNTcwNTJENDM2Qg"


def metadata(*node_ids: int, cluster_id: str = CLUSTER, **more: Any) -> MetadataResponse:
    """Return the answer of a cluster of these brokers."""
    brokers = [MetadataResponseBroker(each, f"kafka-{each}", 9092) for each in node_ids]
    return MetadataResponse(brokers=brokers, cluster_id=cluster_id, controller_id=1, **more)


def versions(level: int = 30) -> ApiVersionsResponse:
    """Return the answer of a broker of the release of this level of metadata.version."""
    feature = SupportedFeatureKey("metadata.version", 7, level)
    return ApiVersionsResponse(
        api_keys=[ApiVersion(3, 0, 13), ApiVersion(18, 0, 4)], supported_features=[feature]
    )


def refused(address: str = "kafka-2:9092") -> ConnectError:
    """Return why nothing listens somewhere."""
    return ConnectError(address, Layer.TCP, "connection refused", "Start it", Fault.REFUSED)


def visit(  # noqa: PLR0913 - what differs from a visit that goes well
    ip: str = "203.0.113.7",
    *,
    host: str | None = None,
    port: int = 9092,
    error: ConnectError | None = None,
    took_ns: Mapping[CheckStep, int] | None = None,
    tls: HandshakeFacts | None = None,
    said: MetadataResponse | None = None,
    level: int = 30,
) -> Visit:
    """Return a visit to an address that goes well, unless there is an error."""
    well = {CheckStep.TCP: 1 * MS, CheckStep.API_VERSIONS: 2 * MS, CheckStep.METADATA: 3 * MS}
    return Visit(
        node_id="1",
        address=Address(host or ip, port, ip, socket.AF_INET),
        took_ns=took_ns if took_ns is not None else {} if error else well,
        error=error,
        failed_ns=5 * MS if error else 0,
        tls=tls,
        versions=None if error else versions(level),
        metadata=None if error else said or metadata(1),
    )


def endpoint(
    host: str, *visits: Visit, node_id: int | None = None, error: ConnectError | None = None
) -> CheckedEndpoint:
    """Return a host on port 9092 with the visits to its addresses."""
    addresses = [each.address for each in visits]
    return CheckedEndpoint(
        host=host,
        port=9092,
        lookup=Lookup(addresses, error, 4 * MS),
        visits=visits,
        node_id=node_id,
    )


def facts(
    servers: Sequence[CheckedEndpoint] | None = None, *, is_lost: bool = False, **more: Any
) -> CheckFacts:
    """Return what was seen of a cluster, by default of one whose bootstrap server answers.

    Args:
        servers: the bootstrap servers.
        is_lost: whether none of them answers.
        **more: fields of CheckFacts.
    """
    known = {"metadata": None if is_lost else metadata(1)}
    fields: dict[str, Any] = {"epoch_ns": NOW, "has_tls": False, "login": None, **known, **more}
    return CheckFacts(
        servers=[endpoint("203.0.113.7", visit())] if servers is None else servers, **fields
    )


def certificate(days_left: int = 100, names: Sequence[str] = ("kafka-1",)) -> Certificate:
    """Return a certificate that is valid for some days from NOW on."""
    return Certificate(
        subject="CN=kafka-1",
        issuer="CN=ca",
        common_names=("kafka-1",),
        dns_names=tuple(names),
        ip_addresses=(),
        not_before_ns=NOW - DAY,
        not_after_ns=NOW + days_left * DAY,
        key=Key("EC P-256", 256),
        signature="SHA-256 with ECDSA",
        serial="1",
        sha256="ab",
    )
