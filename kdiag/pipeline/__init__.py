"""The tables of `kdiag.report`, made by many machines: Spark distributes, kdiag decodes.

    Place           a file, here or in an object store                       `place`
    Split           a part of a capture that can be read on its own          `split`
    packets         of splits, as rows                                       `packet_rows`, `source`
    divide          connections into parts with about the same to do         `division`
    decode          packets of some connections -> exchanges as they crossed  `flows`, `frame_rows`
    tabulate        exchanges -> rows of the tables, anywhere                `tabulate`
    Parquet         by date and broker, a run's files all or none            `partitions`
    run             all of it, on a session of Spark                 `session`, `tasks`, `run`
    stream          the same, batch by batch                         `folder_source`, `stream`

Only these, `source` and `tables` know Spark. All else is functions over Arrow batches and files,
which give the same rows in one process.
"""
