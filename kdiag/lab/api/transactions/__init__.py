"""What producers need that number their records, and those that write transactions.

init_producer_id        InitProducerId: an id and an epoch for a producer
producer_ids            ProducerIds: blocks of ids, each given once in the cluster
add_partitions_to_txn   AddPartitionsToTxn: partitions of a transaction
add_offsets_to_txn      AddOffsetsToTxn: a group whose offsets are part of it
txn_offset_commit       TxnOffsetCommit: its offsets
end_txn                 EndTxn: commit or abort
write_txn_markers       WriteTxnMarkers: the markers that end transactions
describe_transactions   DescribeTransactions
list_transactions       ListTransactions
describe_producers      DescribeProducers: the producers of a partition
txn_partitions          the partitions of a Produce in a transaction: added, or verified
producer_errors         what older clients are told
"""
