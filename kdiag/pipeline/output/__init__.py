"""What a run of the pipeline writes.

TableWriter   staged rows of a run put into its tables            `writer`
FilePlan      rows of the tables as Parquet, by date              `partitions`
LakeTables    rows of the tables as Delta or Iceberg              `lake_tables`
commit        the files of a run put into place and into the log  `run_log`
ReadCaptures  what runs have read, so that nothing is read twice  `read_captures`
Staging       Arrow files that tasks hand on to later tasks       `staging`
checkpoint    the state of a stream between two batches           `checkpoint`
views         the tables as views of Spark                        `views`
"""
