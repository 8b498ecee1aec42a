"""Groups: who is in them, what each member is given, and how far they have read.

    group_config        GroupCoordinatorConfig: times and limits, with Kafka's names
    group_shard         GroupShard: the groups of a partition, with their offsets
    group_listing       describe, list, delete
    group_coordinator   GroupCoordinator: takes requests to the shard of their group
    classic/            groups whose leader assigns (JoinGroup, SyncGroup)
    consumer/           groups to which the coordinator assigns (KIP-848)
    offsets/            how far they have read

Source: Kafka's `group-coordinator`.
"""
