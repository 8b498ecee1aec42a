"""What a run of the pipeline writes.

TableWriter   staged rows of a run put into its tables            `writer`
FilePlan      rows of the tables as Parquet, by date              `partitions`
LakeTables    rows of the tables as Delta or Iceberg              `lake_tables`
commit        the files of a run put into place and into the log  `run_log`
ReadCaptures  what runs have read, so that nothing is read twice  `read_captures`
Staging       Arrow files that tasks hand on to later tasks       `staging`
checkpoint    the state of a stream between two batches           `checkpoint`
state         objects as data in a file, and of which classes     `state_graph`, `state_table`
write_whole   files that are complete or absent                   `whole_files`
views         the tables as views of Spark                        `views`
"""
