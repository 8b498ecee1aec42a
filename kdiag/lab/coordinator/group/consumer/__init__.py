"""Consumer groups by KIP-848: the coordinator assigns, and members change over one by one.

    consumer_member     ConsumerGroupMember: what a member reads, its epoch, what it has
    consumer_group      ConsumerGroup: epochs, members, targets, who holds which partition; no I/O
    consumer_records    the parts of a group as records of __consumer_offsets
    reconciliation      from what a member has to what it is to have, a step for each heartbeat
    target_assignment   what each member is to have, by an assignor
    assignor/           uniform and range
    topic_pattern       TopicPattern: names by a pattern, in linear time
    group_heartbeat     ConsumerGroupHeartbeat: join, stay, leave, fence; records and a response
    heartbeats          ConsumerHeartbeats: those are written; sessions and revocations watched

Source: KIP-848; Kafka's `GroupMetadataManager`, `ConsumerGroup`.
"""
