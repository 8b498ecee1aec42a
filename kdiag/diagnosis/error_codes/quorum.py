"""Errors among controllers and brokers: KRaft's quorum, registrations, snapshots."""

from typing import Final

from kdiag.diagnosis.error_codes.known_error import ErrorAdvice

QUORUM: Final = {
    "INCONSISTENT_VOTER_SET": ErrorAdvice(
        ("controller.quorum.voters differs between nodes.",),
        "Give all nodes the same controller.quorum.voters, and restart those that differ.",
        ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch"),
    ),
    "SNAPSHOT_NOT_FOUND": ErrorAdvice(
        ("A newer snapshot replaced it while it was being read.",),
        "Nodes ask for the newer one on their own.",
        ("FetchSnapshot",),
    ),
    "POSITION_OUT_OF_RANGE": ErrorAdvice(
        ("A node asks for bytes beyond the end of a snapshot.",),
        "Nodes start over on their own. If it lasts, the snapshot file of the leader is damaged.",
        ("FetchSnapshot",),
    ),
    "DUPLICATE_BROKER_REGISTRATION": ErrorAdvice(
        (
            "Two brokers have the same node.id.",
            "A broker restarted before the session of its former life had timed out.",
        ),
        "Give each node an id of its own. A restarted broker registers once "
        "broker.session.timeout.ms has passed.",
        ("BrokerRegistration",),
    ),
    "BROKER_ID_NOT_REGISTERED": ErrorAdvice(
        ("The broker was unregistered, or never registered.",),
        "Start the broker, or check the id.",
        ("BrokerHeartbeat", "UnregisterBroker", "AlterPartition"),
    ),
    "CONTROLLER_ID_NOT_REGISTERED": ErrorAdvice(
        ("The controller was unregistered, or never registered.",),
        "Start the controller, or check the id.",
        ("UnregisterController",),
    ),
    "INCONSISTENT_CLUSTER_ID": ErrorAdvice(
        (
            "A node was formatted with another cluster id than the others.",
            "controller.quorum.bootstrap.servers points at another cluster.",
        ),
        "Compare cluster.id in meta.properties of all nodes; format the odd one anew.",
        ("Vote", "Fetch", "BrokerRegistration", "BeginQuorumEpoch"),
    ),
    "UNKNOWN_CONTROLLER_ID": ErrorAdvice(
        ("A controller that the request names has not registered.",),
        "Check the id in controller.quorum.voters, and whether the controller is up.",
        ("ControllerRegistration", "DescribeQuorum"),
    ),
    "INVALID_REGISTRATION": ErrorAdvice(
        (
            "The broker lacks a feature level or listener that the cluster needs.",
            "Its directories or its role do not fit what the controller knows.",
        ),
        "Read the reason in the log of the active controller.",
        ("BrokerRegistration", "ControllerRegistration"),
    ),
    "INVALID_VOTER_KEY": ErrorAdvice(
        ("A voter was replaced: id or directory id are not those of the node that was asked.",),
        "Nodes learn the new voters on their own.",
        ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "AddRaftVoter"),
    ),
    "DUPLICATE_VOTER": ErrorAdvice(
        ("A voter of this id is in the quorum.",),
        "Remove the old one first (kafka-metadata-quorum.sh remove-controller).",
        ("AddRaftVoter",),
    ),
    "VOTER_NOT_FOUND": ErrorAdvice(
        ("Id or directory id are not those of a voter.",),
        "Compare with kafka-metadata-quorum.sh describe --replication.",
        ("RemoveRaftVoter", "UpdateRaftVoter"),
    ),
}
"""By Kafka's name of the error."""
