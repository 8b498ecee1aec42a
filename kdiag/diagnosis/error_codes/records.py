"""Errors of producing and fetching records."""

from typing import Final

from kdiag.diagnosis.error_codes.known_error import ErrorAdvice

RECORDS: Final = {
    "OFFSET_OUT_OF_RANGE": ErrorAdvice(
        (
            "Retention or DeleteRecords removed the records before the consumer read them.",
            "The topic was deleted and created again, so its offsets start at 0 once more.",
            "A leader elected uncleanly has a shorter log than the one before it.",
        ),
        "The consumer goes on as auto.offset.reset says. If it lagged behind retention, speed it "
        "up or raise retention.ms or retention.bytes; otherwise reset the group's offsets.",
        ("Fetch", "ListOffsets", "OffsetForLeaderEpoch", "DeleteRecords"),
    ),
    "CORRUPT_MESSAGE": ErrorAdvice(
        (
            "Bytes were damaged on their way or on disk: the checksum does not fit.",
            "A client built the batch wrongly.",
            "Brokers before 2.4 say so of a record without a key for a compacted topic.",
        ),
        "Look at disks, memory and network cards of broker and client. Give every record of a "
        "compacted topic a key.",
        ("Produce", "Fetch"),
    ),
    "INVALID_FETCH_SIZE": ErrorAdvice(
        ("The client computed a size that is negative or zero.",),
        "Check max.partition.fetch.bytes and fetch.max.bytes of the client.",
        ("Fetch",),
    ),
    "MESSAGE_TOO_LARGE": ErrorAdvice(
        (
            "The batch, as compressed, is larger than max.message.bytes of the topic.",
            "The producer's max.request.size was raised without the topic's limit.",
        ),
        "Raise max.message.bytes of the topic (message.max.bytes of the broker is its default), "
        "compress, or send less at once. Followers and consumers need no change.",
        ("Produce",),
    ),
    "RECORD_LIST_TOO_LARGE": ErrorAdvice(
        ("The batch is larger than segment.bytes of the topic.",),
        "Lower batch.size of the producer or raise segment.bytes of the topic.",
        ("Produce",),
    ),
    "NOT_ENOUGH_REPLICAS": ErrorAdvice(
        (
            "Brokers are down or behind, and acks=all needs min.insync.replicas of them.",
            "min.insync.replicas is as large as the replication factor: one restart is enough.",
        ),
        "Bring the missing replicas back (kafka-topics.sh --describe --under-min-isr-partitions). "
        "Keep min.insync.replicas below the replication factor. Producers retry on their own.",
        ("Produce",),
    ),
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": ErrorAdvice(
        ("Replicas fell out of sync between the write and its acknowledgement.",),
        "As for NOT_ENOUGH_REPLICAS. The leader has the batch: a producer that is not idempotent "
        "writes it twice when it retries.",
        ("Produce",),
    ),
    "INVALID_REQUIRED_ACKS": ErrorAdvice(
        ("The client sends acks above 1, which brokers of long ago took as a number of replicas.",),
        "Set acks to 0, 1 or all.",
        ("Produce",),
    ),
    "INVALID_TIMESTAMP": ErrorAdvice(
        (
            "The clock of the producer is wrong.",
            "Old data is loaded into a topic that limits how old timestamps may be.",
        ),
        "Set the producer's clock, or widen message.timestamp.before.max.ms and "
        "message.timestamp.after.max.ms of the topic.",
        ("Produce",),
    ),
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": ErrorAdvice(
        (
            "Headers, idempotence, transactions or zstd are used with records of an old format.",
            "The producer is old, or log.message.format.version is below 0.11 on an old broker.",
        ),
        "Upgrade the producer; on brokers before 4.0 remove log.message.format.version.",
        ("Produce", "ListOffsets", "TxnOffsetCommit"),
    ),
    "OUT_OF_ORDER_SEQUENCE_NUMBER": ErrorAdvice(
        (
            "An earlier batch of the same idempotent producer was not written.",
            "Batches were lost by an unclean election.",
            "The producer's state was removed and it kept its sequence.",
        ),
        "The producer fails or starts a new epoch; what was between is not acknowledged. Look for "
        "unclean elections and for batches that timed out before.",
        ("Produce",),
    ),
    "DUPLICATE_SEQUENCE_NUMBER": ErrorAdvice(
        ("A retry arrived although the first attempt had been written.",),
        "Nothing: idempotent producers take it for success.",
        ("Produce",),
    ),
    "UNKNOWN_PRODUCER_ID": ErrorAdvice(
        (
            "The producer was idle for longer than producer.id.expiration.ms (a day).",
            "Brokers before 2.4 forget a producer once retention has removed its last record.",
        ),
        "Producers from 2.5 on go on with a new epoch (KIP-360); upgrade older ones.",
        ("Produce",),
    ),
    "INVALID_RECORD": ErrorAdvice(
        (
            "A record of a compacted topic has no key, or a timestamp is out of bounds.",
            "A broker plugin (record interceptor, schema validation) refused it.",
            "The batch counts its records wrongly.",
        ),
        "Read the message in the Produce response: record_errors says which record and why.",
        ("Produce",),
    ),
    "UNSUPPORTED_COMPRESSION_TYPE": ErrorAdvice(
        (
            "A consumer from before 2.1 reads a topic with zstd batches.",
            "A producer sends zstd with a version of Produce below 7.",
        ),
        "Upgrade that client, or set compression.type of the topic to one that all can read.",
        ("Fetch", "Produce"),
    ),
    "OFFSET_NOT_AVAILABLE": ErrorAdvice(
        ("The leader was elected a moment ago and waits for its followers.",),
        "Wait: clients retry. If it lasts, the followers do not fetch from the new leader.",
        ("ListOffsets", "Fetch"),
    ),
    "FETCH_SESSION_ID_NOT_FOUND": ErrorAdvice(
        (
            "The broker restarted, or another client took the session's place in its cache.",
            "A proxy spreads the client's requests over brokers or connections.",
        ),
        "Clients start a new session on their own. If it is frequent, raise "
        "max.incremental.fetch.session.cache.slots of the brokers.",
        ("Fetch",),
    ),
    "INVALID_FETCH_SESSION_EPOCH": ErrorAdvice(
        ("A response was lost, so that client and broker count the session's steps differently.",),
        "Clients start a new session on their own. Frequent ones point at broken connections.",
        ("Fetch",),
    ),
    "FETCH_SESSION_TOPIC_ID_ERROR": ErrorAdvice(
        ("A fetch session was begun with topic names and goes on with ids, during an upgrade.",),
        "Clients start a new session on their own.",
        ("Fetch",),
    ),
    "OFFSET_MOVED_TO_TIERED_STORAGE": ErrorAdvice(
        ("A follower asks for records that the leader has moved to remote storage.",),
        "Followers rebuild their state from remote storage on their own. A consumer that sees it "
        "asked a broker as if it were a replica.",
        ("Fetch", "ListOffsets"),
    ),
    "FENCED_LEADER_EPOCH": ErrorAdvice(
        ("A new leader was elected and the client does not know it yet.",),
        "Clients fetch new metadata and retry. If it lasts, the client gets its metadata from a "
        "broker that is cut off from the controller.",
        ("Fetch", "ListOffsets", "OffsetForLeaderEpoch"),
    ),
    "UNKNOWN_LEADER_EPOCH": ErrorAdvice(
        ("The client knows a newer leader epoch than the broker that it asks.",),
        "Clients retry. If it lasts, that broker does not hear the controller: see its log.",
        ("Fetch", "ListOffsets", "OffsetForLeaderEpoch"),
    ),
    "SHARE_SESSION_NOT_FOUND": ErrorAdvice(
        ("The broker restarted or gave the session's place to another member.",),
        "Share consumers begin a new session on their own; unacknowledged records come again.",
        ("ShareFetch", "ShareAcknowledge"),
    ),
    "INVALID_SHARE_SESSION_EPOCH": ErrorAdvice(
        ("A response was lost, so that member and broker count the session's steps differently.",),
        "Share consumers begin a new session on their own.",
        ("ShareFetch", "ShareAcknowledge"),
    ),
    "SHARE_SESSION_LIMIT_REACHED": ErrorAdvice(
        ("More share consumers are connected to the broker than it keeps sessions for.",),
        "Share consumers retry. Raise group.share.max.share.sessions of the brokers, or spread the "
        "partitions over more of them.",
        ("ShareFetch",),
    ),
    "INVALID_RECORD_STATE": ErrorAdvice(
        (
            "The acquisition lock ran out before the record was acknowledged.",
            "The record was acknowledged before, or given to another member.",
        ),
        "Acknowledge sooner, or raise share.record.lock.duration.ms of the group.",
        ("ShareAcknowledge", "ShareFetch"),
    ),
}
"""By Kafka's name of the error."""
