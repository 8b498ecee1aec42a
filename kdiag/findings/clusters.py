"""KD2xxx: problems of a cluster's brokers and partitions."""

from typing import Final

from kdiag.findings.rule import Rule, Severity

_ERROR: Final = Severity.ERROR
_WARNING: Final = Severity.WARNING
_INFO: Final = Severity.INFO

RULES: Final = {
    "KD2001": Rule(
        _ERROR,
        "partitions without a leader ({count}): {partitions}",
        "Nothing can be written to or read from a partition while no broker leads it.",
        "{advice}: the last copies are there.",
    ),
    "KD2002": Rule(
        _ERROR,
        "partitions with fewer replicas in sync than min.insync.replicas: {partitions}",
        "Producers with acks=all get NOT_ENOUGH_REPLICAS; committing offsets fails where it is "
        "__consumer_offsets.",
        "Bring back the replicas on {missing}.",
    ),
    "KD2003": Rule(
        _WARNING,
        "partitions that are under-replicated ({count}): {partitions}",
        "Some replicas do not keep up with their leader, or their broker is down; the data "
        "survives fewer failures than it is meant to.",
        "Bring back the replicas on {missing}; if their brokers run, see their logs, disks and "
        "network.",
    ),
    "KD2004": Rule(
        _INFO,
        "partitions that are led by another broker than the preferred one: {count}",
        "After a restart leaders stay where they moved until they are balanced again, so that "
        "some brokers do more work than others.",
        "Run kafka-leader-election.sh --election-type preferred --all-topic-partitions, or wait "
        "for auto.leader.rebalance.enable.",
    ),
    "KD2005": Rule(
        _ERROR,
        "the topic {topic} does not exist{hint}",
        "No topic has that name, or the user may not see it.",
        "Check the name, and that this is the right cluster.",
    ),
    "KD2006": Rule(
        _WARNING,
        "broker {node_id} is alive, but {count} of its replicas are offline: {partitions}",
        "A disk of the broker has failed, or a log directory was taken out of service.",
        "See the log of broker {node_id} for `log.dirs`, and replace the disk.",
    ),
    "KD2007": Rule(
        _WARNING,
        "broker {node_id} belongs to the cluster but is not alive",
        "It is registered, or holds replicas, but is not among the brokers that clients are told "
        "of.",
        "Start broker {node_id}; if it is gone for good, move its replicas and unregister it.",
    ),
    "KD2008": Rule(
        _ERROR,
        "no controller can be asked: {why}",
        "Without a controller nobody elects leaders, creates topics or takes brokers in.",
        "{advice}.",
    ),
    "KD2009": Rule(
        _WARNING,
        "kdiag's own, left on the cluster ({count}): {names}",
        "A kdiag that measures removes its topic and its group at its end. If none measures at "
        "the moment, one was killed before it could.",
        "Remove them by {commands}.",
    ),
    "KD2010": Rule(
        _ERROR,
        "broker {node_id} has taken {path} out of service with {error}{lost}",
        "Reading or writing there failed: the disk is broken or full, or the directory is not "
        "readable. The broker runs on with its other log directories, and uses this one again "
        "only after a restart.",
        "See the log of broker {node_id} for the I/O error, mend or replace the disk of {path}, "
        "and restart the broker.",
    ),
    "KD2011": Rule(
        _WARNING,
        "{path} of broker {node_id} will be full in {minutes} min: {usable} of {total} are left, "
        "and it fills by {per_s} a second (over {looked_s} s)",
        "A log directory that is full is taken out of service, and its partitions lose this "
        "replica. The rate is that of two looks, and counts all that writes to the file system.",
        "Make room now: lower retention.ms or retention.bytes of the largest topics "
        "(kafka-log-dirs.sh --describe), or move partitions to another broker.",
    ),
}
"""By id."""
