"""The errors that librdkafka and what is built on it (kcat, confluent-kafka) tell of themselves.

They never are on the wire: most stand for a fault of the connection or of the application.

Source: librdkafka's `rd_kafka_resp_err_t` of 2.16; the sentences are ours.
"""

from typing import Final

_NOTHING: Final = "Nothing."
_BUG: Final = "Report it to whoever maintains the application."

LIBRDKAFKA: Final[tuple[tuple[int, str, str, str], ...]] = (
    (
        -199,
        "_BAD_MSG",
        "A response could not be decoded.",
        "Record the connection and look with kdiag decode --errors; a proxy may be in between.",
    ),
    (
        -198,
        "_BAD_COMPRESSION",
        "A batch could not be decompressed.",
        "Look which producer wrote it; the library may be built without that codec.",
    ),
    (-197, "_DESTROY", "The client is being closed.", _NOTHING),
    (-196, "_FAIL", "Something failed that has no code of its own.", "Read the message with it."),
    (
        -195,
        "_TRANSPORT",
        "A connection to a broker could not be made, or broke.",
        (
            "Read the log line before it, which names the broker; kdiag check shows which layer "
            "fails. Single ones on idle connections are harmless."
        ),
    ),
    (
        -194,
        "_CRIT_SYS_RESOURCE",
        "A thread or other resource of the system could not be had.",
        "Look at the limits of the process (threads, open files, memory).",
    ),
    (
        -193,
        "_RESOLVE",
        "A broker's host name does not resolve.",
        "Check bootstrap.servers, and whether the names that brokers advertise resolve here.",
    ),
    (
        -192,
        "_MSG_TIMED_OUT",
        "A message was not delivered within message.timeout.ms.",
        "Look for unreachable leaders and for NOT_ENOUGH_REPLICAS; raise the timeout only then.",
    ),
    (
        -191,
        "_PARTITION_EOF",
        "The consumer has read to the end of a partition.",
        "Nothing: it is news, not a fault.",
    ),
    (
        -190,
        "_UNKNOWN_PARTITION",
        "The topic has no such partition.",
        "Compare with the number of partitions in the cluster.",
    ),
    (-189, "_FS", "A local file could not be used.", "Check path and rights."),
    (
        -188,
        "_UNKNOWN_TOPIC",
        "The topic is not in the cluster's metadata.",
        "Check the name, and the right to DESCRIBE it.",
    ),
    (
        -187,
        "_ALL_BROKERS_DOWN",
        "No known broker can be reached.",
        "Check the network and every broker's advertised address with kdiag check.",
    ),
    (
        -186,
        "_INVALID_ARG",
        "A setting or an argument is not valid.",
        "Read the message with it.",
    ),
    (
        -185,
        "_TIMED_OUT",
        "An operation did not end in time on the client's side.",
        "Look whether brokers answer at all (kdiag check); raise the timeout only then.",
    ),
    (
        -184,
        "_QUEUE_FULL",
        "The producer's queue is full: messages are made faster than sent.",
        (
            "Call poll() while producing, wait and try again; or raise "
            "queue.buffering.max.messages or .kbytes."
        ),
    ),
    (
        -183,
        "_ISR_INSUFF",
        "Fewer replicas are in sync than required.",
        "See kdiag errcode NOT_ENOUGH_REPLICAS.",
    ),
    (-182, "_NODE_UPDATE", "A broker's address has changed.", _NOTHING),
    (
        -181,
        "_SSL",
        "TLS failed.",
        (
            "Read the log line with it; ssl.ca.location must hold the issuer of the broker's "
            "certificate, and the name must fit."
        ),
    ),
    (
        -180,
        "_WAIT_COORD",
        "The coordinator is not known yet.",
        "Wait; if it lasts, see kdiag errcode COORDINATOR_NOT_AVAILABLE.",
    ),
    (-179, "_UNKNOWN_GROUP", "There is no such group.", "Check group.id."),
    (-178, "_IN_PROGRESS", "The operation has been begun.", "Wait for its result."),
    (-177, "_PREV_IN_PROGRESS", "The operation before it has not ended.", "Wait for that."),
    (
        -176,
        "_EXISTING_SUBSCRIPTION",
        "The consumer is subscribed already.",
        "Unsubscribe first.",
    ),
    (-175, "_ASSIGN_PARTITIONS", "A rebalance gives partitions.", "Call assign() in the callback."),
    (
        -174,
        "_REVOKE_PARTITIONS",
        "A rebalance takes partitions away.",
        "Call unassign() in the callback.",
    ),
    (-173, "_CONFLICT", "Two uses of the client contradict each other.", _BUG),
    (-172, "_STATE", "The call has no place in the client's state.", _BUG),
    (
        -171,
        "_UNKNOWN_PROTOCOL",
        "A protocol was named that is not known.",
        "Check security.protocol.",
    ),
    (-170, "_NOT_IMPLEMENTED", "The library cannot do this.", "Upgrade it."),
    (
        -169,
        "_AUTHENTICATION",
        "The broker refused the credentials.",
        "See kdiag errcode SASL_AUTHENTICATION_FAILED.",
    ),
    (
        -168,
        "_NO_OFFSET",
        "There is no offset to commit or to start from.",
        "Nothing if nothing was read; else check auto.offset.reset.",
    ),
    (-167, "_OUTDATED", "It is out of date: something newer has taken its place.", _NOTHING),
    (
        -166,
        "_TIMED_OUT_QUEUE",
        "A request timed out before it was sent.",
        "The broker is slow or cannot be reached: kdiag check.",
    ),
    (
        -165,
        "_UNSUPPORTED_FEATURE",
        "The broker is too old for what is asked, or the library was built without it.",
        "Compare with kdiag api-versions.",
    ),
    (-164, "_WAIT_CACHE", "Metadata is being fetched.", "Wait."),
    (-163, "_INTR", "The operation was interrupted.", _NOTHING),
    (-162, "_KEY_SERIALIZATION", "The key could not be serialized.", _BUG),
    (-161, "_VALUE_SERIALIZATION", "The value could not be serialized.", _BUG),
    (
        -160,
        "_KEY_DESERIALIZATION",
        "A record's key could not be deserialized.",
        "Look at the record and at the deserializer: who wrote it in another format?",
    ),
    (
        -159,
        "_VALUE_DESERIALIZATION",
        "A record's value could not be deserialized.",
        "Look at the record and at the deserializer: who wrote it in another format?",
    ),
    (-158, "_PARTIAL", "A response is cut.", "Nothing if it is single: the client asks again."),
    (-157, "_READ_ONLY", "It cannot be changed at run time.", "Set it before the client starts."),
    (-156, "_NOENT", "There is no such thing.", "Check the name."),
    (
        -155,
        "_UNDERFLOW",
        "A response is shorter than its format asks for.",
        "Record the connection and look with kdiag decode --errors.",
    ),
    (-154, "_INVALID_TYPE", "A value is of the wrong type.", _BUG),
    (-153, "_RETRY", "The operation is to be tried again.", "Try again."),
    (-152, "_PURGE_QUEUE", "The message was purged from the queue.", _NOTHING),
    (
        -151,
        "_PURGE_INFLIGHT",
        "The message was purged while it was under way.",
        "It may have been written nevertheless.",
    ),
    (
        -150,
        "_FATAL",
        "The client cannot go on.",
        "Ask it for the fatal error behind this one, and make a new client.",
    ),
    (
        -149,
        "_INCONSISTENT",
        "The client's state contradicts the cluster's.",
        "Make a new client, and report it.",
    ),
    (
        -148,
        "_GAPLESS_GUARANTEE",
        "A message failed, so that a gap would follow (enable.gapless.guarantee).",
        "Make a new producer, and look why the message failed.",
    ),
    (
        -147,
        "_MAX_POLL_EXCEEDED",
        "The application did not poll within max.poll.interval.ms and lost its partitions.",
        "Process less for each poll, or raise max.poll.interval.ms.",
    ),
    (-146, "_UNKNOWN_BROKER", "The broker is not known.", "Check the node id."),
    (
        -145,
        "_NOT_CONFIGURED",
        "The client lacks a setting that this needs.",
        "Read the message: often transactional.id or group.id.",
    ),
    (
        -144,
        "_FENCED",
        "A newer producer or member has taken over.",
        "See kdiag errcode PRODUCER_FENCED and FENCED_INSTANCE_ID.",
    ),
    (-143, "_APPLICATION", "The application itself raised it.", "Look there."),
    (
        -142,
        "_ASSIGNMENT_LOST",
        "The group gave the partitions to others.",
        "Do not commit what was read from them; look for missed polls or heartbeats.",
    ),
    (-141, "_NOOP", "There was nothing to do.", _NOTHING),
    (
        -140,
        "_AUTO_OFFSET_RESET",
        "There is no valid offset, and auto.offset.reset=error.",
        "See kdiag errcode OFFSET_OUT_OF_RANGE.",
    ),
    (
        -139,
        "_LOG_TRUNCATION",
        "The log was cut behind what the consumer had read: an unclean election.",
        "Decide where to go on; records may be missing.",
    ),
    (
        -138,
        "_INVALID_DIFFERENT_RECORD",
        "Another record of the same batch was refused.",
        "Look for the record with INVALID_RECORD.",
    ),
    (-137, "_DESTROY_BROKER", "A broker was removed from the client.", _NOTHING),
)
"""Code, name, meaning, and what to do."""
