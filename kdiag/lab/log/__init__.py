"""A partition's log on disk, in Kafka's own formats: Kafka's tools read it, and it reads Kafka's.

    partition_log.py   PartitionLog: append, read, truncate; high watermark, last stable offset
    log_directory.py   LogDirectory: the logs of a broker, their checkpoints, a clean shutdown
    offset_lookup.py   offsets by time; retention.py: which segments are deleted
    cleaning/          compaction: the last record of each key
    validation.py      what is accepted, and how batches get their offsets in place
    segment.py         one .log and its indexes; segments.py: all of them, in order
    files/             the files of a partition, format by format
    producers/         idempotence and transactions
    log_offset.py      an offset and where it is; the ends of a log
    leader_epochs.py   which leader wrote from which offset on
    loader.py          opening a log: recovery after `kill -9`
    config.py          the settings; refusal.py: what a log refuses, and faults of the disk

A log belongs to one thread. Times are milliseconds since 1970 as on the wire; the caller's clock
gives them.
"""
