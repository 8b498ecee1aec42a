"""Which class reads which record of Kafka's internal topics and logs.

Tables of names, so that nothing is imported before `message_class` asks for it. Written by
`kdiag_schema`.

A record of a coordinator's topic has a key that starts with an int16, the record type, and a value
that starts with an int16, the version of the value; the key itself is always version 0. (Before 4.0
Kafka called the record type the key's version; the bytes are the same.) A metadata record is a
value that starts with three unsigned varints: frame version 1, record type, version. The key of
a control record is an int16 version and the type (ControlRecordTypeSchema); before the value of
EndTxnMarker stands its version, an int16, while those of KRaft begin with theirs as first field.

Source: Kafka's CoordinatorRecordType, MetadataRecordType and ControlRecordType.
"""

from functools import cache
from importlib import import_module
from typing import Final, NamedTuple, cast

from kdiag.wire.schema import Struct


class CoordinatorRecord(NamedTuple):
    """The names of the key and the value of a coordinator's record type."""

    key: str
    value: str


COORDINATOR_RECORDS: Final = {
    "__consumer_offsets": {
        0: CoordinatorRecord("LegacyOffsetCommitKey", "LegacyOffsetCommitValue"),
        1: CoordinatorRecord("OffsetCommitKey", "OffsetCommitValue"),
        2: CoordinatorRecord("GroupMetadataKey", "GroupMetadataValue"),
        3: CoordinatorRecord("ConsumerGroupMetadataKey", "ConsumerGroupMetadataValue"),
        4: CoordinatorRecord(
            "ConsumerGroupPartitionMetadataKey", "ConsumerGroupPartitionMetadataValue"
        ),
        5: CoordinatorRecord("ConsumerGroupMemberMetadataKey", "ConsumerGroupMemberMetadataValue"),
        6: CoordinatorRecord(
            "ConsumerGroupTargetAssignmentMetadataKey", "ConsumerGroupTargetAssignmentMetadataValue"
        ),
        7: CoordinatorRecord(
            "ConsumerGroupTargetAssignmentMemberKey", "ConsumerGroupTargetAssignmentMemberValue"
        ),
        8: CoordinatorRecord(
            "ConsumerGroupCurrentMemberAssignmentKey", "ConsumerGroupCurrentMemberAssignmentValue"
        ),
        9: CoordinatorRecord("ShareGroupPartitionMetadataKey", "ShareGroupPartitionMetadataValue"),
        10: CoordinatorRecord("ShareGroupMemberMetadataKey", "ShareGroupMemberMetadataValue"),
        11: CoordinatorRecord("ShareGroupMetadataKey", "ShareGroupMetadataValue"),
        12: CoordinatorRecord(
            "ShareGroupTargetAssignmentMetadataKey", "ShareGroupTargetAssignmentMetadataValue"
        ),
        13: CoordinatorRecord(
            "ShareGroupTargetAssignmentMemberKey", "ShareGroupTargetAssignmentMemberValue"
        ),
        14: CoordinatorRecord(
            "ShareGroupCurrentMemberAssignmentKey", "ShareGroupCurrentMemberAssignmentValue"
        ),
        15: CoordinatorRecord(
            "ShareGroupStatePartitionMetadataKey", "ShareGroupStatePartitionMetadataValue"
        ),
        16: CoordinatorRecord(
            "ConsumerGroupRegularExpressionKey", "ConsumerGroupRegularExpressionValue"
        ),
        17: CoordinatorRecord("StreamsGroupMetadataKey", "StreamsGroupMetadataValue"),
        19: CoordinatorRecord("StreamsGroupMemberMetadataKey", "StreamsGroupMemberMetadataValue"),
        20: CoordinatorRecord(
            "StreamsGroupTargetAssignmentMetadataKey", "StreamsGroupTargetAssignmentMetadataValue"
        ),
        21: CoordinatorRecord(
            "StreamsGroupTargetAssignmentMemberKey", "StreamsGroupTargetAssignmentMemberValue"
        ),
        22: CoordinatorRecord(
            "StreamsGroupCurrentMemberAssignmentKey", "StreamsGroupCurrentMemberAssignmentValue"
        ),
        23: CoordinatorRecord("StreamsGroupTopologyKey", "StreamsGroupTopologyValue"),
    },
    "__share_group_state": {
        0: CoordinatorRecord("ShareSnapshotKey", "ShareSnapshotValue"),
        1: CoordinatorRecord("ShareUpdateKey", "ShareUpdateValue"),
    },
    "__transaction_state": {
        0: CoordinatorRecord("TransactionLogKey", "TransactionLogValue"),
    },
}
"""For each coordinator's topic, the names of key and value by record type."""

