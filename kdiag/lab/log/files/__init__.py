"""The files of a partition, each in Kafka's own format.

    file_records.py       NNN.log: record batches in a row; slices of it leave by `os.sendfile`
    index_file.py         entries of one size, sorted, searched by halves
    offset_index.py       NNN.index: offset -> position in the .log
    time_index.py         NNN.timeindex: timestamp -> offset
    transaction_index.py  NNN.txnindex: the aborted transactions
    checkpoint.py         text files of numbers, replaced as a whole
    partition_metadata.py partition.metadata: the topic's id
    names.py              the names of all of them

A file is bound to its path and knows nothing of the others.
"""
