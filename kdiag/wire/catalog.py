"""Every Kafka API: its key, name, versions, headers and classes.

One table, so that a capture can be told apart without a single API module imported: `Api` imports
its module when a class is asked for. Written by `kdiag_schema`.

Source: the message schemas in Kafka's jars; KIP-482 (flexible versions), KIP-511 (the header of
ApiVersions responses).
"""

from functools import cache
from importlib import import_module
from typing import Final, NamedTuple, cast

from kdiag.wire.schema import NO_VERSIONS, Struct, Versions

NEWEST_KAFKA: Final = "4.4.0"
"""The newest release whose schemas are here."""

API_VERSIONS_KEY: Final = 18
CONTROLLED_SHUTDOWN_KEY: Final = 7


class Api(NamedTuple):
    """One Kafka API.

    Attributes:
        key: the API key.
        name: Kafka's name, such as `Fetch`.
        module: its module in `kdiag.wire.api`.
        versions: every version that any Kafka release spoke.
        flexible: the versions with compact lengths and tagged fields.
        newest: the versions that NEWEST_KAFKA speaks; None if it has dropped the API.
    """

    key: int
    name: str
    module: str
    versions: Versions
    flexible: Versions
    newest: Versions | None

    def request_class(self) -> type[Struct]:
        """Return the class of the request, importing its module on first use."""
        return _load(self.module, f"{self.name}Request")

    def response_class(self) -> type[Struct]:
        """Return the class of the response, importing its module on first use."""
        return _load(self.module, f"{self.name}Response")

    def request_header_version(self, version: int) -> int:
        """Return the version of the header before a request; an unknown version is like the last.

        Version 0, without a client id, stands before ControlledShutdown version 0 alone.
        """
        if self.key == CONTROLLED_SHUTDOWN_KEY and version == 0:
            return 0
        return 2 if self.flexible.covers(version) else 1

    def response_header_version(self, version: int) -> int:
        """Return the version of the header before a response; an unknown version is like the last.

        Before ApiVersions it is 0 in every version: the client must be able to read the answer of
        a broker that does not know the version it asked in (KIP-511).
        """
        return 1 if self.key != API_VERSIONS_KEY and self.flexible.covers(version) else 0


@cache
def _load(module: str, name: str) -> type[Struct]:
    """Return a class of an API module."""
    return cast("type[Struct]", getattr(import_module(f"kdiag.wire.api.{module}"), name))


def _api(key: int, name: str, module: str, *versions: str) -> Api:
    """Return an API for its versions, flexible and newest versions in Kafka's notation."""
    every, flexible, newest = (Versions.parse(text) for text in versions)
    return Api(key, name, module, every, flexible, newest if newest != NO_VERSIONS else None)


