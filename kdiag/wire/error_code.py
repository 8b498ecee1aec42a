"""Kafka's error codes: the name and meaning of each number in an `errorCode` field.

An error code is a value, not an exception. The table is kept by hand; a test compares numbers,
names and `is_retriable` with Kafka's own.

Source: `org.apache.kafka.common.protocol.Errors` of Kafka 4.4.0; the sentences are ours.
"""

from typing import Final, NamedTuple


class ErrorCode(NamedTuple):
    """One error code.

    Attributes:
        code: the number on the wire.
        name: Kafka's name, such as `NOT_COORDINATOR`.
        is_retriable: whether Kafka's own clients may send the same request again.
        meaning: one sentence for an operator.
    """

    code: int
    name: str
    is_retriable: bool
    meaning: str


_ROWS: Final = (
    (
        -1,
        "UNKNOWN_SERVER_ERROR",
        False,
        "The broker failed in a way it has no code for; see its log.",
    ),
    (0, "NONE", False, "No error."),
    (
        1,
        "OFFSET_OUT_OF_RANGE",
        False,
        "The partition's log has no such offset, or no longer has it.",
    ),
    (2, "CORRUPT_MESSAGE", True, "A record batch is damaged, too big, or lacks a key it needs."),
    (3, "UNKNOWN_TOPIC_OR_PARTITION", True, "The broker does not know or hold this partition."),
    (4, "INVALID_FETCH_SIZE", False, "The fetch asks for an impossible number of bytes."),
    (5, "LEADER_NOT_AVAILABLE", True, "The partition has no leader at the moment."),
    (
        6,
        "NOT_LEADER_OR_FOLLOWER",
        True,
        "The broker does not lead, or have, the partition (any more).",
    ),
    (7, "REQUEST_TIMED_OUT", True, "The broker could not finish within the request's time limit."),
    (8, "BROKER_NOT_AVAILABLE", False, "The broker that is needed is not there."),
    (9, "REPLICA_NOT_AVAILABLE", True, "The replica that is needed is not there."),
    (10, "MESSAGE_TOO_LARGE", False, "A record batch exceeds max.message.bytes of the topic."),
    (11, "STALE_CONTROLLER_EPOCH", False, "The sender was controller once, but no longer is."),
    (12, "OFFSET_METADATA_TOO_LARGE", False, "The note beside a committed offset is too long."),
    (13, "NETWORK_EXCEPTION", True, "The connection ended before the response came."),
    (
        14,
        "COORDINATOR_LOAD_IN_PROGRESS",
        True,
        "The coordinator still reads its state from its topic.",
    ),
    (15, "COORDINATOR_NOT_AVAILABLE", True, "No broker coordinates this group or transaction now."),
    (16, "NOT_COORDINATOR", True, "Another broker coordinates this group or transaction."),
    (17, "INVALID_TOPIC_EXCEPTION", False, "The topic's name is not allowed, or not allowed here."),
    (18, "RECORD_LIST_TOO_LARGE", False, "The record batch exceeds the size of a log segment."),
    (19, "NOT_ENOUGH_REPLICAS", True, "Nothing was written: fewer replicas in sync than required."),
    (
        20,
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        True,
        "It was written, but fewer replicas are in sync than required.",
    ),
    (21, "INVALID_REQUIRED_ACKS", False, "acks must be -1, 0 or 1."),
    (22, "ILLEGAL_GENERATION", False, "The member speaks of a past generation and must rejoin."),
    (
        23,
        "INCONSISTENT_GROUP_PROTOCOL",
        False,
        "The member has no assignor, or no protocol type, in common with the group.",
    ),
    (24, "INVALID_GROUP_ID", False, "The group id is empty or not allowed."),
    (25, "UNKNOWN_MEMBER_ID", False, "The coordinator has no such member: it was removed."),
    (26, "INVALID_SESSION_TIMEOUT", False, "session.timeout.ms is outside the broker's bounds."),
    (27, "REBALANCE_IN_PROGRESS", False, "The group rebalances: the member must rejoin."),
    (28, "INVALID_COMMIT_OFFSET_SIZE", False, "The commit is too large to be written."),
    (29, "TOPIC_AUTHORIZATION_FAILED", False, "The principal may not do this with the topic."),
    (30, "GROUP_AUTHORIZATION_FAILED", False, "The principal may not do this with the group."),
    (31, "CLUSTER_AUTHORIZATION_FAILED", False, "The principal may not do this with the cluster."),
    (32, "INVALID_TIMESTAMP", False, "A record's timestamp is further off than the topic allows."),
    (33, "UNSUPPORTED_SASL_MECHANISM", False, "The broker has not enabled this SASL mechanism."),
    (34, "ILLEGAL_SASL_STATE", False, "The request has no place in this stage of authentication."),
    (35, "UNSUPPORTED_VERSION", False, "The broker does not speak this version of the API."),
    (36, "TOPIC_ALREADY_EXISTS", False, "There is a topic of this name."),
    (37, "INVALID_PARTITIONS", False, "The number of partitions cannot be."),
    (38, "INVALID_REPLICATION_FACTOR", False, "There are not as many brokers as replicas wanted."),
    (39, "INVALID_REPLICA_ASSIGNMENT", False, "Replicas were assigned in a way that cannot be."),
    (40, "INVALID_CONFIG", False, "A configuration entry has an impossible name or value."),
    (41, "NOT_CONTROLLER", True, "Another broker or controller is the active controller."),
    (42, "INVALID_REQUEST", False, "The request contradicts itself or the protocol."),
    (43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", False, "The topic's old record format cannot do this."),
    (44, "POLICY_VIOLATION", False, "A policy of the cluster forbids this."),
    (45, "OUT_OF_ORDER_SEQUENCE_NUMBER", False, "Batches of this producer are missing in between."),
    (46, "DUPLICATE_SEQUENCE_NUMBER", False, "The batch was written before."),
    (47, "INVALID_PRODUCER_EPOCH", False, "A newer producer has taken over the producer id."),
    (48, "INVALID_TXN_STATE", False, "The transaction is not in a state that allows this."),
    (49, "INVALID_PRODUCER_ID_MAPPING", False, "The transactional id has another producer id."),
    (
        50,
        "INVALID_TRANSACTION_TIMEOUT",
        False,
        "transaction.timeout.ms exceeds the broker's limit.",
    ),
    (51, "CONCURRENT_TRANSACTIONS", True, "The transaction before this one is still being ended."),
    (
        52,
        "TRANSACTION_COORDINATOR_FENCED",
        False,
        "A newer transaction coordinator has taken over.",
    ),
    (
        53,
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        False,
        "The principal may not do this with the transactional id.",
    ),
    (
        54,
        "SECURITY_DISABLED",
        False,
        "The cluster has no authorizer, so no access control entries.",
    ),
    (55, "OPERATION_NOT_ATTEMPTED", False, "Not tried, as another part of the request had failed."),
    (56, "KAFKA_STORAGE_ERROR", True, "The broker's disk failed."),
    (57, "LOG_DIR_NOT_FOUND", False, "The broker has no such log directory."),
    (58, "SASL_AUTHENTICATION_FAILED", False, "The credentials were refused."),
    (59, "UNKNOWN_PRODUCER_ID", False, "The partition remembers nothing of this producer."),
    (60, "REASSIGNMENT_IN_PROGRESS", False, "The partition is being moved."),
    (61, "DELEGATION_TOKEN_AUTH_DISABLED", False, "The cluster issues no delegation tokens."),
    (62, "DELEGATION_TOKEN_NOT_FOUND", False, "There is no such delegation token."),
    (63, "DELEGATION_TOKEN_OWNER_MISMATCH", False, "The principal does not own this token."),
    (
        64,
        "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
        False,
        "Tokens are not dealt with over a connection authenticated like this one.",
    ),
    (
        65,
        "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
        False,
        "The principal may not do this with the delegation token.",
    ),
    (66, "DELEGATION_TOKEN_EXPIRED", False, "The delegation token has expired."),
    (67, "INVALID_PRINCIPAL_TYPE", False, "The cluster does not know this type of principal."),
    (68, "NON_EMPTY_GROUP", False, "The group still has members."),
    (69, "GROUP_ID_NOT_FOUND", False, "There is no such group."),
    (70, "FETCH_SESSION_ID_NOT_FOUND", True, "The broker has forgotten the fetch session."),
    (71, "INVALID_FETCH_SESSION_EPOCH", True, "The fetch session is at another step."),
    (72, "LISTENER_NOT_FOUND", True, "The leader has no listener of the name the client came by."),
    (73, "TOPIC_DELETION_DISABLED", False, "The cluster does not let topics be deleted."),
    (74, "FENCED_LEADER_EPOCH", True, "The sender's leader epoch is older than the broker's."),
    (75, "UNKNOWN_LEADER_EPOCH", True, "The sender's leader epoch is newer than the broker's."),
    (76, "UNSUPPORTED_COMPRESSION_TYPE", False, "The client cannot read this compression."),
    (77, "STALE_BROKER_EPOCH", False, "The broker has registered anew since."),
    (78, "OFFSET_NOT_AVAILABLE", True, "The new leader does not know its high watermark yet."),
    (79, "MEMBER_ID_REQUIRED", False, "The member must join again with the id it was given."),
    (80, "PREFERRED_LEADER_NOT_AVAILABLE", True, "The preferred leader cannot lead now."),
    (81, "GROUP_MAX_SIZE_REACHED", False, "The group has as many members as it may have."),
    (82, "FENCED_INSTANCE_ID", False, "Another member came with the same group.instance.id."),
    (83, "ELIGIBLE_LEADERS_NOT_AVAILABLE", True, "No replica may lead the partition."),
    (84, "ELECTION_NOT_NEEDED", True, "The right replica leads the partition already."),
    (85, "NO_REASSIGNMENT_IN_PROGRESS", False, "The partition is not being moved."),
    (86, "GROUP_SUBSCRIBED_TO_TOPIC", False, "The group still reads this topic."),
    (87, "INVALID_RECORD", False, "The broker's validation refused a record."),
    (88, "UNSTABLE_OFFSET_COMMIT", True, "A transaction that commits offsets is still open."),
    (89, "THROTTLING_QUOTA_EXCEEDED", True, "The quota for such changes is used up; wait."),
    (90, "PRODUCER_FENCED", False, "A newer producer took over the transactional id."),
    (91, "RESOURCE_NOT_FOUND", False, "There is no such resource."),
    (92, "DUPLICATE_RESOURCE", False, "The request names a resource twice."),
    (93, "UNACCEPTABLE_CREDENTIAL", False, "The credential does not meet the requirements."),
    (94, "INCONSISTENT_VOTER_SET", False, "Sender or receiver is not a voter of the quorum."),
    (95, "INVALID_UPDATE_VERSION", False, "The feature cannot be set to this level."),
    (96, "FEATURE_UPDATE_FAILED", False, "The feature's level could not be changed."),
    (97, "PRINCIPAL_DESERIALIZATION_FAILURE", False, "The forwarded principal was unreadable."),
    (98, "SNAPSHOT_NOT_FOUND", False, "The leader does not have this snapshot."),
    (99, "POSITION_OUT_OF_RANGE", False, "The snapshot is shorter than that position."),
    (100, "UNKNOWN_TOPIC_ID", True, "The broker does not know or hold a topic of this id."),
    (101, "DUPLICATE_BROKER_REGISTRATION", False, "A live broker has this id already."),
    (102, "BROKER_ID_NOT_REGISTERED", False, "No broker of this id is registered."),
    (103, "INCONSISTENT_TOPIC_ID", True, "The log belongs to a topic of another id."),
    (104, "INCONSISTENT_CLUSTER_ID", False, "The request was meant for another cluster."),
    (105, "TRANSACTIONAL_ID_NOT_FOUND", False, "The coordinator has no such transactional id."),
    (106, "FETCH_SESSION_TOPIC_ID_ERROR", True, "The fetch session mixes topic names and ids."),
    (107, "INELIGIBLE_REPLICA", False, "A replica may not join the in-sync replicas now."),
    (108, "NEW_LEADER_ELECTED", False, "The change was made and gave the partition a new leader."),
    (109, "OFFSET_MOVED_TO_TIERED_STORAGE", False, "The offset lies in tiered storage only."),
    (110, "FENCED_MEMBER_EPOCH", False, "The member must give up its partitions and rejoin."),
    (111, "UNRELEASED_INSTANCE_ID", False, "Another member still has the group.instance.id."),
    (112, "UNSUPPORTED_ASSIGNOR", False, "The group cannot use this assignor."),
    (113, "STALE_MEMBER_EPOCH", False, "The member must learn its new epoch by a heartbeat first."),
    (114, "MISMATCHED_ENDPOINT_TYPE", False, "A broker was asked for controllers, or vice versa."),
    (115, "UNSUPPORTED_ENDPOINT_TYPE", False, "There is no such type of endpoint."),
    (116, "UNKNOWN_CONTROLLER_ID", False, "There is no controller of this id."),
    (117, "UNKNOWN_SUBSCRIPTION_ID", False, "The client must ask again which metrics are wanted."),
    (118, "TELEMETRY_TOO_LARGE", False, "The pushed metrics exceed the broker's limit."),
    (119, "INVALID_REGISTRATION", False, "The controller refused the registration."),
    (120, "TRANSACTION_ABORTABLE", False, "The transaction failed; abort it and start the next."),
    (121, "INVALID_RECORD_STATE", False, "The record is no longer acquired by this consumer."),
    (122, "SHARE_SESSION_NOT_FOUND", True, "The broker has forgotten the share session."),
    (123, "INVALID_SHARE_SESSION_EPOCH", True, "The share session is at another step."),
    (124, "FENCED_STATE_EPOCH", False, "The share state has been initialized anew since."),
    (125, "INVALID_VOTER_KEY", False, "The request was meant for another voter."),
    (126, "DUPLICATE_VOTER", False, "The replica is a voter already."),
    (127, "VOTER_NOT_FOUND", False, "The replica is not a voter."),
    (128, "INVALID_REGULAR_EXPRESSION", False, "The pattern is not a valid regular expression."),
    (129, "REBOOTSTRAP_REQUIRED", False, "The client must start over from bootstrap.servers."),
    (130, "STREAMS_INVALID_TOPOLOGY", False, "The streams topology cannot be run."),
    (131, "STREAMS_INVALID_TOPOLOGY_EPOCH", False, "The streams topology's epoch cannot be."),
    (132, "STREAMS_TOPOLOGY_FENCED", False, "The streams topology is older than the group's."),
    (133, "SHARE_SESSION_LIMIT_REACHED", True, "The broker has as many share sessions as it may."),
    (134, "GROUP_DELETION_FAILED", False, "The group was not deleted; its message says why."),
    (
        135,
        "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED",
        False,
        "The description of the streams topology was not stored; its message says why.",
    ),
    (136, "CONTROLLER_ID_NOT_REGISTERED", False, "No controller of this id is registered."),
)

ERROR_BY_CODE: Final = {row[0]: ErrorCode(*row) for row in _ROWS}
"""Every error code by its number."""

CODE_BY_NAME: Final = {each.name: each.code for each in ERROR_BY_CODE.values()}
"""The number of each error by its name."""


def error_name(code: int) -> str:
    """Return the name of an error code; `UNKNOWN(123)` for one that is not in the table."""
    error = ERROR_BY_CODE.get(code)
    return f"UNKNOWN({code})" if error is None else error.name


def code_of_name(name: str) -> int:
    """Return the error code of a name that `error_name` gave.

    Raises:
        ValueError: if it is no such name.
    """
    code = CODE_BY_NAME.get(name)
    return int(name.removeprefix("UNKNOWN(").removesuffix(")")) if code is None else code
