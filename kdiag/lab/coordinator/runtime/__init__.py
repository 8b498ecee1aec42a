"""What coordinators share: their state lies in the partitions of an internal topic.

    coordinator_topic     CoordinatorTopic: made on first use; which partition keeps a key
    coordinator_record    CoordinatorRecord: a key and a value, as Kafka writes them
    partition_loader      PartitionLoader: reads a partition into a shard again, piece by piece
    coordinator_runtime   CoordinatorRuntime: the shards of the partitions that the node leads

Whoever leads the partition of a key coordinates it. Its state machine (a shard, in Kafka's words)
is in memory, made again from the records when another node begins to lead.

Source: Kafka's `CoordinatorRuntime`, `CoordinatorLoaderImpl`, `CoordinatorPartitionWriter`.
"""
