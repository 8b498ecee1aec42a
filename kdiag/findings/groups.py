"""KD34xx: problems of a group as it is at a moment: its members, offsets and lag."""

from typing import Final

from kdiag.findings.rule import Rule, Severity

_ERROR: Final = Severity.ERROR
_WARNING: Final = Severity.WARNING
_INFO: Final = Severity.INFO

RULES: Final = {
    "KD3401": Rule(
        _ERROR,
        "there is no group {group}",
        "No broker lists it, and all have listed their groups. A group is there once a member "
        "joins or an offset is committed; without members, it goes when its last offset expires "
        "(offsets.retention.minutes of the brokers).",
        "See `kdiag groups` for the names that there are{similar}.",
    ),
    "KD3402": Rule(
        _WARNING,
        "group {group} lost {count} records of {partition}: its commit {committed} is before the "
        "start of the log, {start}",
        "Retention, or somebody, deleted records that the group had not read. Its consumers go on "
        "where auto.offset.reset says, mostly without a word.",
        "Raise retention.ms of topic {topic}, or have the group read faster.",
    ),
    "KD3403": Rule(
        _WARNING,
        "the commit {committed} of group {group} is behind the end of {partition}, {end}",
        "The topic was deleted and created again, or its log was truncated by an unclean leader "
        "election. Consumers get OFFSET_OUT_OF_RANGE, and go on where auto.offset.reset says.",
        "Stop the group, and set its offset with kafka-consumer-groups --reset-offsets.",
    ),
    "KD3404": Rule(
        _ERROR,
        "nobody in group {group} reads these partitions, which it subscribes to: {partitions}",
        "The group is stable, members subscribe to the topic, and no member owns these: an "
        " assignor that does not know of them, or a member that joined before they were there.",
        "Restart a member, so that the group rebalances; if they stay without owner, see the "
        "partition.assignment.strategy of all members.",
    ),
    "KD3405": Rule(
        _INFO,
        "{count} of the {total} members of group {group} have no partitions: {members}: {why}",
        "A partition has one owner: members beyond the number of partitions have nothing to do, "
        "and those that subscribe to other topics get none of these.",
        "Stop them, or add partitions to the topic; as spares they are of use. Where the range "
        "assignor is the reason, roundrobin, sticky or cooperative-sticky spread all topics.",
    ),
    "KD3406": Rule(
        _INFO,
        "group {group} has {lag} records to read, and no member",
        "Nobody reads for it any more, or its consumers choose their partitions themselves, by "
        "assign(): coordinators know nothing of those but their commits. Offsets are kept for "
        "offsets.retention.minutes after the last member or commit.",
        "See with --watch whether commits move; else start a consumer, or delete the group.",
    ),
    "KD3407": Rule(
        _WARNING,
        "group {group} has commits for partitions that do not exist: {partitions}",
        "Their topic was deleted; the commits stay until they expire, and no tool counts a lag for "
        "them.",
        "Delete them with kafka-consumer-groups --delete-offsets.",
    ),
    "KD3408": Rule(
        _INFO,
        "an open transaction holds group {group} back at {partition}: {held} records behind the "
        "last stable offset {stable_end} cannot be read",
        "Readers with isolation.level=read_committed get nothing behind the first record of an "
        "open transaction. The group has read all up to there.",
        "See whose transaction it is, and whether it hangs: kdiag txn --topic {topic}.",
    ),
    "KD3409": Rule(
        _INFO,
        "members of group {group} do not own what they are to own: {members}",
        "In groups of the new protocol a member gives up partitions, and says so, before others "
        "get them. One that does not poll keeps the others waiting, for its "
        "max.poll.interval.ms at most.",
        "Look again; if it stays, see the log of that program: it does not call poll().",
    ),
    "KD3410": Rule(
        _WARNING,
        "group {group} owns {count} partitions with records and has committed for none of them",
        "Its consumers commit nothing: enable.auto.commit=false without a commit of their own, or "
        "they keep their offsets elsewhere, as Flink, Spark and Connect's sinks may do. "
        "Nobody can tell the lag of such a group.",
        "If that is not on purpose, set enable.auto.commit=true, or call commitSync().",
    ),
    "KD3411": Rule(
        _INFO,
        "group {group} is rebalancing: {state}",
        "Members of a classic group wait until all have joined; in other groups those go on that "
        "keep their partitions.",
        "Look again with --watch; `kdiag rebalance explain {group} -b ...` says who caused it.",
    ),
    "KD3412": Rule(
        _ERROR,
        "group {group} is {lag} behind, more than {bar}",
        "The most that --lag-above allows. The worst partition is {partition}{owner}.",
        "Add members up to the number of partitions, or make the slowest member faster.",
    ),
    "KD3413": Rule(
        _WARNING,
        "broker {node_id} did not list its groups: {why}",
        "The groups that it coordinates are missing from this result, or their state is unknown.",
        "See `kdiag check`; a broker that has just started loads its groups first.",
    ),
    "KD3414": Rule(
        _INFO,
        "most of the lag of group {group} is in one partition: {partition} has {share} % of {lag}",
        "The others are nearly read: one key gets most records, or the member that owns it{owner} "
        "is slower than the others.",
        "See which keys it gets: kdiag tail {topic} -p {number} --count 1000 -f '%k\\n'.",
    ),
    "KD3415": Rule(
        _ERROR,
        "group {group} does not get on: within {span_s} s {why}",
        "A group that stays in a rebalance waits for a member that does not join, or join again. A "
        "stable one that commits nothing does not poll, does not commit, or fails at one record "
        "again and again. No request tells whether a member fetches: a capture does.",
        "See the log of the member that owns the partition, or `kdiag rebalance explain {group} -b "
        "...`; what it reads next shows kdiag tail with --partition and -o; whether it fetches "
        "shows `kdiag decode` of a capture at its host.",
    ),
    "KD3416": Rule(
        _WARNING,
        "offsets of group {group}, which has no members, may expire within {hours} hours: "
        "{partitions}",
        "A group without members keeps an offset for offsets.retention.minutes after it was "
        "committed, or after the last member left if that was later. Then consumers begin where "
        "auto.offset.reset says.",
        "Start a consumer of the group, or raise offsets.retention.minutes of the brokers, "
        "{retention_hours} hours now.",
    ),
    "KD3417": Rule(
        _WARNING,
        "members of group {group} subscribe to topics that do not exist: {topics} ({members})",
        "Consumers wait for such a topic without a word, and get its partitions once it exists. "
        "The name may be misspelt, or the topic was deleted or never created.",
        "Compare the name with those of kafka-topics --list; create the topic, or restart the "
        "members with the right name.",
    ),
    "KD3418": Rule(
        _INFO,
        "group {group} is {count} sets of members that have no topic in common: {parts}",
        "Applications that share a group id without sharing topics also share each rebalance: one "
        "that is deployed stops the others, and one that stalls keeps them waiting.",
        "Give each of them a group id of its own; kafka-consumer-groups --reset-offsets copies "
        "offsets, with --export and --from-file.",
    ),
    "KD3419": Rule(
        _INFO,
        "{count} of the {total} members of group {group} speak the classic protocol: {members}",
        "The group is on its way to the new protocol, or back: its coordinator speaks with each "
        "member as it can (group.consumer.migration.policy of the brokers). Until all are through, "
        "classic members rebalance as they always did.",
        "Set group.protocol=consumer for these members, or leave the group as it is.",
    ),
    "KD3420": Rule(
        _WARNING,
        "the lag of group {group} grew by {growth} records within {span_s} s, to {lag}: it reads "
        "{consumed_per_s} a second, and {produced_per_s} are written",
        "At this rate it never gets through. That is no trouble where records come in bursts.",
        "Add members up to the number of partitions, or make each faster; --watch shows in "
        "LOSES-IN-S whether retention will delete what was not read.",
    ),
    "KD3421": Rule(
        _WARNING,
        "static member {instance_id} of group {group} was replaced within {span_s} s: "
        "{client_id_before} at {host_before}, then {client_id} at {host}",
        "Whoever joins with the same group.instance.id takes the place: a restart, or a second "
        "program with the same id. The one before ends with FENCED_INSTANCE_ID if it still runs, "
        "and where it is started again, the two fence each other for ever.",
        "If nobody restarted it, give each program a group.instance.id of its own; look again with "
        "--watch.",
    ),
    "KD3422": Rule(
        _INFO,
        "{told}",
        "A member that is given these partitions waits until the transaction ends. COMMITTED and "
        "LAG are those of the commit before. That is usual for as long as a transaction takes.",
        "If it stays, see who has it open, and until when: kdiag txn list --groups.",
    ),
    "KD3423": Rule(
        _WARNING,
        "the commit {committed} of group {group} is not in the history of {partition}: its leader "
        "epoch, {epoch}, {why}",
        "The log was cut after the group had read it, by an unclean leader election or a "
        "restored disk, or the topic was created anew. Consumers that check epochs (KIP-320) go "
        "back to where the histories part, or to where auto.offset.reset says; others read on at "
        "the commit, and miss the records between the two.",
        "Stop the group, compare the records around the commit with kdiag tail, and set its "
        "offset with kafka-consumer-groups --reset-offsets.",
    ),
}
