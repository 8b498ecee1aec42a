"""KD33xx: problems that show in the rebalances of a group."""

from typing import Final

from kdiag.findings.rule import Rule, Severity

_ERROR: Final = Severity.ERROR
_WARNING: Final = Severity.WARNING
_INFO: Final = Severity.INFO

RULES: Final = {
    "KD3301": Rule(
        _WARNING,
        "group {group} rebalanced {count} times in {span_s} s",
        "While a classic group rebalances, its members stop or wait; a group that does so again "
        "and again gets little else done.",
        "See what causes them: the commonest cause is: {what}. Eager assignors stop everybody each "
        "time; partition.assignment.strategy=CooperativeStickyAssignor, or "
        "group.protocol=consumer, stops only who loses a partition.",
    ),
    "KD3302": Rule(
        _WARNING,
        "{client} at {host} caused {count} of the {total} rebalances of group {group}",
        "One member that comes and goes makes all the others join again.",
        "See that program's log: it restarts, is stopped by its session timeout, or does not poll "
        "in time.",
    ),
    "KD3303": Rule(
        _WARNING,
        "the members of group {group} waited {wait_s} s for {client} at {host} to join generation "
        "{generation}: it knew of the rebalance, and sent its JoinGroup {program} later",
        "A rebalance of a classic group lasts until the slowest member calls poll() again, up to "
        "its max.poll.interval.ms.",
        "Have that program do less between two polls: lower max.poll.records, or hand the work to "
        "another thread.",
    ),
    "KD3304": Rule(
        _ERROR,
        "two processes use the instance id {instance_id} of group {group}: {named} was fenced "
        "{times}at {at}{by}",
        "The coordinator takes the newest member with an instance id, and answers "
        "FENCED_INSTANCE_ID to the other. That one stops for good (librdkafka), or joins again, so "
        "that they fence each other in turn.",
        "Give each process a group.instance.id of its own; see which hosts have it: {hosts}.",
    ),
    "KD3305": Rule(
        _WARNING,
        "{client} at {host}{port} stood still from {since} to {back}, and was removed from group "
        "{group} while it lived: generation {generation} is without it",
        "Its heartbeats did not reach the coordinator within session.timeout.ms, or its JoinGroup "
        "came too late, but its process went on.",
        "Look for pauses of that program or machine (garbage collection, suspended containers, the "
        "network); if they are to be expected, raise {setting}.",
    ),
    "KD3306": Rule(
        _WARNING,
        "{client} at {host} left group {group} {times}, {why} its program did not poll within "
        "max.poll.interval.ms",
        "The client leaves by itself where poll() is not called in time; its partitions go to "
        "others, who read the same records again.",
        "Lower max.poll.records, have slow work done by another thread, or raise "
        "max.poll.interval.ms above the longest time between two polls.",
    ),
    "KD3307": Rule(
        _WARNING,
        "{commits} of group {group} refused: {errors}",
        "A commit of a member that is out of the group, or of an older generation, is lost: the "
        "records are read again by whoever has the partition now.",
        "Commit in the rebalance listener, before partitions are taken away; see `kdiag errcode "
        "{error}`.",
    ),
    "KD3308": Rule(
        _INFO,
        "{count} members of group {group} were restarted one after another, which made "
        "{rebalances} rebalances",
        "Each process that stops and comes back without a group.instance.id makes the group "
        "rebalance twice.",
        "Set group.instance.id, one for each process, and a session.timeout.ms above the time of a "
        "restart: then a restart moves nothing.",
    ),
    "KD3309": Rule(
        _WARNING,
        "static member {instance_id} of group {group} came back {count} times",
        "A static member that restarts keeps its partitions, so the group does not rebalance, but "
        "nobody reads them while it is away.",
        "See why that process restarts: its log, its exit codes, the limits of its container.",
    ),
    "KD3310": Rule(
        _INFO,
        "{requests} of group {group} refused by a broker that does not coordinate it (yet): "
        "{errors}",
        "The coordinator moved to another broker, or is loading the group's records; meanwhile "
        "members can neither join nor commit.",
        "See `kdiag find-coordinator {group}`, and the log of the broker that had the partition of "
        "__consumer_offsets: it was restarted, or lost its leadership.",
    ),
    "KD3311": Rule(
        _WARNING,
        "{client} at {host} took {wait_s} s to take up epoch {generation} of group {group}",
        "A member of a consumer group (KIP-848) is told the new epoch once it has given up what "
        "others are to have; until then those wait for their partitions.",
        "Look for a rebalance listener or a loop of that program that blocks poll(): up to "
        "max.poll.interval.ms it is waited for.",
    ),
    "KD3312": Rule(
        _WARNING,
        "{client} at {host} was not let into group {group} {times}: {error} for {asked}",
        "A classic group takes members that share an assignor with all others, whose session "
        "timeout is within the limits of the brokers, and not more of them than group.max.size.",
        "{fix}.",
    ),
    "KD3313": Rule(
        _INFO,
        "the members of group {group} waited {wait_s} s for {client} at {host} to join generation "
        "{generation}: {told_s} s until its next heartbeat, as its heartbeats are {beats} "
        "apart, and {program} from there to its JoinGroup",
        "A member of a classic group learns from the answer to its next heartbeat that the group "
        "rebalances; the others wait for it until then.",
        "Set a shorter heartbeat.interval.ms for {client} (by default 3 s, at most a third of "
        "session.timeout.ms).",
    ),
    "KD3314": Rule(
        _WARNING,
        "{client} at {host}{port} failed: it was silent since {since} and was removed from group "
        "{group} at about {removed}, which made generation {generation}",
        "The coordinator removes a member that sends no heartbeat within its session timeout: its "
        "process was killed or stood still, its network failed, or it ended without leaving.",
        "See that program's log and its machine. A program that ends is to close its consumer, "
        "which leaves the group at once.",
    ),
    "KD3315": Rule(
        _INFO,
        "group {group} is in {count} clusters: {clusters}",
        "Clusters know nothing of one another: groups of one name have members, generations and "
        "offsets of their own in each. They are judged one by one.",
        "If that is not meant, see the bootstrap.servers of the members: some are given the "
        "brokers of another cluster.",
    ),
}
"""By id."""
