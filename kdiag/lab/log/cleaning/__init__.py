"""Compaction: of the records of a key, the last one is kept.

    cleaner.py               which part of a log is dirty, and LogCleaning, which cleans it
    log_cleaner.py           which log of a broker is cleaned, and when
    batch_filter.py          what is left of one batch
    cleaned_transactions.py  which batches belong to aborted transactions, which markers are done
    key_offsets.py           the last offset of each key

Offsets stay as they are: a compacted log has gaps. A tombstone (a null value) is kept for
`delete.retention.ms` after it was first cleaned, so that readers see it. Left out: the throttle,
and threads that share the work; a cleaning is a sequence of short steps instead.
"""
