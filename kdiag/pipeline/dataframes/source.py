"""The reader of a table of captures, for `spark.read.format("kdiag")`.

Spark asks a reader three things: which filters it takes, what its parts are, and their rows. Where
the plan is not made yet, the process that Spark starts for the second question makes it.
"""

import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)

from kdiag.clock import ALWAYS, SystemClock, TimeRange
from kdiag.errors import CaptureError
from kdiag.exchange.line.quantities import parse_moment_ns
from kdiag.exchange.secrets.new_file import PRIVATE_FOLDER, is_private_folder
from kdiag.pipeline.dataframes.plan import load_plan, plan_of
from kdiag.pipeline.decode import FlowRules
from kdiag.pipeline.input.split_packets import FAILFAST, PERMISSIVE
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.partitions import RUN
from kdiag.pipeline.tasks import freeze_gc
from kdiag.report.arrow import CAPTURE_FILE, extended
from kdiag.report.tables.catalog import TABLES, TableChoice, time_column
from kdiag.report.tables.latency_counts import MINUTE_NS
from kdiag.report.tables.latency_minutes import LATENCY_MINUTES
from kdiag.report.tables.tcp import TCP

_BODIES: Final = frozenset({"request_body", "response_body"})
_OPTIONS: Final = frozenset(
    {
        "table",
        "path",
        "paths",
        "plan",
        "staging",
        "keylog",
        "ports",
        "topic_ids",
        "from",
        "to",
        "mode",
        "pushdown",
        "separate_networks",
        "show_secrets",
    }
)


