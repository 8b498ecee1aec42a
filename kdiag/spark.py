"""The tables of captures as Spark's DataFrames.

    from kdiag import spark as captures

    exchanges = captures.exchanges(spark, "s3://bucket/captures/*.pcap.zst")
    exchanges.groupBy("api").avg("latency_us").show()

    spark.read.format("kdiag").option("table", "batches").load("traffic.pcap")     the same

Rows are those of `kdiag tables`, with the columns `capture_file` and `run`. What is asked of them
is Spark's: filters, joins, and writing them in any format and to any catalog.

The frames of captures are found once, when a DataFrame is made, by the executors of the session,
or, with `format("kdiag")`, by the driver alone when it is first read. They are staged, so that
other tables of the same captures and other questions find them: in a folder of this machine, or in
`staging`, which a cluster needs, for all machines must reach it. What nobody wanted for a day is
removed when others are staged.

Options, as keywords here and by `option` there:

    keylog               a file of TLS secrets
    ports                those that carry Kafka whatever the bytes are, as 9092,9093
    topic_ids            names by topic id; as JSON there
    from, to             times of packets, as RFC 3339 or -1h; `from_` here
    mode                 `permissive`, or `failfast` to refuse damaged captures
    separate_networks    true to tell the same addresses in other networks apart
    show_secrets         true to leave passwords and tokens as they are
    staging              the folder for what is staged
    pushdown             true to leave frames unread that filters on `time_ns` exclude; it takes
                         `spark.sql.python.filterPushdown.enabled`, and follows that here

`columns` here and `schema` there choose columns: without `request_body` and `response_body` no
JSON is made. The table `records` holds what users wrote; it is read only where it is named. For the
table `tcp` captures are read once more: the others do without what it takes.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from kdiag.errors import CaptureError
from kdiag.pipeline.dataframes.plan import load_plan, plan_of
from kdiag.pipeline.dataframes.source import ddl_of, job_of, own_folder
from kdiag.pipeline.job import Job
from kdiag.pipeline.session import RUN_SETTINGS, is_local, session_with
from kdiag.report.uri import require_absolute

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Paths: TypeAlias = str | Path | Sequence[str | Path]
"""Captures and folders of captures, with wildcards, as paths or URIs."""

Option: TypeAlias = str | Path | bool | Sequence[int] | Mapping[str, str]

_REMOTE: Final = "pyspark.sql.connect"
_PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"


def exchanges(
    spark: "SparkSession", paths: Paths, *, columns: Sequence[str] = (), **options: Option
) -> "DataFrame":
    """Return requests with their responses; see `read`."""
    return read(spark, "exchanges", paths, columns=columns, **options)


def batches(
    spark: "SparkSession", paths: Paths, *, columns: Sequence[str] = (), **options: Option
) -> "DataFrame":
    """Return record batches that were produced or fetched; see `read`."""
    return read(spark, "batches", paths, columns=columns, **options)


def records(
    spark: "SparkSession", paths: Paths, *, columns: Sequence[str] = (), **options: Option
) -> "DataFrame":
    """Return records, which are what users wrote; see `read`."""
    return read(spark, "records", paths, columns=columns, **options)


def connections(
    spark: "SparkSession", paths: Paths, *, columns: Sequence[str] = (), **options: Option
) -> "DataFrame":
    """Return TCP connections; see `read`."""
    return read(spark, "connections", paths, columns=columns, **options)


def gaps(
    spark: "SparkSession", paths: Paths, *, columns: Sequence[str] = (), **options: Option
) -> "DataFrame":
    """Return bytes that the captures lack; see `read`."""
    return read(spark, "gaps", paths, columns=columns, **options)


def not_understood(
    spark: "SparkSession", paths: Paths, *, columns: Sequence[str] = (), **options: Option
) -> "DataFrame":
    """Return bytes in the captures of which no frame could be made; see `read`."""
    return read(spark, "not_understood", paths, columns=columns, **options)


def latency_minutes(
    spark: "SparkSession", paths: Paths, *, columns: Sequence[str] = (), **options: Option
) -> "DataFrame":
    """Return counts of latencies, which add up over rows; see `read`."""
    return read(spark, "latency_minutes", paths, columns=columns, **options)


def rebalances(
    spark: "SparkSession", paths: Paths, *, columns: Sequence[str] = (), **options: Option
) -> "DataFrame":
    """Return rebalances of groups, with who caused each; see `read`."""
    return read(spark, "rebalances", paths, columns=columns, **options)


def members(
    spark: "SparkSession", paths: Paths, *, columns: Sequence[str] = (), **options: Option
) -> "DataFrame":
    """Return the members of groups that were seen; see `read`."""
    return read(spark, "members", paths, columns=columns, **options)


def capture_files(
    spark: "SparkSession", paths: Paths, *, columns: Sequence[str] = (), **options: Option
) -> "DataFrame":
    """Return the captures themselves, the table `captures`; see `read`."""
    return read(spark, "captures", paths, columns=columns, **options)


def tcp(
    spark: "SparkSession", paths: Paths, *, columns: Sequence[str] = (), **options: Option
) -> "DataFrame":
    """Return what TCP did in each direction of connections; see `read`."""
    return read(spark, "tcp", paths, columns=columns, **options)


def read(
    spark: "SparkSession",
    table: str,
    paths: Paths,
    *,
    columns: Sequence[str] = (),
    **options: Option,
) -> "DataFrame":
    """Return a table of captures.

    Args:
        spark: the session; its settings stay as they are.
        table: its name, see `kdiag tables`.
        paths: captures and folders of captures.
        columns: the wanted ones; all by default.
        options: as above.

    Raises:
        ValueError: if a table, a column or an option is unknown, or a value is wrong.
        CaptureError: if an input is not a capture or cannot be opened, or the session is one of
            several machines and `staging` is not given, or of others and a path is relative.
    """
    given = {name.rstrip("_"): _text(value) for name, value in options.items()}
    given |= {"table": table, "path": json.dumps(_texts(paths))}
    given["pushdown"] = str(spark.conf.get(_PUSHDOWN, None))
    job = job_of(given)
    ddl = _ddl(given, columns)
    if type(spark).__module__.startswith(_REMOTE):
        require_absolute(job.inputs)
    else:
        given["plan"] = _planned(spark, job, given.get("staging", ""))
    return spark.read.format("kdiag").options(**given).schema(ddl).load()


def _planned(spark: "SparkSession", job: Job, folder: str) -> str:
    """Return the URI of the plan, which the executors have made; tell what could not be read."""
    if not folder:
        if not is_local(spark.sparkContext.master):
            require_absolute(job.inputs)
            why = "give staging=FOLDER, which all machines of the session reach"
            raise CaptureError("captures", f"cannot be staged on this machine alone: {why}")
        folder = own_folder()
    uri = plan_of(folder, job, session_with(spark, RUN_SETTINGS))
    for warning in load_plan(uri).warnings:
        warnings.warn(warning, stacklevel=4)
    return uri


def _ddl(options: Mapping[str, str], columns: Sequence[str]) -> str:
    """Return the schema of some columns of a table.

    Raises:
        ValueError: if there is no such column.
    """
    known = {each.split(" ", 1)[0]: each for each in ddl_of(options).split(", ")}
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise ValueError(f"{options['table']} has no column {unknown[0]}: see `kdiag tables`")
    return ", ".join(known[name] for name in columns or known)


def _texts(paths: Paths) -> list[str]:
    return [str(paths)] if isinstance(paths, str | Path) else list(map(str, paths))


def _text(value: Option) -> str:
    """Return the value of an option as Spark hands it over."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return json.dumps(dict(value))
    if isinstance(value, str | Path):
        return str(value)
    return ",".join(map(str, value))
