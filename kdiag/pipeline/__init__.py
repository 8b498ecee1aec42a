"""The tables of `kdiag.report`, made by many machines: Spark distributes, kdiag decodes.

    URI            a file, local or in an object store                          `uri`
    input/         splits of captures, and their TCP segments as a data source
    rows/          packets, frames and what was told of groups as rows between tasks
    output/        tables as Parquet, Delta or Iceberg, the log of runs, checkpoints, views
    captures       inputs of a run -> captures, walked through, and new ones    `captures`
    decode         packets of some connections -> exchanges as they crossed     `decode`
    tabulate       exchanges -> rows of the tables, in any order                `tabulate`
    task           a function of a number, run by Spark                         `tasks`
    Shared         a value that all tasks read, sent as a URI                   `shared`
    run            all of it, once, for given captures                          `run`, `session`
    stream         the same, batch by batch, for a folder that grows            `stream`

Only `run`, `stream`, `stages`, `captures`, `session`, `tasks`, the sources in `input/`, and
`lake_tables`, `writer` and `views` in `output/` import PySpark. Everything else is functions over
Arrow batches and files, which make the same rows in one process.
"""
