"""The producers of a partition: idempotence and transactions, seen from the log.

    entry.py        ProducerStateEntry: epoch, last five batches, transaction of one producer
    append_info.py  ProducerAppendInfo: what an append would change, checked first
    state.py        ProducerStateManager: all producers; open transactions; snapshots
    snapshot.py     NNN.snapshot: the producers up to an offset, on disk

A batch whose sequence numbers were seen is a duplicate and is answered with its old offset; one
that leaves numbers out is refused. The first offset of the oldest open transaction is the first
unstable offset: up to there, consumers that read committed records may read.
"""
