"""The purgatory: requests that wait for something to happen, or for their time to be up.

    delayed_operation     DelayedOperation: completed exactly once, by an event or by its timeout
    operation_purgatory   DelayedOperationPurgatory: operations by the keys of what they wait for
    operation_key         the keys: a partition, a group that is joined or synced, a member
    delayed_produce       DelayedProduce: acks=all waits until the replicas have the records
    delayed_fetch         DelayedFetch: a fetch waits until there are enough bytes
    delayed_join          DelayedJoin, InitialDelayedJoin: a rebalance waits for members
    delayed_sync          DelayedSync: a generation waits until all have asked for assignments
    delayed_heartbeat     DelayedHeartbeat: a member has to be heard of

An event (an append, a new high watermark, a new leader) calls `check_and_complete` with the key of
what changed, and every operation that waits for it looks whether it can be completed now. Nothing
here reads a log or writes to a socket: what an operation asks and answers are calls that it is
given.

Source: Kafka's `org.apache.kafka.server.purgatory`, release 4.x.
"""
