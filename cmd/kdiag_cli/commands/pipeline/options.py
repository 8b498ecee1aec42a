"""The options of `kdiag pipeline`, validated: of its runs, its streams, and of Spark."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import typer

from kdiag.errors import ReportError
from kdiag.exchange.line.quantities import parse_size_bytes
from kdiag.pipeline.session import require
from kdiag.report.run_log import PARQUET, TableStore
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.quantities import parsed
from kdiag_cli.output.terminal import say

_NAME: Final = re.compile(r"\w[\w.-]*")
_CATALOG: Final = re.compile(r"[\w-]+(\.[\w-]+)*", re.ASCII)
_LEAST_SPLIT_BYTES: Final = 1 << 20
_MOST_SPLIT_BYTES: Final = 1 << 30


class SparkOptions(NamedTuple):
    """Where Spark runs, and its settings.

    Attributes:
        master: the URL of its master; None for all cores of this machine.
        conf: settings by name.
        table_format: that of the tables that are written or read.
    """

    master: str | None
    conf: Mapping[str, str]
    table_format: str = ""


class PipelineRunOptions(NamedTuple):
    """The options of `kdiag pipeline run`.

    Attributes:
        inputs: captures and folders of captures.
        out: the folder of tables.
        name: of the run; empty for one that is made of the inputs.
        parts: how many parts connections are divided into; 0 to choose.
        split_bytes: about how long a split of a file is.
        is_indexed: whether payloads stay in plain files until they are needed.
        mode: whether a damaged file ends where the damage begins, or fails the run.
        from_ns, to_ns: the moments between which packets are wanted; None for no limit.
        values: whether there is a table of records.
        tcp: whether there is a table of what TCP did.
        bodies: whether the tables hold the bodies.
        ports: those that carry Kafka whatever the bytes look like.
        topic_ids: the file with names of topic ids.
        keylogs: files with the secrets of TLS connections.
        separates_networks: whether the same addresses in other VLANs or VXLAN networks are others.
        is_new: whether captures that are in the tables already are left out.
        is_hourly: whether the tables are divided by hours, too.
        store: where the tables are put.
    """

    inputs: Sequence[str]
    out: str
    name: str
    parts: int
    split_bytes: int
    is_indexed: bool
    mode: str
    from_ns: int | None
    to_ns: int | None
    values: bool
    tcp: bool
    bodies: bool
    ports: Sequence[int]
    topic_ids: Path | None
    keylogs: Sequence[Path]
    separates_networks: bool
    is_new: bool
    is_hourly: bool
    store: TableStore


class PipelineStreamOptions(NamedTuple):
    """The options of `kdiag pipeline stream`.

    Attributes:
        folder: where captures appear.
        out: the folder of tables.
        checkpoint: the folder that remembers how far the stream is.
        name: of the stream.
        parts: how many parts connections are divided into.
        every_ns: how often to look into the folder.
        quiet_ns: how long a capture must have been quiet.
        wait_ns: how long one that ends within a packet is waited for.
        host_of: a regular expression that finds the host in the name of a capture.
        most_files: how many captures are read at a time.
        idle_ns: how long a connection may be without packets; 0 for ever.
        is_once: whether to end when all that is there is read.
        is_closing: whether to end open connections then, and the stream.
        values, tcp, bodies, ports, topic_ids, keylogs, separates_networks: as for a run.
        is_hourly, store: likewise.
    """

    folder: str
    out: str
    checkpoint: str
    name: str
    parts: int
    every_ns: int
    quiet_ns: int
    wait_ns: int
    host_of: str
    most_files: int
    idle_ns: int
    is_once: bool
    is_closing: bool
    values: bool
    tcp: bool
    bodies: bool
    ports: Sequence[int]
    topic_ids: Path | None
    keylogs: Sequence[Path]
    separates_networks: bool
    is_hourly: bool
    store: TableStore


def read_conf(
    settings: Sequence[str], packages: str | None = None, jars: str | None = None
) -> dict[str, str]:
    """Return settings of Spark.

    Args:
        settings: as `key=value`.
        packages: names of Maven for libraries of Java, separated by commas.
        jars: files of such.

    Raises:
        typer.BadParameter: a setting is not `key=value`.
    """
    given = (("spark.jars.packages", packages), ("spark.jars", jars))
    conf = {key: value for key, value in given if value}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise typer.BadParameter(f"{setting!r} is not key=value", param_hint="'--conf'")
        conf[key] = value
    return conf


def table_store(form: str, catalog: str, *, is_hourly: bool) -> TableStore:
    """Return where tables are to be put.

    Raises:
        typer.BadParameter: there is nothing like it.
    """
    if form == PARQUET and catalog:
        why = "takes --format delta or iceberg: rows of Parquet tables cannot be replaced by run"
        raise typer.BadParameter(why, param_hint="'--catalog'")
    if form == "iceberg" and not catalog:
        why = "iceberg takes --catalog NAME, such as lake.kafka"
        raise typer.BadParameter(why, param_hint="'--format'")
    if form != PARQUET and is_hourly:
        why = f"divides Parquet alone: tables of {form} are divided by date"
        raise typer.BadParameter(why, param_hint="'--hourly'")
    return TableStore(form, catalog)


def catalog_name(name: str) -> str:
    """Return a name in a catalog as it was given.

    Raises:
        typer.BadParameter: it is none.
    """
    if name and not _CATALOG.fullmatch(name):
        raise typer.BadParameter(f"{name!r} is not a name in a catalog, such as lake.kafka")
    return name


def require_spark(check: Callable[[], None] = require) -> None:
    """End the program with what is missing, and how to get it, if Spark cannot run here."""
    try:
        check()
    except ReportError as error:
        say(str(error))
        raise typer.Exit(ExitCode.USAGE) from None


def run_name(name: str) -> str:
    """Return the name of a run, which is part of the names of files.

    Raises:
        typer.BadParameter: it cannot be.
    """
    if name and not _NAME.fullmatch(name):
        raise typer.BadParameter(f"{name!r} is not of letters, digits, dots, _ and -")
    return name


def host_pattern(text: str) -> str:
    """Return a regular expression as it was given.

    Raises:
        typer.BadParameter: it is none.
    """
    try:
        re.compile(text)
    except re.error as error:
        raise typer.BadParameter(f"{text!r} is no regular expression: {error}") from None
    return text


def split_bytes(given: str | int) -> int:
    """Parse the size of a split; the name of the option says that it is in megabytes."""
    return parsed(_split_bytes, given)


def _split_bytes(text: str) -> int:
    size = parse_size_bytes(text, bare="M")
    if not _LEAST_SPLIT_BYTES <= size <= _MOST_SPLIT_BYTES:
        raise ValueError(f"{text!r} is not between 1M and 1G")
    return size
