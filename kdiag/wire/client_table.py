"""The versions of each API that the clients of a Kafka release speak.

`2.7:0-12` means versions 0 to 12 from release 2.7 on, until the next that is named; before the
first the API is not known.

Written by `kdiag_schema --clients`; `kdiag.wire.client_release` reads it.
"""

from typing import Final

from kdiag.wire import api_keys

RELEASES: Final = (
    "0.10.0",
    "0.10.1",
    "0.10.2",
    "0.11.0",
    "1.0",
    "1.1",
    "2.0",
    "2.1",
    "2.2",
    "2.3",
    "2.4",
    "2.5",
    "2.6",
    "2.7",
    "2.8",
    "3.0",
    "3.1",
    "3.2",
    "3.3",
    "3.4",
    "3.5",
    "3.6",
    "3.7",
    "3.8",
    "3.9",
    "4.0",
    "4.1",
    "4.2",
    "4.3",
    "4.4",
)
"""The minor releases, oldest first."""

SPOKEN: Final = {
    api_keys.PRODUCE: (
        "0.10.0:0-2, 0.11.0:0-3, 1.0:0-5, 2.0:0-6, 2.1:0-7, 2.4:0-8, 2.8:0-9, 3.7:0-10, 3.8:0-11, "
        "4.0:3-12, 4.1:3-13"
    ),
    api_keys.FETCH: (
        "0.10.0:0-2, 0.10.1:0-3, 0.11.0:0-5, 1.0:0-6, 1.1:0-7, 2.0:0-8, 2.1:0-10, 2.3:0-11, "
        "2.7:0-12, 3.1:0-13, 3.5:0-15, 3.7:0-16, 3.9:0-17, 4.0:4-17, 4.1:4-18"
    ),
    api_keys.LIST_OFFSETS: (
        "0.10.0:0, 0.10.1:0-1, 0.11.0:0-2, 2.0:0-3, 2.1:0-4, 2.2:0-5, 2.8:0-6, 3.0:0-7, 3.5:0-8, "
        "3.9:0-9, 4.0:1-10, 4.2:1-11"
    ),
    api_keys.METADATA: (
        "0.10.0:0-1, 0.10.1:0-2, 0.11.0:0-4, 1.0:0-5, 2.0:0-6, 2.1:0-7, 2.3:0-8, 2.4:0-9, "
        "2.8:0-11, 3.1:0-12, 4.0:0-13"
    ),
    api_keys.LEADER_AND_ISR: (
        "0.10.0:0, 1.0:0-1, 2.2:0-2, 2.4:0-4, 2.8:0-5, 3.2:0-6, 3.4:0-7, 4.0:none"
    ),
    api_keys.STOP_REPLICA: "0.10.0:0, 2.2:0-1, 2.4:0-2, 2.6:0-3, 3.4:0-4, 4.0:none",
    api_keys.UPDATE_METADATA: (
        "0.10.0:0-2, 0.10.2:0-3, 1.0:0-4, 2.2:0-5, 2.4:0-6, 2.8:0-7, 3.4:0-8, 4.0:none"
    ),
    api_keys.CONTROLLED_SHUTDOWN: "0.10.0:1, 1.0:0-1, 2.2:0-2, 2.4:0-3, 4.0:none",
    api_keys.OFFSET_COMMIT: (
        "0.10.0:0-2, 0.11.0:0-3, 2.0:0-4, 2.1:0-6, 2.3:0-7, 2.4:0-8, 3.7:0-9, 4.0:2-9, 4.2:2-10"
    ),
    api_keys.OFFSET_FETCH: (
        "0.10.0:0-1, 0.10.2:0-2, 0.11.0:0-3, 2.0:0-4, 2.1:0-5, 2.4:0-6, 2.5:0-7, 3.0:0-8, 3.7:0-9, "
        "4.0:1-9, 4.2:1-10"
    ),
    api_keys.FIND_COORDINATOR: "0.10.0:0, 0.11.0:0-1, 2.0:0-2, 2.4:0-3, 3.0:0-4, 3.8:0-5, 3.9:0-6",
    api_keys.JOIN_GROUP: (
        "0.10.0:0, 0.10.1:0-1, 0.11.0:0-2, 2.0:0-3, 2.2:0-4, 2.3:0-5, 2.4:0-6, 2.5:0-7, 3.2:0-9"
    ),
    api_keys.HEARTBEAT: "0.10.0:0, 0.11.0:0-1, 2.0:0-2, 2.3:0-3, 2.4:0-4",
    api_keys.LEAVE_GROUP: "0.10.0:0, 0.11.0:0-1, 2.0:0-2, 2.4:0-4, 3.2:0-5",
    api_keys.SYNC_GROUP: "0.10.0:0, 0.11.0:0-1, 2.0:0-2, 2.3:0-3, 2.4:0-4, 2.5:0-5",
    api_keys.DESCRIBE_GROUPS: "0.10.0:0, 0.11.0:0-1, 2.0:0-2, 2.3:0-3, 2.4:0-5, 4.0:0-6",
    api_keys.LIST_GROUPS: "0.10.0:0, 0.11.0:0-1, 2.0:0-2, 2.4:0-3, 2.6:0-4, 3.8:0-5",
    api_keys.SASL_HANDSHAKE: "0.10.0:0, 1.0:0-1",
    api_keys.API_VERSIONS: "0.10.0:0, 0.11.0:0-1, 2.0:0-2, 2.4:0-3, 3.9:0-4, 4.4:0-5",
    api_keys.CREATE_TOPICS: (
        "0.10.1:0, 0.10.2:0-1, 0.11.0:0-2, 2.0:0-3, 2.4:0-5, 2.7:0-6, 2.8:0-7, 4.0:2-7"
    ),
    api_keys.DELETE_TOPICS: (
        "0.10.1:0, 0.11.0:0-1, 2.0:0-2, 2.1:0-3, 2.4:0-4, 2.7:0-5, 2.8:0-6, 4.0:1-6"
    ),
    api_keys.DELETE_RECORDS: "0.11.0:0, 2.0:0-1, 2.6:0-2",
    api_keys.INIT_PRODUCER_ID: "0.11.0:0, 2.0:0-1, 2.4:0-2, 2.5:0-3, 2.7:0-4, 3.8:0-5",
    api_keys.OFFSET_FOR_LEADER_EPOCH: "0.11.0:0, 2.0:0-1, 2.1:0-2, 2.3:0-3, 2.8:0-4, 4.0:2-4",
    api_keys.ADD_PARTITIONS_TO_TXN: "0.11.0:0, 2.0:0-1, 2.7:0-2, 2.8:0-3, 3.6:0-4, 3.8:0-5",
    api_keys.ADD_OFFSETS_TO_TXN: "0.11.0:0, 2.0:0-1, 2.7:0-2, 2.8:0-3, 3.8:0-4",
    api_keys.END_TXN: "0.11.0:0, 2.0:0-1, 2.7:0-2, 2.8:0-3, 3.8:0-4, 4.0:0-5",
    api_keys.WRITE_TXN_MARKERS: "0.11.0:0, 2.8:0-1, 4.0:1, 4.2:1-2",
    api_keys.TXN_OFFSET_COMMIT: "0.11.0:0, 2.0:0-1, 2.1:0-2, 2.5:0-3, 3.8:0-4, 4.0:0-5, 4.4:0-6",
    api_keys.DESCRIBE_ACLS: "0.11.0:0, 2.0:0-1, 2.5:0-2, 3.3:0-3, 4.0:1-3",
    api_keys.CREATE_ACLS: "0.11.0:0, 2.0:0-1, 2.5:0-2, 3.3:0-3, 4.0:1-3",
    api_keys.DELETE_ACLS: "0.11.0:0, 2.0:0-1, 2.5:0-2, 3.3:0-3, 4.0:1-3",
    api_keys.DESCRIBE_CONFIGS: "0.11.0:0, 1.1:0-1, 2.0:0-2, 2.6:0-3, 2.8:0-4, 4.0:1-4",
    api_keys.ALTER_CONFIGS: "0.11.0:0, 2.0:0-1, 2.8:0-2",
    api_keys.ALTER_REPLICA_LOG_DIRS: "1.0:0, 2.0:0-1, 2.8:0-2, 4.0:1-2",
    api_keys.DESCRIBE_LOG_DIRS: "1.0:0, 2.0:0-1, 2.6:0-2, 3.2:0-3, 3.3:0-4, 4.0:1-4, 4.3:1-5",
    api_keys.SASL_AUTHENTICATE: "1.0:0, 2.2:0-1, 2.5:0-2",
    api_keys.CREATE_PARTITIONS: "1.0:0, 2.0:0-1, 2.5:0-2, 2.7:0-3",
    api_keys.CREATE_DELEGATION_TOKEN: "1.1:0, 2.0:0-1, 2.4:0-2, 3.3:0-3, 4.0:1-3",
    api_keys.RENEW_DELEGATION_TOKEN: "1.1:0, 2.0:0-1, 2.5:0-2, 4.0:1-2",
    api_keys.EXPIRE_DELEGATION_TOKEN: "1.1:0, 2.0:0-1, 2.5:0-2, 4.0:1-2",
    api_keys.DESCRIBE_DELEGATION_TOKEN: "1.1:0, 2.0:0-1, 2.5:0-2, 3.3:0-3, 4.0:1-3",
    api_keys.DELETE_GROUPS: "1.1:0, 2.0:0-1, 2.4:0-2, 4.4:0-3",
    api_keys.ELECT_LEADERS: "2.2:0, 2.4:0-2",
    api_keys.INCREMENTAL_ALTER_CONFIGS: "2.3:0, 2.4:0-1",
    api_keys.ALTER_PARTITION_REASSIGNMENTS: "2.4:0, 4.1:0-1",
    api_keys.LIST_PARTITION_REASSIGNMENTS: "2.4:0",
    api_keys.OFFSET_DELETE: "2.4:0",
    api_keys.DESCRIBE_CLIENT_QUOTAS: "2.6:0, 2.8:0-1",
    api_keys.ALTER_CLIENT_QUOTAS: "2.6:0, 2.8:0-1",
    api_keys.DESCRIBE_USER_SCRAM_CREDENTIALS: "2.7:0",
    api_keys.ALTER_USER_SCRAM_CREDENTIALS: "2.7:0",
    api_keys.VOTE: "2.7:0, 3.9:0-1, 4.0:0-2",
    api_keys.BEGIN_QUORUM_EPOCH: "2.7:0, 3.9:0-1",
    api_keys.END_QUORUM_EPOCH: "2.7:0, 3.9:0-1",
    api_keys.DESCRIBE_QUORUM: "2.7:0, 3.3:0-1, 3.9:0-2",
    api_keys.ALTER_PARTITION: "2.7:0, 3.2:0-1, 3.3:0-2, 3.5:0-3, 4.0:2-3",
    api_keys.UPDATE_FEATURES: "2.7:0, 3.3:0-1, 4.0:0-2",
    api_keys.ENVELOPE: "2.8:0",
    api_keys.FETCH_SNAPSHOT: "2.8:0, 3.9:0-1",
    api_keys.DESCRIBE_CLUSTER: "2.8:0, 3.7:0-1, 4.0:0-2",
    api_keys.DESCRIBE_PRODUCERS: "2.8:0",
    api_keys.BROKER_REGISTRATION: "2.8:0, 3.4:0-1, 3.7:0-3, 3.9:0-4",
    api_keys.BROKER_HEARTBEAT: "2.8:0, 3.7:0-1, 4.3:0-2",
    api_keys.UNREGISTER_BROKER: "2.8:0",
    api_keys.DESCRIBE_TRANSACTIONS: "3.0:0",
    api_keys.LIST_TRANSACTIONS: "3.0:0, 3.8:0-1, 4.1:0-2",
    api_keys.ALLOCATE_PRODUCER_IDS: "3.0:0",
    api_keys.CONSUMER_GROUP_HEARTBEAT: "3.7:0, 4.0:0-1",
    api_keys.CONSUMER_GROUP_DESCRIBE: "3.8:0, 4.0:0-1",
    api_keys.CONTROLLER_REGISTRATION: "3.7:0",
    api_keys.GET_TELEMETRY_SUBSCRIPTIONS: "3.7:0",
    api_keys.PUSH_TELEMETRY: "3.7:0",
    api_keys.ASSIGN_REPLICAS_TO_DIRS: "3.7:0",
    api_keys.LIST_CONFIG_RESOURCES: "3.7:0, 4.1:0-1",
    api_keys.DESCRIBE_TOPIC_PARTITIONS: "3.8:0",
    api_keys.SHARE_GROUP_HEARTBEAT: "4.1:1",
    api_keys.SHARE_GROUP_DESCRIBE: "4.1:1",
    api_keys.SHARE_FETCH: "4.1:1, 4.2:1-2",
    api_keys.SHARE_ACKNOWLEDGE: "4.1:1, 4.2:1-2",
    api_keys.ADD_RAFT_VOTER: "3.9:0, 4.2:0-1",
    api_keys.REMOVE_RAFT_VOTER: "3.9:0",
    api_keys.UPDATE_RAFT_VOTER: "3.9:0",
    api_keys.INITIALIZE_SHARE_GROUP_STATE: "4.1:0",
    api_keys.READ_SHARE_GROUP_STATE: "4.1:0",
    api_keys.WRITE_SHARE_GROUP_STATE: "4.1:0, 4.2:0-1",
    api_keys.DELETE_SHARE_GROUP_STATE: "4.1:0",
    api_keys.READ_SHARE_GROUP_STATE_SUMMARY: "4.1:0, 4.2:0-1",
    api_keys.STREAMS_GROUP_HEARTBEAT: "4.2:0, 4.4:0-1",
    api_keys.STREAMS_GROUP_DESCRIBE: "4.2:0, 4.4:0-1",
    api_keys.DESCRIBE_SHARE_GROUP_OFFSETS: "4.1:0, 4.2:0-1",
    api_keys.ALTER_SHARE_GROUP_OFFSETS: "4.1:0",
    api_keys.DELETE_SHARE_GROUP_OFFSETS: "4.1:0",
    api_keys.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: "4.4:0",
    api_keys.UNREGISTER_CONTROLLER: "4.4:0",
}