METADATA_RECORDS: Final = {
    "__cluster_metadata": {
        0: "RegisterBrokerRecord",
        1: "UnregisterBrokerRecord",
        2: "TopicRecord",
        3: "PartitionRecord",
        4: "ConfigRecord",
        5: "PartitionChangeRecord",
        7: "FenceBrokerRecord",
        8: "UnfenceBrokerRecord",
        9: "RemoveTopicRecord",
        10: "DelegationTokenRecord",
        11: "UserScramCredentialRecord",
        12: "FeatureLevelRecord",
        14: "ClientQuotaRecord",
        15: "ProducerIdsRecord",
        17: "BrokerRegistrationChangeRecord",
        18: "AccessControlEntryRecord",
        19: "RemoveAccessControlEntryRecord",
        20: "NoOpRecord",
        21: "ZkMigrationStateRecord",
        22: "RemoveUserScramCredentialRecord",
        23: "BeginTransactionRecord",
        24: "EndTransactionRecord",
        25: "AbortTransactionRecord",
        26: "RemoveDelegationTokenRecord",
        27: "RegisterControllerRecord",
        28: "ClearElrRecord",
        29: "UnregisterControllerRecord",
    },
    "__remote_log_metadata": {
        0: "RemoteLogSegmentMetadataRecord",
        1: "RemoteLogSegmentMetadataUpdateRecord",
        2: "RemotePartitionDeleteMetadataRecord",
        3: "RemoteLogSegmentMetadataSnapshotRecord",
    },
}
"""For each topic of metadata records, the name of the record by record type."""

CONTROL_RECORDS: Final = {
    0: "EndTxnMarker",
    1: "EndTxnMarker",
    2: "LeaderChangeMessage",
    3: "SnapshotHeaderRecord",
    4: "SnapshotFooterRecord",
    5: "KRaftVersionRecord",
    6: "VotersRecord",
}
"""The name of a control record's value by its type: 0 is abort, 1 commit."""

