"""Errors of topics, partitions, brokers and their administration."""

from typing import Final

from kdiag.diagnosis.error_codes.known_error import ErrorAdvice

CLUSTER: Final = {
    "UNKNOWN_SERVER_ERROR": ErrorAdvice(
        (
            "An exception in the broker, often in a plugin (authorizer, quota callback, policy).",
            "A bug of the broker.",
        ),
        "Find the stack trace in the log of the broker that answered, at the time of the request.",
    ),
    "NONE": ErrorAdvice(("All went well.",), "Nothing."),
    "UNKNOWN_TOPIC_OR_PARTITION": ErrorAdvice(
        (
            "The topic does not exist: a typing error, or it was deleted.",
            "The client is connected to another cluster than it should be.",
            "It was created a moment ago and this broker has not heard of it yet.",
        ),
        "Check name and cluster (kafka-topics.sh --list with the client's settings). "
        "Auto-creation needs auto.create.topics.enable on the brokers and the client's consent.",
        ("Metadata", "Produce", "Fetch", "ListOffsets", "OffsetCommit", "DeleteTopics"),
    ),
    "UNKNOWN_TOPIC_ID": ErrorAdvice(
        (
            "The topic was deleted, perhaps created again: the name is the same, the id is not.",
            "The broker has not heard of a new topic yet.",
        ),
        "Clients fetch new metadata and retry. Restart clients that keep sending it.",
        ("Fetch", "Produce", "Metadata", "DeleteTopics", "ShareFetch"),
    ),
    "INCONSISTENT_TOPIC_ID": ErrorAdvice(
        ("The topic was deleted and created again while a client or replica held its old id.",),
        "Clients fetch new metadata and retry. On brokers, look for log directories that were "
        "copied from elsewhere.",
        ("Fetch", "LeaderAndIsr"),
    ),
    "LEADER_NOT_AVAILABLE": ErrorAdvice(
        (
            "The topic was created a moment ago, or a leader is being elected.",
            "All replicas in sync are down.",
        ),
        "Clients retry. If it lasts, start the brokers that hold the partition's replicas "
        "(kafka-topics.sh --describe --unavailable-partitions).",
        ("Metadata",),
    ),
    "NOT_LEADER_OR_FOLLOWER": ErrorAdvice(
        (
            "The leader has moved, and the client's metadata is old.",
            "The client reached another broker than it meant: a wrong advertised listener.",
        ),
        "Clients fetch new metadata and retry. If it does not stop, check advertised.listeners of "
        "all brokers and any proxy in between.",
        ("Produce", "Fetch", "ListOffsets", "DeleteRecords"),
    ),
    "REQUEST_TIMED_OUT": ErrorAdvice(
        (
            "With acks=all a follower was too slow for request.timeout.ms.",
            "The controller could not finish a change in time.",
        ),
        "Look at replication lag and disk latency of the brokers; raise the timeout only then.",
        ("Produce", "CreateTopics", "DeleteTopics", "ElectLeaders"),
    ),
    "BROKER_NOT_AVAILABLE": ErrorAdvice(
        ("The broker or controller that the request is about is not in the cluster now.",),
        "Start it; check the node id.",
    ),
    "REPLICA_NOT_AVAILABLE": ErrorAdvice(
        (
            "A replica's broker is down: harmless in Metadata.",
            "AlterReplicaLogDirs names a partition that the broker does not have.",
        ),
        "Clients ignore it in Metadata. Otherwise check which broker has the replica.",
        ("Metadata", "AlterReplicaLogDirs", "Fetch"),
    ),
    "STALE_CONTROLLER_EPOCH": ErrorAdvice(
        ("A controller that was replaced still sends orders.",),
        "Nothing if it happens once: the broker refused it. Else look at the controllers' logs.",
        ("LeaderAndIsr", "StopReplica", "UpdateMetadata"),
    ),
    "NETWORK_EXCEPTION": ErrorAdvice(
        (
            (
                "The connection broke while the request was under way: a broker stopped, or a "
                "firewall or load balancer dropped an idle connection."
            ),
        ),
        "Clients retry. If it is frequent, keep connections.max.idle.ms below the idle timeout of "
        "what is in between. Brokers never send this code.",
    ),
    "INVALID_TOPIC_EXCEPTION": ErrorAdvice(
        (
            (
                "The name has other characters than letters, digits, '.', '_' and '-', is longer "
                "than 249, or collides with one that differs in '.' and '_' only."
            ),
            "A client may not write to an internal topic such as __consumer_offsets.",
        ),
        "Choose another name.",
        ("CreateTopics", "Metadata", "Produce"),
    ),
    "UNSUPPORTED_VERSION": ErrorAdvice(
        (
            "Client and broker are too far apart: 4.0 dropped versions from before 2.1 (KIP-896).",
            "A feature needs newer brokers, or a higher metadata.version.",
        ),
        "Compare with ApiVersions of every broker; upgrade the client, or finish the cluster's "
        "upgrade (kafka-features.sh upgrade).",
        ("ApiVersions", "FindCoordinator", "UpdateFeatures", "ConsumerGroupHeartbeat"),
    ),
    "TOPIC_ALREADY_EXISTS": ErrorAdvice(
        ("It was created before, or its deletion is not finished.",),
        "Use it as it is, or wait for the deletion.",
        ("CreateTopics",),
    ),
    "INVALID_PARTITIONS": ErrorAdvice(
        ("The number is not above 0, or not above what the topic has: it cannot shrink.",),
        "Ask for more partitions than there are; to have fewer, create another topic.",
        ("CreateTopics", "CreatePartitions"),
    ),
    "INVALID_REPLICATION_FACTOR": ErrorAdvice(
        (
            "Fewer brokers are up (and not fenced) than the replication factor asks for.",
            "A topic of a single-broker cluster is created with the usual factor of 3.",
        ),
        "Start the missing brokers or ask for a smaller factor; -1 takes "
        "default.replication.factor.",
        ("CreateTopics", "CreatePartitions", "Metadata"),
    ),
    "INVALID_REPLICA_ASSIGNMENT": ErrorAdvice(
        ("The assignment names unknown brokers, one twice, or leaves out a partition.",),
        "List existing brokers, each once for a partition, and partitions from 0 on.",
        ("CreateTopics", "CreatePartitions", "AlterPartitionReassignments"),
    ),
    "INVALID_CONFIG": ErrorAdvice(
        ("A key is unknown to this broker's version, or its value is out of range.",),
        "Read the message beside the error: it names key and bounds.",
        ("CreateTopics", "AlterConfigs", "IncrementalAlterConfigs"),
    ),
    "NOT_CONTROLLER": ErrorAdvice(
        (
            "The controller has changed since the client asked for it.",
            "An admin client was pointed at a controller that is not the active one.",
        ),
        "Clients look up the controller and retry.",
        ("CreateTopics", "DeleteTopics", "ElectLeaders", "AlterPartition", "BrokerHeartbeat"),
    ),
    "INVALID_REQUEST": ErrorAdvice(
        (
            "A client has a bug, or a proxy changed the request.",
            "Fields contradict each other, such as a topic named twice.",
        ),
        "Read the message beside the error or in the broker's log, and show the request with "
        "kdiag decode --show.",
        ("Produce", "CreateTopics", "AlterPartitionReassignments", "ConsumerGroupHeartbeat"),
    ),
    "POLICY_VIOLATION": ErrorAdvice(
        ("create.topic.policy.class.name or alter.config.policy.class.name refuses the change.",),
        "Read the message beside the error; it is the policy's.",
        ("CreateTopics", "AlterConfigs", "IncrementalAlterConfigs", "DeleteRecords"),
    ),
    "OPERATION_NOT_ATTEMPTED": ErrorAdvice(
        ("Another entry of the same request failed first.",),
        "Mend that entry and send the request again.",
        ("AddPartitionsToTxn",),
    ),
    "KAFKA_STORAGE_ERROR": ErrorAdvice(
        ("A disk of the broker is full, broken or read-only, and its log directory went offline.",),
        "Clients go to the new leader. Look for I/O errors in the broker's log, mend or replace "
        "the disk, and restart the broker.",
        ("Produce", "Fetch", "ListOffsets", "DescribeLogDirs", "DeleteRecords"),
    ),
    "LOG_DIR_NOT_FOUND": ErrorAdvice(
        ("The path is not among log.dirs of that broker, or is offline.",),
        "Use a path as DescribeLogDirs gives it.",
        ("AlterReplicaLogDirs", "DescribeLogDirs"),
    ),
    "REASSIGNMENT_IN_PROGRESS": ErrorAdvice(
        ("Partitions cannot be added, or the topic changed, while replicas move.",),
        "Wait for the reassignment or cancel it (kafka-reassign-partitions.sh --cancel).",
        ("CreatePartitions", "AlterPartitionReassignments"),
    ),
    "NO_REASSIGNMENT_IN_PROGRESS": ErrorAdvice(
        ("It had ended, or was never begun.",),
        "Nothing: there is nothing to cancel.",
        ("AlterPartitionReassignments",),
    ),
    "LISTENER_NOT_FOUND": ErrorAdvice(
        ("The leader does not advertise a listener of the name that the client connected by.",),
        "Configure the same listener names in advertised.listeners of all brokers.",
        ("Metadata",),
    ),
    "TOPIC_DELETION_DISABLED": ErrorAdvice(
        ("delete.topic.enable=false on the brokers.",),
        "Enable it, or empty the topic with DeleteRecords.",
        ("DeleteTopics",),
    ),
    "STALE_BROKER_EPOCH": ErrorAdvice(
        ("A broker restarted, and a request from before arrived afterwards.",),
        "Nothing if it happens once. Else look for two processes with the same node id.",
        ("AlterPartition", "BrokerHeartbeat", "AllocateProducerIds", "AssignReplicasToDirs"),
    ),
    "PREFERRED_LEADER_NOT_AVAILABLE": ErrorAdvice(
        ("The preferred replica is down or not in sync.",),
        "Wait until it has caught up, then elect again.",
        ("ElectLeaders",),
    ),
    "ELIGIBLE_LEADERS_NOT_AVAILABLE": ErrorAdvice(
        ("No replica in sync (or eligible, KIP-966) is up.",),
        "Start a replica that was in sync. An unclean election loses records: the last resort.",
        ("ElectLeaders",),
    ),
    "ELECTION_NOT_NEEDED": ErrorAdvice(
        ("The leader is already the one that the election would choose.",),
        "Nothing.",
        ("ElectLeaders",),
    ),
    "THROTTLING_QUOTA_EXCEEDED": ErrorAdvice(
        ("More topics or partitions are created or deleted than controller_mutation_rate allows.",),
        "Wait throttle_time_ms and go on, in smaller steps; or raise the quota.",
        ("CreateTopics", "CreatePartitions", "DeleteTopics"),
    ),
    "INVALID_UPDATE_VERSION": ErrorAdvice(
        ("A broker or controller does not support that level, or a downgrade is not safe.",),
        "Read the message beside the error; update all nodes first.",
        ("UpdateFeatures", "UpdateRaftVoter"),
    ),
    "FEATURE_UPDATE_FAILED": ErrorAdvice(
        ("The controller could not write the change.",),
        "See the log of the active controller.",
        ("UpdateFeatures",),
    ),
    "INELIGIBLE_REPLICA": ErrorAdvice(
        ("The replica's broker is fenced or shutting down.",),
        "Brokers sort it out themselves.",
        ("AlterPartition",),
    ),
    "NEW_LEADER_ELECTED": ErrorAdvice(
        ("The change of the in-sync replicas ended a reassignment and moved the leader.",),
        "Nothing: the change was made.",
        ("AlterPartition",),
    ),
    "MISMATCHED_ENDPOINT_TYPE": ErrorAdvice(
        ("--bootstrap-server was given a controller, or --bootstrap-controller a broker.",),
        "Use the option that fits the address.",
        ("DescribeCluster",),
    ),
    "UNSUPPORTED_ENDPOINT_TYPE": ErrorAdvice(
        ("The request asks for a type of endpoint that this node does not know.",),
        "Ask another node, or upgrade it.",
        ("DescribeCluster",),
    ),
    "UNKNOWN_SUBSCRIPTION_ID": ErrorAdvice(
        ("The wanted metrics changed since the client asked (KIP-714).",),
        "Clients ask again on their own.",
        ("PushTelemetry",),
    ),
    "TELEMETRY_TOO_LARGE": ErrorAdvice(
        ("The client's metrics are larger than telemetry.max.bytes (1 MiB).",),
        "Subscribe to fewer metrics, or raise telemetry.max.bytes of the brokers.",
        ("PushTelemetry",),
    ),
    "REBOOTSTRAP_REQUIRED": ErrorAdvice(
        ("The address leads to another cluster or node than the client means (KIP-1242).",),
        "Clients start over from bootstrap.servers on their own. If it lasts, check what "
        "advertised.listeners and load balancers lead to.",
        ("ApiVersions", "Metadata"),
    ),
}
"""By Kafka's name of the error."""