APIS: Final = (
    _api(0, "Produce", "produce", "0-13", "9+", "3-13"),
    _api(1, "Fetch", "fetch", "0-18", "12+", "4-18"),
    _api(2, "ListOffsets", "list_offsets", "0-11", "6+", "1-11"),
    _api(3, "Metadata", "metadata", "0-13", "9+", "0-13"),
    _api(4, "LeaderAndIsr", "leader_and_isr", "0-7", "4+", "none"),
    _api(5, "StopReplica", "stop_replica", "0-4", "2+", "none"),
    _api(6, "UpdateMetadata", "update_metadata", "0-8", "6+", "none"),
    _api(7, "ControlledShutdown", "controlled_shutdown", "0-3", "3+", "none"),
    _api(8, "OffsetCommit", "offset_commit", "0-10", "8+", "2-10"),
    _api(9, "OffsetFetch", "offset_fetch", "0-10", "6+", "1-10"),
    _api(10, "FindCoordinator", "find_coordinator", "0-6", "3+", "0-6"),
    _api(11, "JoinGroup", "join_group", "0-9", "6+", "0-9"),
    _api(12, "Heartbeat", "heartbeat", "0-4", "4+", "0-4"),
    _api(13, "LeaveGroup", "leave_group", "0-5", "4+", "0-5"),
    _api(14, "SyncGroup", "sync_group", "0-5", "4+", "0-5"),
    _api(15, "DescribeGroups", "describe_groups", "0-6", "5+", "0-6"),
    _api(16, "ListGroups", "list_groups", "0-5", "3+", "0-5"),
    _api(17, "SaslHandshake", "sasl_handshake", "0-1", "none", "0-1"),
    _api(18, "ApiVersions", "api_versions", "0-5", "3+", "0-5"),
    _api(19, "CreateTopics", "create_topics", "0-7", "5+", "2-7"),
    _api(20, "DeleteTopics", "delete_topics", "0-6", "4+", "1-6"),
    _api(21, "DeleteRecords", "delete_records", "0-2", "2+", "0-2"),
    _api(22, "InitProducerId", "init_producer_id", "0-6", "2+", "0-6"),
    _api(23, "OffsetForLeaderEpoch", "offset_for_leader_epoch", "0-4", "4+", "2-4"),
    _api(24, "AddPartitionsToTxn", "add_partitions_to_txn", "0-5", "3+", "0-5"),
    _api(25, "AddOffsetsToTxn", "add_offsets_to_txn", "0-4", "3+", "0-4"),
    _api(26, "EndTxn", "end_txn", "0-5", "3+", "0-5"),
    _api(27, "WriteTxnMarkers", "write_txn_markers", "0-2", "1+", "1-2"),
    _api(28, "TxnOffsetCommit", "txn_offset_commit", "0-6", "3+", "0-6"),
    _api(29, "DescribeAcls", "describe_acls", "0-3", "2+", "1-3"),
    _api(30, "CreateAcls", "create_acls", "0-3", "2+", "1-3"),
    _api(31, "DeleteAcls", "delete_acls", "0-3", "2+", "1-3"),
    _api(32, "DescribeConfigs", "describe_configs", "0-4", "4+", "1-4"),
    _api(33, "AlterConfigs", "alter_configs", "0-2", "2+", "0-2"),
    _api(34, "AlterReplicaLogDirs", "alter_replica_log_dirs", "0-2", "2+", "1-2"),
    _api(35, "DescribeLogDirs", "describe_log_dirs", "0-5", "2+", "1-5"),
    _api(36, "SaslAuthenticate", "sasl_authenticate", "0-2", "2+", "0-2"),
    _api(37, "CreatePartitions", "create_partitions", "0-3", "2+", "0-3"),
    _api(38, "CreateDelegationToken", "create_delegation_token", "0-3", "2+", "1-3"),
    _api(39, "RenewDelegationToken", "renew_delegation_token", "0-2", "2+", "1-2"),
    _api(40, "ExpireDelegationToken", "expire_delegation_token", "0-2", "2+", "1-2"),
    _api(41, "DescribeDelegationToken", "describe_delegation_token", "0-3", "2+", "1-3"),
    _api(42, "DeleteGroups", "delete_groups", "0-3", "2+", "0-3"),
    _api(43, "ElectLeaders", "elect_leaders", "0-2", "2+", "0-2"),
    _api(44, "IncrementalAlterConfigs", "incremental_alter_configs", "0-1", "1+", "0-1"),
    _api(45, "AlterPartitionReassignments", "alter_partition_reassignments", "0-1", "0+", "0-1"),
    _api(46, "ListPartitionReassignments", "list_partition_reassignments", "0", "0+", "0"),
    _api(47, "OffsetDelete", "offset_delete", "0", "none", "0"),
    _api(48, "DescribeClientQuotas", "describe_client_quotas", "0-1", "1+", "0-1"),
    _api(49, "AlterClientQuotas", "alter_client_quotas", "0-1", "1+", "0-1"),
    _api(50, "DescribeUserScramCredentials", "describe_user_scram_credentials", "0", "0+", "0"),
    _api(51, "AlterUserScramCredentials", "alter_user_scram_credentials", "0", "0+", "0"),
    _api(52, "Vote", "vote", "0-2", "0+", "0-2"),
    _api(53, "BeginQuorumEpoch", "begin_quorum_epoch", "0-1", "1+", "0-1"),
    _api(54, "EndQuorumEpoch", "end_quorum_epoch", "0-1", "1+", "0-1"),
    _api(55, "DescribeQuorum", "describe_quorum", "0-2", "0+", "0-2"),
    _api(56, "AlterPartition", "alter_partition", "0-3", "0+", "2-3"),
    _api(57, "UpdateFeatures", "update_features", "0-2", "0+", "0-2"),
    _api(58, "Envelope", "envelope", "0", "0+", "0"),
    _api(59, "FetchSnapshot", "fetch_snapshot", "0-1", "0+", "0-1"),
    _api(60, "DescribeCluster", "describe_cluster", "0-2", "0+", "0-2"),
    _api(61, "DescribeProducers", "describe_producers", "0", "0+", "0"),
    _api(62, "BrokerRegistration", "broker_registration", "0-4", "0+", "0-4"),
    _api(63, "BrokerHeartbeat", "broker_heartbeat", "0-2", "0+", "0-2"),
    _api(64, "UnregisterBroker", "unregister_broker", "0", "0+", "0"),
    _api(65, "DescribeTransactions", "describe_transactions", "0", "0+", "0"),
    _api(66, "ListTransactions", "list_transactions", "0-2", "0+", "0-2"),
    _api(67, "AllocateProducerIds", "allocate_producer_ids", "0", "0+", "0"),
    _api(68, "ConsumerGroupHeartbeat", "consumer_group_heartbeat", "0-1", "0+", "0-1"),
    _api(69, "ConsumerGroupDescribe", "consumer_group_describe", "0-1", "0+", "0-1"),
    _api(70, "ControllerRegistration", "controller_registration", "0", "0+", "0"),
    _api(71, "GetTelemetrySubscriptions", "get_telemetry_subscriptions", "0", "0+", "0"),
    _api(72, "PushTelemetry", "push_telemetry", "0", "0+", "0"),
    _api(73, "AssignReplicasToDirs", "assign_replicas_to_dirs", "0", "0+", "0"),
    _api(74, "ListConfigResources", "list_config_resources", "0-1", "0+", "0-1"),
    _api(75, "DescribeTopicPartitions", "describe_topic_partitions", "0", "0+", "0"),
    _api(76, "ShareGroupHeartbeat", "share_group_heartbeat", "0-1", "0+", "1"),
    _api(77, "ShareGroupDescribe", "share_group_describe", "0-1", "0+", "1"),
    _api(78, "ShareFetch", "share_fetch", "0-2", "0+", "1-2"),
    _api(79, "ShareAcknowledge", "share_acknowledge", "0-2", "0+", "1-2"),
    _api(80, "AddRaftVoter", "add_raft_voter", "0-1", "0+", "0-1"),
    _api(81, "RemoveRaftVoter", "remove_raft_voter", "0", "0+", "0"),
    _api(82, "UpdateRaftVoter", "update_raft_voter", "0", "0+", "0"),
    _api(83, "InitializeShareGroupState", "initialize_share_group_state", "0", "0+", "0"),
    _api(84, "ReadShareGroupState", "read_share_group_state", "0", "0+", "0"),
    _api(85, "WriteShareGroupState", "write_share_group_state", "0-1", "0+", "0-1"),
    _api(86, "DeleteShareGroupState", "delete_share_group_state", "0", "0+", "0"),
    _api(87, "ReadShareGroupStateSummary", "read_share_group_state_summary", "0-1", "0+", "0-1"),
    _api(88, "StreamsGroupHeartbeat", "streams_group_heartbeat", "0-1", "0+", "0-1"),
    _api(89, "StreamsGroupDescribe", "streams_group_describe", "0-1", "0+", "0-1"),
    _api(90, "DescribeShareGroupOffsets", "describe_share_group_offsets", "0-1", "0+", "0-1"),
    _api(91, "AlterShareGroupOffsets", "alter_share_group_offsets", "0", "0+", "0"),
    _api(92, "DeleteShareGroupOffsets", "delete_share_group_offsets", "0", "0+", "0"),
    _api(
        93,
        "StreamsGroupTopologyDescriptionUpdate",
        "streams_group_topology_description_update",
        "0",
        "0+",
        "0",
    ),
    _api(94, "UnregisterController", "unregister_controller", "0", "0+", "0"),
)
"""Every API, by ascending key."""

API_BY_KEY: Final = {api.key: api for api in APIS}
"""The API of each key."""

_API_BY_NAME: Final = {api.name.lower(): api for api in APIS}


def api_named(name: str) -> Api | None:
    """Return the API of that name, in upper or lower case, or None."""
    return _API_BY_NAME.get(name.lower())
