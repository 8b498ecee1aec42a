"""What a check of a cluster has seen; the probe fills it in, and nothing is judged here."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from kdiag.errors import ConnectError, Layer
from kdiag.net.address import Address, Lookup, host_and_port
from kdiag.net.timed_channel import HandshakeFacts
from kdiag.wire.api.api_versions import ApiVersionsResponse
from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.describe_quorum import DescribeQuorumResponse
from kdiag.wire.api.metadata import MetadataResponse

if TYPE_CHECKING:  # a quick check does without
    from kdiag.diagnosis.coordinator import CoordinatorFacts

_DEPTH = (Layer.DNS, Layer.TCP, Layer.KAFKA, Layer.TLS, Layer.SASL)
"""The further a connection came, the more its error tells."""


class CheckStep(StrEnum):
    """What happens on a connection, in this order."""

    TCP = "TCP"
    TLS = "TLS"
    SASL = "SASL"
    API_VERSIONS = "ApiVersions"
    METADATA = "Metadata"


class Visit(msgspec.Struct, kw_only=True):
    """One connection to one address, and what was said on it.

    Attributes:
        node_id: of the connection.
        address: where it went.
        took_ns: the steps that ended well, and how long each took.
        error: why the next step failed; None if none did.
        failed_ns: how long that step took to fail.
        tls: what TLS showed, if there is TLS.
        versions: the answer to ApiVersions.
        metadata: the answer to Metadata, without topics.
    """

    node_id: str
    address: Address
    took_ns: Mapping[CheckStep, int]
    error: ConnectError | None = None
    failed_ns: int = 0
    tls: HandshakeFacts | None = None
    versions: ApiVersionsResponse | None = None
    metadata: MetadataResponse | None = None

    @property
    def failed_step(self) -> CheckStep | None:
        """Return the step that failed; None if none did."""
        if self.error is None:
            return None
        if self.error.layer in {Layer.TCP, Layer.TLS, Layer.SASL}:
            return CheckStep(self.error.layer)
        return (
            CheckStep.METADATA if CheckStep.API_VERSIONS in self.took_ns else CheckStep.API_VERSIONS
        )

    @property
    def target(self) -> str:
        """Return `host:port`, with the address where the host is a name."""
        named = host_and_port(self.address.host, self.address.port)
        return named if self.address.ip == self.address.host else f"{named} ({self.address.ip})"


class CheckedEndpoint(msgspec.Struct, kw_only=True):
    """A host and port, as somebody named it, and the visits to each of its addresses.

    Attributes:
        host, port: that.
        lookup: of the host.
        visits: one to each address.
        node_id: the broker that advertises it; None for a bootstrap server.
    """

    host: str
    port: int
    lookup: Lookup
    visits: Sequence[Visit]
    node_id: int | None = None

    def __str__(self) -> str:
        return host_and_port(self.host, self.port)

    @property
    def is_name(self) -> bool:
        """Return whether the host had to be looked up."""
        return [each.ip for each in self.lookup.addresses] != [self.host]

    @property
    def best(self) -> Visit | None:
        """Return the first visit on which all went well; None if there is none."""
        return next((each for each in self.visits if each.metadata is not None), None)

    @property
    def errors(self) -> list[ConnectError]:
        """Return what went wrong, the most telling first."""
        errors = [each.error for each in self.visits if each.error is not None]
        if self.lookup.error is not None:
            errors.append(self.lookup.error)
        return sorted(errors, key=lambda each: -_DEPTH.index(each.layer))


class CheckFacts(msgspec.Struct, kw_only=True):
    """Everything that a check has asked and heard.

    Attributes:
        epoch_ns: when it was, since 1970.
        has_tls: whether connections are encrypted.
        login: mechanism and user, as text; None without SASL.
        servers: the bootstrap servers.
        metadata: the first answer to Metadata; None if nobody answered.
        is_quick: whether nothing more was asked.
        listeners: the addresses that the brokers advertise, by ascending broker id.
        cluster: what DescribeCluster answered, with what the user may do.
        quorum: what the controllers answered to DescribeQuorum; None where there is no quorum.
        is_quorum_silent: whether they were asked and did not answer in time.
        topics: all topics that the user may see.
        wanted: the topics that were asked for by name, with what the user may do with each.
        min_isr: `min.insync.replicas` by topic, of those with replicas out of sync.
        group: the group that was asked for.
        coordinator: who coordinates it, or a group of kdiag's own; None if nobody was asked.
        group_operations: what the user may do with the group, as bits; None if not told.
        failures: what could not be asked -> why.
        took_ns: how long each question took, by the name of its stage.
    """

    epoch_ns: int
    has_tls: bool
    login: str | None
    servers: Sequence[CheckedEndpoint]
    metadata: MetadataResponse | None = None
    is_quick: bool = False
    listeners: Sequence[CheckedEndpoint] = ()
    cluster: DescribeClusterResponse | None = None
    quorum: DescribeQuorumResponse | None = None
    is_quorum_silent: bool = False
    topics: MetadataResponse | None = None
    wanted: MetadataResponse | None = None
    min_isr: Mapping[str, int] = {}
    group: str | None = None
    coordinator: "CoordinatorFacts | None" = None
    group_operations: int | None = None
    failures: Mapping[str, str] = {}
    took_ns: Mapping[str, int] = {}