MODULE_BY_NAME: Final = {
    "AbortTransactionRecord": "abort_transaction_record",
    "AbortedTxn": "aborted_txn",
    "AccessControlEntryRecord": "access_control_entry_record",
    "BeginTransactionRecord": "begin_transaction_record",
    "BrokerRegistrationChangeRecord": "broker_registration_change_record",
    "ClearElrRecord": "clear_elr_record",
    "ClientQuotaRecord": "client_quota_record",
    "ConfigRecord": "config_record",
    "ConsumerGroupCurrentMemberAssignmentKey": "consumer_group_current_member_assignment",
    "ConsumerGroupCurrentMemberAssignmentValue": "consumer_group_current_member_assignment",
    "ConsumerGroupMemberMetadataKey": "consumer_group_member_metadata",
    "ConsumerGroupMemberMetadataValue": "consumer_group_member_metadata",
    "ConsumerGroupMetadataKey": "consumer_group_metadata",
    "ConsumerGroupMetadataValue": "consumer_group_metadata",
    "ConsumerGroupPartitionMetadataKey": "consumer_group_partition_metadata",
    "ConsumerGroupPartitionMetadataValue": "consumer_group_partition_metadata",
    "ConsumerGroupRegularExpressionKey": "consumer_group_regular_expression",
    "ConsumerGroupRegularExpressionValue": "consumer_group_regular_expression",
    "ConsumerGroupTargetAssignmentMemberKey": "consumer_group_target_assignment_member",
    "ConsumerGroupTargetAssignmentMemberValue": "consumer_group_target_assignment_member",
    "ConsumerGroupTargetAssignmentMetadataKey": "consumer_group_target_assignment_metadata",
    "ConsumerGroupTargetAssignmentMetadataValue": "consumer_group_target_assignment_metadata",
    "ConsumerProtocolAssignment": "consumer_protocol_assignment",
    "ConsumerProtocolSubscription": "consumer_protocol_subscription",
    "ControlRecordTypeSchema": "control_record_type_schema",
    "DefaultPrincipalData": "default_principal_data",
    "DelegationTokenRecord": "delegation_token_record",
    "EndTransactionRecord": "end_transaction_record",
    "EndTxnMarker": "end_txn_marker",
    "FeatureLevelRecord": "feature_level_record",
    "FenceBrokerRecord": "fence_broker_record",
    "GroupMetadataKey": "group_metadata",
    "GroupMetadataValue": "group_metadata",
    "KRaftVersionRecord": "k_raft_version_record",
    "LeaderChangeMessage": "leader_change_message",
    "LegacyOffsetCommitKey": "legacy_offset_commit",
    "LegacyOffsetCommitValue": "legacy_offset_commit",
    "NoOpRecord": "no_op_record",
    "OffsetCommitKey": "offset_commit",
    "OffsetCommitValue": "offset_commit",
    "PartitionChangeRecord": "partition_change_record",
    "PartitionRecord": "partition_record",
    "ProducerIdsRecord": "producer_ids_record",
    "ProducerSnapshot": "producer_snapshot",
    "QuorumStateData": "quorum_state_data",
    "RegisterBrokerRecord": "register_broker_record",
    "RegisterControllerRecord": "register_controller_record",
    "RemoteLogSegmentMetadataRecord": "remote_log_segment_metadata_record",
    "RemoteLogSegmentMetadataSnapshotRecord": "remote_log_segment_metadata_snapshot_record",
    "RemoteLogSegmentMetadataUpdateRecord": "remote_log_segment_metadata_update_record",
    "RemotePartitionDeleteMetadataRecord": "remote_partition_delete_metadata_record",
    "RemoveAccessControlEntryRecord": "remove_access_control_entry_record",
    "RemoveDelegationTokenRecord": "remove_delegation_token_record",
    "RemoveTopicRecord": "remove_topic_record",
    "RemoveUserScramCredentialRecord": "remove_user_scram_credential_record",
    "ShareGroupCurrentMemberAssignmentKey": "share_group_current_member_assignment",
    "ShareGroupCurrentMemberAssignmentValue": "share_group_current_member_assignment",
    "ShareGroupMemberMetadataKey": "share_group_member_metadata",
    "ShareGroupMemberMetadataValue": "share_group_member_metadata",
    "ShareGroupMetadataKey": "share_group_metadata",
    "ShareGroupMetadataValue": "share_group_metadata",
    "ShareGroupPartitionMetadataKey": "share_group_partition_metadata",
    "ShareGroupPartitionMetadataValue": "share_group_partition_metadata",
    "ShareGroupStatePartitionMetadataKey": "share_group_state_partition_metadata",
    "ShareGroupStatePartitionMetadataValue": "share_group_state_partition_metadata",
    "ShareGroupTargetAssignmentMemberKey": "share_group_target_assignment_member",
    "ShareGroupTargetAssignmentMemberValue": "share_group_target_assignment_member",
    "ShareGroupTargetAssignmentMetadataKey": "share_group_target_assignment_metadata",
    "ShareGroupTargetAssignmentMetadataValue": "share_group_target_assignment_metadata",
    "ShareSnapshotKey": "share_snapshot",
    "ShareSnapshotValue": "share_snapshot",
    "ShareUpdateKey": "share_update",
    "ShareUpdateValue": "share_update",
    "SnapshotFooterRecord": "snapshot_footer_record",
    "SnapshotHeaderRecord": "snapshot_header_record",
    "StreamsGroupCurrentMemberAssignmentKey": "streams_group_current_member_assignment",
    "StreamsGroupCurrentMemberAssignmentValue": "streams_group_current_member_assignment",
    "StreamsGroupMemberMetadataKey": "streams_group_member_metadata",
    "StreamsGroupMemberMetadataValue": "streams_group_member_metadata",
    "StreamsGroupMetadataKey": "streams_group_metadata",
    "StreamsGroupMetadataValue": "streams_group_metadata",
    "StreamsGroupTargetAssignmentMemberKey": "streams_group_target_assignment_member",
    "StreamsGroupTargetAssignmentMemberValue": "streams_group_target_assignment_member",
    "StreamsGroupTargetAssignmentMetadataKey": "streams_group_target_assignment_metadata",
    "StreamsGroupTargetAssignmentMetadataValue": "streams_group_target_assignment_metadata",
    "StreamsGroupTopologyKey": "streams_group_topology",
    "StreamsGroupTopologyValue": "streams_group_topology",
    "TopicRecord": "topic_record",
    "TransactionLogKey": "transaction_log",
    "TransactionLogValue": "transaction_log",
    "UnfenceBrokerRecord": "unfence_broker_record",
    "UnregisterBrokerRecord": "unregister_broker_record",
    "UnregisterControllerRecord": "unregister_controller_record",
    "UserScramCredentialRecord": "user_scram_credential_record",
    "VotersRecord": "voters_record",
    "ZkMigrationStateRecord": "zk_migration_state_record",
}
"""The module in `kdiag.wire.internal` of each message."""


@cache
def message_class(name: str) -> type[Struct]:
    """Return the class of an internal message, importing its module on first use.

    Args:
        name: the name of Kafka's schema, such as `OffsetCommitKey`.

    Raises:
        KeyError: if there is no such message.
    """
    module = import_module(f"kdiag.wire.internal.{MODULE_BY_NAME[name]}")
    return cast("type[Struct]", getattr(module, name))
