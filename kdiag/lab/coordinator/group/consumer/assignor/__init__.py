"""Server-side assignors: which member gets which partitions.

    group_spec    MemberSpec: what a member reads and had; TopicIdPartition
    uniform       as even as can be, and as much as before as can be
    ranges        neighbours of the same number, topic by topic

Source: KIP-848; Kafka's `UniformAssignor`, `RangeAssignor`.
"""
