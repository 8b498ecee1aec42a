"""The purpose of each internal record, in one sentence of our own, by module of wire/internal.

The sentence opens the module, so that it must fit a line (97 characters). A new record without a
sentence stops `kdiag_schema`.
"""

from typing import Final

RECORD_PURPOSE: Final = {
    # what members of classic groups say to each other through the coordinator
    "consumer_protocol_subscription": "The subscription of a member of a classic consumer group.",
    "consumer_protocol_assignment": (
        "The assignment of a member of a classic consumer group, by the group's leader."
    ),
    # __consumer_offsets
    "legacy_offset_commit": "A committed offset as Kafka 0.8 wrote it.",
    "offset_commit": "A committed offset of a group for one partition.",
    "group_metadata": "A classic group: generation, protocol, leader and members.",
    "consumer_group_metadata": "The epoch of a group of the new consumer protocol.",
    "consumer_group_partition_metadata": (
        "The partition counts that a consumer group was planned on."
    ),
    "consumer_group_member_metadata": (
        "A member of a consumer group: client, subscription, assignor."
    ),
    "consumer_group_target_assignment_metadata": (
        "The epoch of a consumer group's planned assignment."
    ),
    "consumer_group_target_assignment_member": (
        "The planned assignment of one consumer group member."
    ),
    "consumer_group_current_member_assignment": (
        "The current assignment of one consumer group member."
    ),
    "consumer_group_regular_expression": "The topics that a consumer group's pattern matched.",
    "share_group_partition_metadata": (
        "The partition counts that a share group was planned on (3.9)."
    ),
    "share_group_member_metadata": "A member of a share group: client and subscription.",
    "share_group_metadata": "The epoch of a share group.",
    "share_group_target_assignment_metadata": "The epoch of a share group's planned assignment.",
    "share_group_target_assignment_member": "The planned assignment of one share group member.",
    "share_group_current_member_assignment": "The current assignment of one share group member.",
    "share_group_state_partition_metadata": (
        "Which partitions' share state exists or is going away."
    ),
    "streams_group_metadata": "The epochs of a streams group.",
    "streams_group_member_metadata": "A member of a streams group: client, process and tags.",
    "streams_group_target_assignment_metadata": (
        "The epoch of a streams group's planned assignment."
    ),
    "streams_group_target_assignment_member": (
        "The tasks that one streams member is planned to run."
    ),
    "streams_group_current_member_assignment": "The tasks that one streams member runs right now.",
    "streams_group_topology": "The subtopologies and internal topics of a streams group.",
    # __transaction_state
    "transaction_log": (
        "A transactional id: its producer, its state and the partitions it wrote to."
    ),
    # __share_group_state
    "share_snapshot": "All of a share group's delivery state of one partition.",
    "share_update": "The changes of a share group's delivery state since its snapshot.",
    # control records
    "control_record_type_schema": "The key of a control record: which kind of marker it is.",
    "end_txn_marker": "The value of a commit or abort marker.",
    "leader_change_message": "A KRaft leader marks the start of its epoch in the log.",
    "snapshot_header_record": "The first record of a KRaft snapshot.",
    "snapshot_footer_record": "The last record of a KRaft snapshot.",
    "k_raft_version_record": "The version of KRaft that the quorum has agreed on.",
    "voters_record": "The voters of the KRaft quorum, with their endpoints.",
    # __cluster_metadata
    "register_broker_record": "A broker registered: listeners, features, rack, log directories.",
    "unregister_broker_record": "A broker's registration was removed.",
    "topic_record": "A topic was created.",
    "partition_record": "A partition was created: replicas, in-sync replicas, leader.",
    "config_record": "A configuration entry was set or, with a null value, removed.",
    "partition_change_record": "A partition changed: leader, in-sync or assigned replicas.",
    "fence_broker_record": "A broker was fenced: it leads nothing until it is back.",
    "unfence_broker_record": "A fenced broker is back.",
    "remove_topic_record": "A topic was deleted.",
    "delegation_token_record": "A delegation token was issued or changed.",
    "user_scram_credential_record": "A SCRAM credential was set.",
    "feature_level_record": "A feature's finalized level changed.",
    "client_quota_record": "A client quota was set or removed.",
    "producer_ids_record": "A broker took a block of producer ids.",
    "broker_registration_change_record": (
        "A registered broker changed: fenced, shutting down, disks."
    ),
    "access_control_entry_record": "An access control entry was added.",
    "remove_access_control_entry_record": "An access control entry was removed.",
    "no_op_record": "Nothing happened: it lets the log grow, so that replicas see a live leader.",
    "zk_migration_state_record": "The state of the migration from ZooKeeper.",
    "remove_user_scram_credential_record": "A SCRAM credential was removed.",
    "begin_transaction_record": "A metadata transaction begins: what follows waits for its end.",
    "end_transaction_record": "A metadata transaction ends: what waited takes effect.",
    "abort_transaction_record": "A metadata transaction is undone.",
    "remove_delegation_token_record": "A delegation token was removed.",
    "register_controller_record": "A controller registered: listeners and features.",
    "clear_elr_record": "The eligible leader replicas of topics were forgotten.",
    "unregister_controller_record": "A controller's registration was removed.",
    # __remote_log_metadata
    "remote_log_segment_metadata_record": "A log segment is being copied to tiered storage.",
    "remote_log_segment_metadata_update_record": "A segment in tiered storage changed its state.",
    "remote_partition_delete_metadata_record": "A partition's segments in tiered storage go away.",
    "remote_log_segment_metadata_snapshot_record": (
        "A segment as a snapshot of tiered metadata has it."
    ),
    # files and fields that are in no topic
    "default_principal_data": "The sender of a request that a broker forwards in an Envelope.",
    "quorum_state_data": "The vote of a KRaft replica: its quorum-state file, which is JSON.",
    "producer_snapshot": "The producers that wrote to a partition: a broker's .snapshot file.",
    "aborted_txn": "An aborted transaction of a segment: one entry of a broker's .txnindex file.",
}
