"""The partitions that a node has: leading them, appending, reading, and waiting for either.

    replica_partition   ReplicaPartition: one partition on a node, and what its replicas have
    replica_manager     ReplicaManager: all of them, with the purgatories of produces and fetches
    peer_requests       what a node asks of the others
    record_fetch        a fetch over many partitions, and what each gives
    replica_fetcher     ReplicaFetcher: follows the leaders of other partitions
    leader_range        where a leader's log begins and ends
    follower_replica    FollowerReplica: what a leader knows of a follower
    replication_config  times and limits

Source: Kafka's `ReplicaManager`, `Partition`, `ReplicaFetcherThread`.
"""
