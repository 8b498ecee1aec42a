"""Which APIs and versions a node answers: exactly those for which there is a handler.

    HANDLERS                             API key -> handler, and the versions that it knows
    spoken_versions(release)             what a node speaks as some release

A node that is to speak as an older release (`--as-version 2.8`) tells and takes what brokers of it
did, as far as there are handlers. Brokers and clients of a release know the same versions, but for
one: Kafka 4 tells Produce from version 0 on, though it takes 3 and later only, because librdkafka
before 2.10 asks for it (KAFKA-18659).

Source: Kafka's `ApiKeys`, `ApiVersionManager`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kdiag.lab.api.call import Handle
from kdiag.lab.api.cluster import api_versions, describe_cluster, describe_log_dirs, metadata
from kdiag.lab.api.configs import (
    alter_client_quotas,
    alter_configs,
    describe_client_quotas,
    describe_configs,
    incremental_alter_configs,
)
from kdiag.lab.api.groups import (
    consumer_group_describe,
    consumer_group_heartbeat,
    delete_groups,
    describe_groups,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
)
from kdiag.lab.api.records import (
    delete_records,
    fetch,
    list_offsets,
    offset_for_leader_epoch,
    produce,
)
from kdiag.lab.api.security import (
    alter_user_scram_credentials,
    create_acls,
    delete_acls,
    describe_acls,
    describe_user_scram_credentials,
    sasl_authenticate,
    sasl_handshake,
)
from kdiag.lab.api.topics import (
    alter_partition_reassignments,
    create_partitions,
    create_topics,
    delete_topics,
    describe_topic_partitions,
    elect_leaders,
    list_partition_reassignments,
)
from kdiag.lab.api.transactions import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    describe_producers,
    describe_transactions,
    end_txn,
    init_producer_id,
    list_transactions,
    txn_offset_commit,
    write_txn_markers,
)
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.client_release import ClientRelease
from kdiag.wire.schema import Versions

DEFAULT_RELEASE: Final = "4.3"


class ApiHandler(NamedTuple):
    """A handler.

    Attributes:
        handle: answers a request.
        versions: those that it knows.
    """

    handle: Handle
    versions: Versions


def _handler(handle: Handle, versions: str) -> ApiHandler:
    return ApiHandler(handle, Versions.parse(versions))


HANDLERS: Final[Mapping[int, ApiHandler]] = {
    api_keys.PRODUCE: _handler(produce.handle, "0-13"),
    api_keys.FETCH: _handler(fetch.handle, "0-18"),
    api_keys.LIST_OFFSETS: _handler(list_offsets.handle, "1-11"),
    api_keys.METADATA: _handler(metadata.handle, "0-13"),
    api_keys.OFFSET_COMMIT: _handler(offset_commit.handle, "0-10"),
    api_keys.OFFSET_FETCH: _handler(offset_fetch.handle, "0-10"),
    api_keys.FIND_COORDINATOR: _handler(find_coordinator.handle, "0-6"),
    api_keys.JOIN_GROUP: _handler(join_group.handle, "0-9"),
    api_keys.HEARTBEAT: _handler(heartbeat.handle, "0-4"),
    api_keys.LEAVE_GROUP: _handler(leave_group.handle, "0-5"),
    api_keys.SYNC_GROUP: _handler(sync_group.handle, "0-5"),
    api_keys.DESCRIBE_GROUPS: _handler(describe_groups.handle, "0-6"),
    api_keys.LIST_GROUPS: _handler(list_groups.handle, "0-5"),
    api_keys.API_VERSIONS: _handler(api_versions.handle, "0-5"),
    api_keys.CREATE_TOPICS: _handler(create_topics.handle, "0-7"),
    api_keys.DELETE_TOPICS: _handler(delete_topics.handle, "0-6"),
    api_keys.DELETE_RECORDS: _handler(delete_records.handle, "0-2"),
    api_keys.INIT_PRODUCER_ID: _handler(init_producer_id.handle, "0-6"),
    api_keys.DELETE_GROUPS: _handler(delete_groups.handle, "0-3"),
    api_keys.OFFSET_DELETE: _handler(offset_delete.handle, "0"),
    api_keys.OFFSET_FOR_LEADER_EPOCH: _handler(offset_for_leader_epoch.handle, "0-4"),
    api_keys.ADD_PARTITIONS_TO_TXN: _handler(add_partitions_to_txn.handle, "0-5"),
    api_keys.ADD_OFFSETS_TO_TXN: _handler(add_offsets_to_txn.handle, "0-4"),
    api_keys.END_TXN: _handler(end_txn.handle, "0-5"),
    api_keys.WRITE_TXN_MARKERS: _handler(write_txn_markers.handle, "0-2"),
    api_keys.TXN_OFFSET_COMMIT: _handler(txn_offset_commit.handle, "0-6"),
    api_keys.DESCRIBE_CONFIGS: _handler(describe_configs.handle, "0-4"),
    api_keys.ALTER_CONFIGS: _handler(alter_configs.handle, "0-2"),
    api_keys.DESCRIBE_ACLS: _handler(describe_acls.handle, "1-3"),
    api_keys.CREATE_ACLS: _handler(create_acls.handle, "1-3"),
    api_keys.DELETE_ACLS: _handler(delete_acls.handle, "1-3"),
    api_keys.DESCRIBE_LOG_DIRS: _handler(describe_log_dirs.handle, "0-5"),
    api_keys.CREATE_PARTITIONS: _handler(create_partitions.handle, "0-3"),
    api_keys.ELECT_LEADERS: _handler(elect_leaders.handle, "0-2"),
    api_keys.ALTER_PARTITION_REASSIGNMENTS: _handler(alter_partition_reassignments.handle, "0-1"),
    api_keys.LIST_PARTITION_REASSIGNMENTS: _handler(list_partition_reassignments.handle, "0"),
    api_keys.INCREMENTAL_ALTER_CONFIGS: _handler(incremental_alter_configs.handle, "0-1"),
    api_keys.SASL_HANDSHAKE: _handler(sasl_handshake.handle, "0-1"),
    api_keys.SASL_AUTHENTICATE: _handler(sasl_authenticate.handle, "0-2"),
    api_keys.DESCRIBE_CLIENT_QUOTAS: _handler(describe_client_quotas.handle, "0-1"),
    api_keys.ALTER_CLIENT_QUOTAS: _handler(alter_client_quotas.handle, "0-1"),
    api_keys.DESCRIBE_USER_SCRAM_CREDENTIALS: _handler(describe_user_scram_credentials.handle, "0"),
    api_keys.ALTER_USER_SCRAM_CREDENTIALS: _handler(alter_user_scram_credentials.handle, "0"),
    api_keys.DESCRIBE_CLUSTER: _handler(describe_cluster.handle, "0-2"),
    api_keys.DESCRIBE_PRODUCERS: _handler(describe_producers.handle, "0"),
    api_keys.DESCRIBE_TRANSACTIONS: _handler(describe_transactions.handle, "0"),
    api_keys.LIST_TRANSACTIONS: _handler(list_transactions.handle, "0-2"),
    api_keys.CONSUMER_GROUP_HEARTBEAT: _handler(consumer_group_heartbeat.handle, "0-1"),
    api_keys.CONSUMER_GROUP_DESCRIBE: _handler(consumer_group_describe.handle, "0-1"),
    api_keys.DESCRIBE_TOPIC_PARTITIONS: _handler(describe_topic_partitions.handle, "0"),
}


def spoken_versions(release: ClientRelease) -> dict[int, Versions]:
    """Return what a node speaks as a release, by API key."""
    spoken = {}
    for key, handler in HANDLERS.items():
        known = release.versions(API_BY_KEY[key])
        low = max(known.low, handler.versions.low)
        high = min(known.high, handler.versions.high)
        if low <= high:
            spoken[key] = Versions(low, high)
    return spoken
