"""Errors of consumer, share and streams groups, and of their coordinators."""

from typing import Final

from kdiag.diagnosis.error_codes.known_error import ErrorAdvice

GROUPS: Final = {
    "OFFSET_METADATA_TOO_LARGE": ErrorAdvice(
        ("The application commits a note longer than offset.metadata.max.bytes (4096).",),
        "Commit a shorter note, or raise offset.metadata.max.bytes of the brokers.",
        ("OffsetCommit", "TxnOffsetCommit"),
    ),
    "COORDINATOR_LOAD_IN_PROGRESS": ErrorAdvice(
        (
            (
                "The coordinator has just moved to this broker, which reads the partition of "
                "__consumer_offsets or __transaction_state."
            ),
            "That partition is huge because it is not compacted: the log cleaner has stopped.",
        ),
        "Wait: clients retry. If it takes minutes, look at the size of the partition's log and at "
        "the log cleaner of the broker.",
        ("FindCoordinator", "JoinGroup", "OffsetFetch", "OffsetCommit", "InitProducerId"),
    ),
    "COORDINATOR_NOT_AVAILABLE": ErrorAdvice(
        (
            (
                "The partition of __consumer_offsets or __transaction_state that the group or "
                "transaction belongs to has no leader."
            ),
            "The internal topic cannot be created: fewer brokers than its replication factor.",
            "The brokers have just started.",
        ),
        "Wait a moment. If it lasts, bring the partition's replicas back, or set "
        "offsets.topic.replication.factor and transaction.state.log.replication.factor to what "
        "the cluster has brokers for.",
        ("FindCoordinator", "JoinGroup", "OffsetCommit", "InitProducerId"),
    ),
    "NOT_COORDINATOR": ErrorAdvice(
        (
            "The leadership of the internal topic's partition has moved to another broker.",
            "The client talks to a proxy or address that leads to another broker.",
        ),
        "Clients ask for the coordinator again and retry. If it does not stop, compare what "
        "FindCoordinator says on every broker, and check advertised.listeners.",
        ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch", "AddOffsetsToTxn"),
    ),
    "ILLEGAL_GENERATION": ErrorAdvice(
        (
            "The group has rebalanced without this member, which still uses the old generation.",
            "Processing took longer than max.poll.interval.ms, and the commit came too late.",
        ),
        "Consumers rejoin. If it is frequent, process fewer records for each poll "
        "(max.poll.records) or raise max.poll.interval.ms.",
        ("Heartbeat", "SyncGroup", "OffsetCommit", "TxnOffsetCommit"),
    ),
    "INCONSISTENT_GROUP_PROTOCOL": ErrorAdvice(
        (
            "Members have no partition.assignment.strategy in common.",
            "A consumer uses a group id that belongs to something else, such as Kafka Connect.",
            "A member of the classic protocol joins a group of the new one that cannot mix.",
        ),
        "Give all members a common assignor (in two rolling restarts to change it), and every "
        "application a group id of its own.",
        ("JoinGroup", "SyncGroup"),
    ),
    "INVALID_GROUP_ID": ErrorAdvice(
        ("group.id is empty or null where a group is needed.",),
        "Set group.id.",
        ("JoinGroup", "OffsetCommit", "OffsetFetch", "DeleteGroups", "FindCoordinator"),
    ),
    "UNKNOWN_MEMBER_ID": ErrorAdvice(
        (
            "The member sent no heartbeat within session.timeout.ms and was removed.",
            "It did not poll within max.poll.interval.ms, left, and committed afterwards.",
            "The coordinator moved and the group was not stored, or the group was deleted.",
        ),
        "Consumers rejoin with a new id. Look for long pauses (garbage collection, slow "
        "processing) in the member, and for the reason in its log.",
        ("Heartbeat", "SyncGroup", "OffsetCommit", "LeaveGroup", "ConsumerGroupHeartbeat"),
    ),
    "INVALID_SESSION_TIMEOUT": ErrorAdvice(
        ("session.timeout.ms is outside the bounds that the brokers set.",),
        "Choose a value from group.min.session.timeout.ms (6 s) to group.max.session.timeout.ms "
        "(30 min) of the brokers.",
        ("JoinGroup",),
    ),
    "REBALANCE_IN_PROGRESS": ErrorAdvice(
        ("A member joined, left or expired, or subscriptions or partitions changed.",),
        "Consumers rejoin. If groups rebalance all the time, look for members that expire, leave "
        "or restart; static membership (group.instance.id) helps with restarts.",
        ("Heartbeat", "SyncGroup", "OffsetCommit"),
    ),
    "INVALID_COMMIT_OFFSET_SIZE": ErrorAdvice(
        ("One commit holds so many partitions that it does not fit into a batch.",),
        "Commit fewer partitions at once, or raise max.message.bytes of __consumer_offsets.",
        ("OffsetCommit", "JoinGroup", "SyncGroup"),
    ),
    "NON_EMPTY_GROUP": ErrorAdvice(
        ("Members are still connected, or have not expired yet.",),
        "Stop all members, wait for session.timeout.ms, and try again.",
        ("DeleteGroups", "OffsetDelete"),
    ),
    "GROUP_ID_NOT_FOUND": ErrorAdvice(
        (
            (
                "There never was such a group, or its last offset expired "
                "(offsets.retention.minutes, 7 days)."
            ),
            (
                "The group is of another type than the request is for: classic, consumer, share or "
                "streams."
            ),
        ),
        "Check the name. From DescribeGroups v6 on, a missing group is this error instead "
        "of the state Dead.",
        ("DeleteGroups", "DescribeGroups", "ConsumerGroupDescribe", "ShareGroupDescribe"),
    ),
    "MEMBER_ID_REQUIRED": ErrorAdvice(
        ("A new member joins: the coordinator gives it an id and lets it join once more.",),
        "Nothing: it is the first step of every join since KIP-394.",
        ("JoinGroup",),
    ),
    "GROUP_MAX_SIZE_REACHED": ErrorAdvice(
        ("More members join than group.max.size, or its kin for other groups, allows.",),
        "Run fewer members, or raise the limit on the brokers.",
        ("JoinGroup", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"),
    ),
    "FENCED_INSTANCE_ID": ErrorAdvice(
        ("Two running consumers have the same group.instance.id.",),
        "Give each a group.instance.id of its own. The one that joined last stays.",
        ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit"),
    ),
    "GROUP_SUBSCRIBED_TO_TOPIC": ErrorAdvice(
        ("A member of the group is subscribed to the topic whose offsets are to be deleted.",),
        "Stop the members, or take the topic out of their subscription.",
        ("OffsetDelete", "DeleteShareGroupOffsets", "AlterShareGroupOffsets"),
    ),
    "UNSTABLE_OFFSET_COMMIT": ErrorAdvice(
        ("A transaction that commits offsets of this partition has not ended.",),
        "Consumers retry. If it lasts, look for a hanging transaction: its producer died and "
        "transaction.timeout.ms has not passed.",
        ("OffsetFetch",),
    ),
    "FENCED_MEMBER_EPOCH": ErrorAdvice(
        (
            "The coordinator removed the member, or moved on without it.",
            "Two members use the same member id.",
        ),
        "Consumers give up their partitions and rejoin. Look for pauses longer than "
        "group.consumer.session.timeout.ms.",
        ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat", "OffsetCommit"),
    ),
    "UNRELEASED_INSTANCE_ID": ErrorAdvice(
        ("The member that has this group.instance.id is still there and has not left.",),
        "Stop it, or wait until its session has timed out.",
        ("ConsumerGroupHeartbeat", "StreamsGroupHeartbeat"),
    ),
    "UNSUPPORTED_ASSIGNOR": ErrorAdvice(
        ("group.remote.assignor names an assignor that the brokers do not have.",),
        "Use one of group.consumer.assignors of the brokers (uniform and range by default).",
        ("ConsumerGroupHeartbeat",),
    ),
    "STALE_MEMBER_EPOCH": ErrorAdvice(
        ("The member's epoch advanced between its last heartbeat and this commit or fetch.",),
        "Consumers retry with the new epoch.",
        ("OffsetCommit", "OffsetFetch"),
    ),
    "FENCED_STATE_EPOCH": ErrorAdvice(
        ("The share group's partition was initialized again, or another broker leads it now.",),
        "Brokers sort it out themselves; share consumers get the records again.",
        ("ReadShareGroupState", "WriteShareGroupState", "ShareFetch"),
    ),
    "INVALID_REGULAR_EXPRESSION": ErrorAdvice(
        ("The subscription's pattern is not RE2, which has no look-around or back-references.",),
        "Write the pattern for RE2, or let the client match (subscribe with java.util.Pattern).",
        ("ConsumerGroupHeartbeat",),
    ),
    "STREAMS_INVALID_TOPOLOGY": ErrorAdvice(
        ("The topology that the instance sent contradicts itself.",),
        "Read the message beside the error: it says which part.",
        ("StreamsGroupHeartbeat",),
    ),
    "STREAMS_INVALID_TOPOLOGY_EPOCH": ErrorAdvice(
        ("The topology's epoch is not the group's, nor the next one.",),
        "Deploy the same topology epoch on all instances, raising it by one at a time.",
        ("StreamsGroupHeartbeat",),
    ),
    "STREAMS_TOPOLOGY_FENCED": ErrorAdvice(
        ("The instance runs an older topology than the group has moved to.",),
        "Update that instance.",
        ("StreamsGroupHeartbeat",),
    ),
    "GROUP_DELETION_FAILED": ErrorAdvice(
        ("A part of the group's state could not be removed.",),
        "Read the message beside the error, and try again.",
        ("DeleteGroups",),
    ),
    "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED": ErrorAdvice(
        ("The broker's plugin for topology descriptions refused or could not store it.",),
        "Read the message beside the error and the log of the group's coordinator.",
        ("StreamsGroupTopologyDescriptionUpdate",),
    ),
}
"""By Kafka's name of the error."""
