"""Classic groups: one member leads and assigns, and every change makes the whole group join again.

    group_state        ClassicGroupState: Empty, PreparingRebalance, CompletingRebalance, ...
    group_member       ClassicGroupMember: what a member can, and which response it waits for
    group_metadata     GroupMetadata: a group: its members, its generation; no I/O, no timers
    group_records      a group as a record of __consumer_offsets, and back
    rebalance          ClassicRebalance: the phases of a rebalance, with their timeouts
    joining            JoinGroup
    membership         SyncGroup, Heartbeat, LeaveGroup

Source: Kafka's `GroupCoordinator`, `GroupMetadata` (before 4.0), `ClassicGroup` (since).
"""