class TableReader(DataSourceReader):
    """Reads some columns of a table."""

    def __init__(self, columns: Sequence[str], options: Mapping[str, str]) -> None:
        """Check the options.

        Args:
            columns: the wanted ones.
            options: see `kdiag.spark.read`.

        Raises:
            ValueError: if an option or a column is unknown, or a value is wrong.
        """
        given = {key.lower(): value for key, value in options.items()}
        self._job = job_of(given)
        self._table = table_of(given)
        known = _schema(self._table).names
        missing = [name for name in columns if name not in known]
        if missing:
            raise ValueError(f"{self._table} has no column {missing[0]}: see `kdiag tables`")
        self._columns = list(columns)
        self._choice = TableChoice(
            bodies=bool(_BODIES & {*columns}),
            records=self._table == "records",
            show_secrets=_is_true(given, "show_secrets"),
        )
        self._folder = given.get("staging") or own_folder()
        self._plan = given.get("plan", "")
        self._times = ALWAYS

    def partitions(self) -> Sequence[InputPartition]:
        """Return the parts that may hold wanted rows."""
        uri = self._plan or plan_of(self._folder, self._job)
        plan = load_plan(uri)
        for warning in plan.warnings:
            warnings.warn(warning, stacklevel=2)
        return [InputPartition((uri, number)) for number in plan.parts(self._table, self._times)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the wanted rows of a part."""
        freeze_gc()
        if partition.value is None:  # Spark's way to read no part at all
            return
        uri, number = partition.value
        for batch in load_plan(uri).read(self._table, number, self._choice, self._times):
            if batch.num_rows:
                yield batch.select(self._columns)


class FilteringReader(TableReader):
    """Reads some columns of a table, and leaves rows of other times unread.

    Spark refuses a reader that knows filters in a session that has none pushed down.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - PySpark's
        """Take bounds of the time of rows; Spark evaluates all filters all the same."""
        column = (time_column(self._table),)
        for each in filters:
            bounds = _bounds(each) if getattr(each, "attribute", None) == column else ALWAYS
            self._times = _both(self._times, _times_behind(self._table, bounds))
            yield each


def reader_of(columns: Sequence[str], options: Mapping[str, str]) -> TableReader:
    """Return the reader of a table; see `TableReader` for the arguments.

    Raises:
        ValueError: if an option or a column is unknown, or a value is wrong.
    """
    does_filter = _is_true({key.lower(): value for key, value in options.items()}, "pushdown")
    return (FilteringReader if does_filter else TableReader)(columns, options)


def table_of(options: Mapping[str, str]) -> str:
    """Return the table that options name.

    Raises:
        ValueError: if there is no such table.
    """
    table = options.get("table", "exchanges")
    if table not in TABLES:
        raise ValueError(f"there is no table {table}; there are {', '.join(TABLES)}")
    return table


def ddl_of(options: Mapping[str, str]) -> str:
    """Return the columns of the table that options name, as Spark's DDL.

    Raises:
        ValueError: if there is no such table.
    """
    more = f"{CAPTURE_FILE.name} string, {RUN.name} string"
    return f"{TABLES[table_of(options)].ddl}, {more}"


def job_of(options: Mapping[str, str]) -> Job:
    """Return the captures of options, and the rules to read them by.

    Raises:
        ValueError: if a value is wrong.
        CaptureError: if a key log cannot be read.
    """
    unknown = sorted(options.keys() - _OPTIONS)
    if unknown:
        raise ValueError(f"no such option: {unknown[0]}; there are {', '.join(sorted(_OPTIONS))}")
    mode = options.get("mode", PERMISSIVE).lower()
    if mode not in {PERMISSIVE, FAILFAST}:
        raise ValueError(f"mode is {PERMISSIVE} or {FAILFAST}, not {mode}")
    now_ns = SystemClock().epoch_ns()
    moments = (options.get(name) or None for name in ("from", "to"))
    bounds = [None if each is None else parse_moment_ns(each, now_ns) for each in moments]
    ports = tuple(int(port) for port in options.get("ports", "").split(",") if port.strip())
    names = msgspec.json.decode(options.get("topic_ids", "{}"), type=dict[str, str])
    return Job(
        tuple(_paths(options)),
        "",
        choice=TableChoice(tcp=table_of(options) == TCP.name),
        rules=FlowRules(ports, _keylogs(options.get("keylog"))),
        topic_names=tuple(sorted(names.items())),
        times=TimeRange(*bounds),
        mode=mode,
        separates_networks=_is_true(options, "separate_networks"),
    )


def own_folder() -> str:
    """Return the folder for plans of whoever runs this, on this machine alone.

    Raises:
        CaptureError: if others made it, or may write into it: whoever can writes the plans.
    """
    folder = Path(tempfile.gettempdir(), f"kdiag-plans-{os.getuid()}")
    with suppress(FileExistsError):
        folder.mkdir(mode=PRIVATE_FOLDER)
    if not is_private_folder(folder):
        todo = "remove it, or name another folder with the option staging"
        raise CaptureError(str(folder), f"is a link, or not of this user alone: {todo}")
    return str(folder)


def _schema(table: str) -> pa.Schema:
    return extended(TABLES[table], [CAPTURE_FILE, RUN])


def _paths(options: Mapping[str, str]) -> list[str]:
    """Return the captures: Spark hands over one path, or several as JSON."""
    several = options.get("paths")
    if several:
        return msgspec.json.decode(several, type=list[str])
    path = options.get("path", "")
    if path.startswith("["):
        return msgspec.json.decode(path, type=list[str])
    return [path] if path else []


def _keylogs(path: str | None) -> tuple[str, ...]:
    if path is None:
        return ()
    try:
        Path(path).stat()
    except OSError as error:
        raise CaptureError(path, f"cannot be opened: {error.strerror}") from error
    return (path,)


def _is_true(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "").lower() == "true"


def _bounds(wanted: Filter) -> TimeRange:
    """Return the times that a filter on a time leaves."""
    value: Any = getattr(wanted, "value", None)
    if not isinstance(value, int):
        return ALWAYS
    ranges = {
        GreaterThan: TimeRange(from_ns=value + 1),
        GreaterThanOrEqual: TimeRange(from_ns=value),
        LessThan: TimeRange(to_ns=value),
        LessThanOrEqual: TimeRange(to_ns=value + 1),
        EqualTo: TimeRange(value, value + 1),
    }
    return ranges.get(type(wanted), ALWAYS)


def _times_behind(table: str, bounds: TimeRange) -> TimeRange:
    """Return the times of the exchanges that rows in some bounds are made of."""
    if table != LATENCY_MINUTES.name or bounds.to_ns is None:
        return bounds
    return bounds._replace(to_ns=-(-bounds.to_ns // MINUTE_NS) * MINUTE_NS)


def _both(one: TimeRange, other: TimeRange) -> TimeRange:
    """Return the times that are in both ranges."""
    firsts = [each.from_ns for each in (one, other) if each.from_ns is not None]
    lasts = [each.to_ns for each in (one, other) if each.to_ns is not None]
    return TimeRange(max(firsts, default=None), min(lasts, default=None))
