"""The facts of a check: what was asked of a cluster, and its answers; nothing is judged here."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from kdiag.diagnosis.check.disks import LogDir
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
"""The layers by how far a connection came: the further, the more its error tells."""


class CheckStep(StrEnum):
    """The steps of a connection, in order."""

    TCP = "TCP"
    TLS = "TLS"
    SASL = "SASL"
    API_VERSIONS = "ApiVersions"
    METADATA = "Metadata"


class Visit(msgspec.Struct, kw_only=True):
    """One connection to one address, and the answers on it.

    Attributes:
        node_id: the node id of the connection.
        address: the address.
        took_ns: the duration of each step that succeeded.
        error: why the next step failed; None if none did.
        failed_ns: the duration of the failed step.
        tls: the facts of TLS, if there is TLS.
        versions: the response to ApiVersions.
        metadata: the response to Metadata, without topics.
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
        """Return `host:port`, with the address in parentheses if the host is a name."""
        named = host_and_port(self.address.host, self.address.port)
        return named if self.address.ip == self.address.host else f"{named} ({self.address.ip})"


class CheckedEndpoint(msgspec.Struct, kw_only=True):
    """A host and port, and the visits to each of its addresses.

    Attributes:
        host, port: as in the configuration, or as advertised.
        lookup: the lookup of the host.
        visits: the visits, one to each address.
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
        """Return the first visit without an error; None if there is none."""
        return next((each for each in self.visits if each.metadata is not None), None)

    @property
    def errors(self) -> list[ConnectError]:
        """Return the errors of lookup and visits, the most telling first."""
        errors = [each.error for each in self.visits if each.error is not None]
        if self.lookup.error is not None:
            errors.append(self.lookup.error)
        return sorted(errors, key=lambda each: -_DEPTH.index(each.layer))


class BrokerPings(NamedTuple):
    """How long a broker took to answer the same question several times.

    Attributes:
        took_ns: each answer, without the network where that is known; of a question without an
            answer how long it has waited.
        knows_path: whether the round trip of the network is known.
    """

    took_ns: Sequence[int]
    knows_path: bool


class SessionLimits(NamedTuple):
    """What a coordinator takes as session timeouts of classic members.

    Attributes:
        node_id: the coordinator.
        min_ms, max_ms: `group.min.session.timeout.ms`, `group.max.session.timeout.ms`.
    """

    node_id: int
    min_ms: int
    max_ms: int


class Exposure(NamedTuple):
    """What the client's configuration gives away when it logs in.

    Attributes:
        verifies_certificate: whether a broker must prove who it is.
        verifies_hostname: whether its certificate must be for the host connected to.
        secret: what the SASL mechanism sends as it is: `password`, `token`; empty if it proves
            that it knows the secret, and without SASL.
        open_endpoint: where the secret of an OAuth client goes over http; empty for nowhere.
    """

    verifies_certificate: bool = True
    verifies_hostname: bool = True
    secret: str = ""
    open_endpoint: str = ""


class TierRead(msgspec.Struct, kw_only=True):
    """How the read of one batch went.

    Attributes:
        took_ms: until the answer came.
        error: why it brought no record; None if it did.
    """

    took_ms: float
    error: str | None = None


class TopicTier(msgspec.Struct, kw_only=True):
    """A topic that is in remote storage in part (KIP-405).

    Attributes:
        topic: its name.
        partition_count, remote_count: its partitions, and those whose beginnings are remote.
        remote_offsets, offsets: offsets of these that are not local, and all of them.
        remote_read: of the first offset of one of them.
        local_read: of its first offset that is local; None if there is none.
    """

    topic: str
    partition_count: int
    remote_count: int
    remote_offsets: int
    offsets: int
    remote_read: TierRead
    local_read: TierRead | None = None


class CheckFacts(msgspec.Struct, kw_only=True):
    """All facts of a check.

    Attributes:
        epoch_ns: the time of the check, since 1970.
        has_tls: whether connections are encrypted.
        login: mechanism and user, as text; None without SASL.
        exposure: what the client's configuration gives away.
        servers: the bootstrap servers.
        metadata: the first response to Metadata; None without any.
        is_quick: whether nothing more was asked.
        listeners: the addresses that the brokers advertise, by ascending broker id.
        cluster: the response to DescribeCluster, with the user's operations.
        quorum: the controllers' response to DescribeQuorum; None if there is no quorum.
        is_quorum_silent: whether the controllers did not answer in time.
        topics: all topics that the user may see.
        tiers: the wanted topics that are in remote storage in part.
        unseen_topics: why there may be others; None if there are not.
        wanted: the topics that were asked for by name, with the user's operations on each.
        min_isr: `min.insync.replicas` by topic, of those with replicas out of sync.
        log_dirs: the log directories of the reachable brokers, as far as the user may see them.
        pings: of each broker, if one of them answered late.
        groups: the groups that were asked for.
        coordinator: the coordinators of these groups, or of one of kdiag's own; None if nobody was
            asked.
        group_operations: the user's operations on each group, as bits, as far as they are known.
        group_members: how many members each group has, as far as its coordinator told.
        session_timeout_ms: `session.timeout.ms` of the client's configuration; None if it is not
            wanted.
        session_limits: what the coordinator of each group takes, as far as the user may read it.
        probe_topics: the topics of kdiag's probes that the user may see.
        probe_groups: the groups of kdiag's probes that the reachable brokers list.
        unlisted: why a reachable broker did not list its groups, by its id.
        failures: why a question could not be asked, by the name of its stage.
        took_ns: the duration of each question, by the name of its stage.
    """

    epoch_ns: int
    has_tls: bool
    login: str | None
    servers: Sequence[CheckedEndpoint]
    exposure: Exposure = Exposure()
    metadata: MetadataResponse | None = None
    is_quick: bool = False
    listeners: Sequence[CheckedEndpoint] = ()
    cluster: DescribeClusterResponse | None = None
    quorum: DescribeQuorumResponse | None = None
    is_quorum_silent: bool = False
    topics: MetadataResponse | None = None
    tiers: Sequence[TopicTier] = ()
    unseen_topics: str | None = None
    wanted: MetadataResponse | None = None
    min_isr: Mapping[str, int] = {}
    log_dirs: Sequence[LogDir] = ()
    pings: Mapping[int, BrokerPings] = {}
    groups: Sequence[str] = ()
    coordinator: "CoordinatorFacts | None" = None
    group_operations: Mapping[str, int] = {}
    group_members: Mapping[str, int] = {}
    session_timeout_ms: int | None = None
    session_limits: Mapping[str, SessionLimits] = {}
    probe_topics: Sequence[str] = ()
    probe_groups: Sequence[str] = ()
    unlisted: Mapping[int, str] = {}
    failures: Mapping[str, str] = {}
    took_ns: Mapping[str, int] = {}
