"""Exchanges as tables, questions as SQL.

    Column, Table    a column, and how its value is made      `tables/column`
    rows             of each table, beside its columns        `tables/`
    TableBatches     rows as Arrow batches of bounded size    `arrow`
    ParquetTables    a Parquet file for each table            `parquet`
    RunLog           the runs that wrote into a folder        `run_log`
    RecordFile       the records of `kdiag tail` as Parquet   `record_file`
    Report           a question with its answer in SQL        `sql_report`, `sql/*/*.sql`
    Database         the tables in DuckDB, where SQL runs     `engine`
    Overview         everything, in so few rows as one draws  `overview/`

Columns, rows and reports are the same on one machine and on a cluster: a row is made of a single
exchange, the names of topic ids and what its fetch session reads. A new column is one `Column` in
one file of `tables/`; a new report is one file below `sql/`.
"""
