"""Exchanges as tables, questions as SQL.

    Column, Table    what there is to ask about             `column`, `columns_of_*`
    rows             of exchanges, batches, records          `exchange_row`, `batch_rows`
    RecordBatch      rows as Arrow, of bounded size          `tables`
    Parquet          a file for each table                   `parquet_tables`
    Report           a question with its answer in SQL       `sql_report`, `sql/*.sql`
    Database         the tables, where SQL runs              `engine`

Columns, rows and reports are the same on one machine and on a cluster: what makes rows takes
single exchanges and keeps nothing between them but the topic names and fetch sessions it is given.
"""
