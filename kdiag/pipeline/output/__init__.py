"""What a run of the pipeline writes.

TableFiles    rows of the tables as Parquet, by date and broker   `partitions`
commit        the files of a run put into place                   `partitions`
Staging       Arrow files that tasks hand on to later tasks       `staging`
checkpoint    the state of a stream between two batches           `checkpoint`
views         the tables as views of Spark                        `views`
"""
