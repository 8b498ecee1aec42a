"""Transactions: many partitions, written as one, by a producer that has a name.

    transaction_state        TransactionState: the states, and which may follow which
    transaction_metadata     TransactionMetadata: one transactional id; decides, writes nothing
    transaction_shard        TransactionShard: the ids of a partition, read again from its records
    transaction_config       times and limits
    transaction_coordinator  TransactionCoordinator: takes requests to the metadata of their id
    ending                   the end of a transaction: which requests end it, and what they are told
    marker_writer            MarkerWriter: writes the markers that end it into its partitions

    Empty -> Ongoing -> PrepareCommit -> CompleteCommit
                     -> PrepareAbort  -> CompleteAbort

What is prepared is in the log before anybody is answered: from there on it will be completed, by
this node or by the next that reads the partition.

Source: KIP-98, KIP-360, KIP-890; Kafka's `TransactionCoordinator`, `TransactionStateManager`.
"""
