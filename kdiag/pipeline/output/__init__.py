"""What a run of the pipeline writes.

TableFiles    rows of the tables as Parquet, by date and broker   `partitions`
commit        the files of a run put into place and into the log  `run_log`
ReadCaptures  what runs have read, so that nothing is read twice  `read_captures`
Staging       Arrow files that tasks hand on to later tasks       `staging`
checkpoint    the state of a stream between two batches           `checkpoint`
views         the tables as views of Spark                        `views`
"""
