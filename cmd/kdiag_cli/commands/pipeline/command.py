"""`kdiag pipeline`: the arguments and options of its commands."""

from enum import StrEnum
from typing import Annotated, Final, NoReturn

import typer

from kdiag.clock import TimeRange
from kdiag.pipeline.session import require_streams
from kdiag.report.sql_report import Query
from kdiag_cli.commands.pipeline.options import (
    PipelineRunOptions,
    PipelineStreamOptions,
    SparkOptions,
    catalog_name,
    host_pattern,
    read_conf,
    require_spark,
    run_name,
    split_bytes,
    table_store,
)
from kdiag_cli.options.capture_completion import complete_reports
from kdiag_cli.options.captures import (
    KeyLogs,
    NoBodies,
    Ports,
    SeparateNetworks,
    TopicIds,
    WithRecords,
    WithTcp,
)
from kdiag_cli.options.help_page import CommandPage, GroupPage
from kdiag_cli.options.quantities import (
    UTC_TIMES,
    OptionDefault,
    TimeZoneShown,
    duration_ns,
    moment_ns,
)
from kdiag_cli.options.report import (
    AnswerOutput,
    Dialect,
    Parameters,
    RowsFrom,
    RowsTo,
    TableQuestion,
    read_query,
)
from kdiag_cli.options.results import CsvSafe, NoHeaders, Wide, check_csv_safe
from kdiag_cli.output.answer import AnswerFormat
from kdiag_cli.output.result import ResultFormat

app = typer.Typer(
    cls=GroupPage,
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Make the tables of many captures, on Spark.",
)

_RUN_EXAMPLES: Final = """\b
Examples:
  kdiag pipeline run captures/ --out tables
  kdiag pipeline run captures/ --out tables --new
  kdiag pipeline run s3://bucket/captures --out s3://bucket/tables --master spark://host:7077
  kdiag pipeline run captures/ --out lake --format delta --jars delta.jar
  kdiag pipeline run a.pcap b.pcap.gz --out tables --conf spark.driver.memory=4g
  kdiag pipeline report clients tables

\b
Exit codes: 0 done, 2 wrong usage, an unreadable file, captures that another run has read, or no
Spark, 8 partial (what is missing is said), 130 interrupted.
"""

_STREAM_EXAMPLES: Final = """\b
Examples:
  tcpdump -i eth0 -s 0 -w captures/%s.pcap -G 60 port 9092
  kdiag pipeline stream captures/ --out tables --checkpoint checkpoint
  kdiag pipeline stream captures/ --out tables --checkpoint checkpoint --once --close
  kdiag pipeline stream in/ --out tables --checkpoint checkpoint --host-of '^(.*?)-\\d+'
  kdiag pipeline stream captures/ --out lake --checkpoint checkpoint --format delta --jars delta.jar
  kdiag pipeline status checkpoint

\b
Exit codes: 0 done (with --once), 2 wrong usage, an unreadable file, or no Spark, 8 partial (what is
missing is said), 130 interrupted.
What was interrupted or killed goes on where it was when it is started again.
"""

_STATUS_EXAMPLES: Final = """\b
Examples:
  kdiag pipeline status checkpoint
  kdiag pipeline status checkpoint -o json

\b
Exit codes: 0 done, 2 wrong usage, or no stream has this checkpoint.
"""

_REPORT_EXAMPLES: Final = """\b
Examples:
  kdiag pipeline report compat tables
  kdiag pipeline report latency tables -p api=Produce -o csv
  kdiag pipeline report errors tables --from 2026-11-01 --to 2026-12-01
  kdiag pipeline report clients hdfs://name:8020/tables --master spark://host:7077

\b
Exit codes: 0 done, 2 wrong usage, no tables, or no Spark, 130 interrupted.
"""

_QUERY_EXAMPLES: Final = """\b
Examples:
  kdiag pipeline query tables "SELECT api, count(*) AS n FROM exchanges GROUP BY api ORDER BY n"
  kdiag pipeline query tables --from -7d "SELECT run, count(*) FROM exchanges GROUP BY run"
  kdiag pipeline query tables --dialect spark "SELECT percentile(latency_us, 0.5) FROM exchanges"

\b
Exit codes: 0 done, 2 wrong usage or query, no tables, or no Spark, 130 interrupted.
"""

Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="Where Spark runs; by default all cores here."),
]
Conf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark, such as its memory."),
]


Packages = Annotated[
    str | None,
    typer.Option(
        "--packages", metavar="NAMES", help="Libraries of Java for Spark, by their names of Maven."
    ),
]
Jars = Annotated[
    str | None,
    typer.Option("--jars", metavar="FILES", help="Libraries of Java for Spark, as files."),
]


Hourly = Annotated[
    bool, typer.Option("--hourly", help="Divide the tables by hours, not by days alone.")
]


class TableFormat(StrEnum):
    """How tables are written."""

    PARQUET = "parquet"
    DELTA = "delta"
    ICEBERG = "iceberg"


Form = Annotated[
    TableFormat,
    typer.Option("--format", help="How tables are written; others take their --packages."),
]
Catalog = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Where they are in a catalog of Spark, such as lake.kafka; DIR has the log.",
        callback=catalog_name,
    ),
]


class DamageMode(StrEnum):
    """What to do with a file that is damaged or cut."""

    PERMISSIVE = "permissive"
    FAILFAST = "failfast"


@app.command(cls=CommandPage, epilog=_RUN_EXAMPLES)
def run(  # noqa: PLR0913 - a parameter for each option
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="CAPTURE...", help="Captures and folders of captures: paths, s3://, hdfs://."
        ),
    ],
    *,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="The folder of tables; all machines reach it.")
    ],
    master: Master = None,
    conf: Conf = None,
    packages: Packages = None,
    jars: Jars = None,
    form: Form = TableFormat.PARQUET,
    catalog: Catalog = "",
    name: Annotated[
        str,
        typer.Option(
            help="Of the run: it replaces what a run of this name has written.", callback=run_name
        ),
    ] = "",
    hourly: Hourly = False,
    new: Annotated[
        bool, typer.Option("--new", help="Read only captures that are not in the tables yet.")
    ] = False,
    parts: Annotated[
        int, typer.Option(min=0, help="Parts that connections are divided into; 0 to choose.")
    ] = 0,
    split_mb: Annotated[
        int,
        typer.Option(
            metavar="SIZE", help="About how long a split of a file is.", parser=split_bytes
        ),
    ] = OptionDefault(split_bytes, "64M"),
    shuffle_payloads: Annotated[
        bool,
        typer.Option(
            "--shuffle-payloads",
            help="Read each capture once and send payloads on, though they lie in plain files.",
        ),
    ] = False,
    mode: Annotated[
        DamageMode,
        typer.Option(help="A damaged file ends where the damage begins, or fails the run."),
    ] = DamageMode.PERMISSIVE,
    from_: Annotated[
        int | None,
        typer.Option(
            "--from", metavar="WHEN", help="First packets: RFC 3339, or -1h.", parser=moment_ns
        ),
    ] = None,
    to: Annotated[
        int | None,
        typer.Option("--to", metavar="WHEN", help="No packets from then on.", parser=moment_ns),
    ] = None,
    values: WithRecords = False,
    tcp: WithTcp = False,
    no_bodies: NoBodies = False,
    port: Ports = None,
    topic_ids: TopicIds = None,
    keylog: KeyLogs = None,
    separate_networks: SeparateNetworks = False,
    output: Annotated[
        ResultFormat, typer.Option("--output", "-o", help="What is said at the end.")
    ] = ResultFormat.TABLE,
) -> None:
    """Write the tables of captures as Parquet, by date.

    A connection that is seen before and after NAT counts each time here, unlike in kdiag decode.
    The same captures and times again replace what they gave; those of another run are refused.
    """
    if new and name:
        raise typer.BadParameter("adds a run, and --name replaces one", param_hint="'--new'")
    options = PipelineRunOptions(
        inputs=inputs,
        out=out,
        name=name,
        parts=parts,
        split_bytes=split_mb,
        is_indexed=not shuffle_payloads,
        mode=mode.value,
        from_ns=from_,
        to_ns=to,
        values=values,
        tcp=tcp,
        bodies=not no_bodies,
        ports=port or (),
        topic_ids=topic_ids,
        keylogs=keylog or (),
        separates_networks=separate_networks,
        is_new=new,
        is_hourly=hourly,
        store=table_store(form.value, catalog, is_hourly=hourly),
    )
    spark = SparkOptions(master, read_conf(conf or [], packages, jars), form.value)
    require_spark()
    from kdiag_cli.commands.pipeline.run import run_job  # noqa: PLC0415 - pyspark is an extra

    raise typer.Exit(run_job(options, spark, output))


@app.command(cls=CommandPage, epilog=_STREAM_EXAMPLES)
def stream(  # noqa: PLR0913 - as above
    folder: Annotated[
        str, typer.Argument(metavar="IN_DIR", help="The folder that captures are written into.")
    ],
    *,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="The folder of tables; all machines reach it.")
    ],
    checkpoint: Annotated[
        str, typer.Option(metavar="DIR", help="The folder that remembers how far the stream is.")
    ],
    master: Master = None,
    conf: Conf = None,
    packages: Packages = None,
    jars: Jars = None,
    form: Form = TableFormat.PARQUET,
    catalog: Catalog = "",
    name: Annotated[
        str, typer.Option(help="Of the stream; its files bear it.", callback=run_name)
    ] = "stream",
    parts: Annotated[
        int, typer.Option(min=1, help="Parts of the connections; fixed by the first batch.")
    ] = 8,
    every: Annotated[
        int,
        typer.Option(metavar="TIME", help="How often to look into the folder.", parser=duration_ns),
    ] = OptionDefault(duration_ns, "10s"),
    quiet: Annotated[
        int,
        typer.Option(metavar="TIME", help="How long a capture must be quiet.", parser=duration_ns),
    ] = OptionDefault(duration_ns, "60s"),
    wait_for_copies: Annotated[
        int,
        typer.Option(
            metavar="TIME",
            help="How long to wait for the rest of a capture that ends within a packet.",
            parser=duration_ns,
        ),
    ] = OptionDefault(duration_ns, "10m"),
    host_of: Annotated[
        str,
        typer.Option(
            metavar="REGEX",
            help="Finds the host in a capture's name; by default its folder in IN_DIR is one.",
            callback=host_pattern,
        ),
    ] = "",
    most_files: Annotated[
        int, typer.Option(min=1, help="How many captures are read at a time.")
    ] = 16,
    idle: Annotated[
        int,
        typer.Option(
            metavar="TIME",
            help="End what is silent for so long, connections and groups; 0 for never.",
            parser=duration_ns,
        ),
    ] = OptionDefault(duration_ns, "1h"),
    once: Annotated[
        bool, typer.Option("--once", help="End when all that is there is read.")
    ] = False,
    close: Annotated[
        bool, typer.Option("--close", help="With --once: end open connections, and the stream.")
    ] = False,
    hourly: Hourly = False,
    values: WithRecords = False,
    tcp: WithTcp = False,
    no_bodies: NoBodies = False,
    port: Ports = None,
    topic_ids: TopicIds = None,
    keylog: KeyLogs = None,
    separate_networks: SeparateNetworks = False,
) -> None:
    """Follow a folder that tcpdump rotates into; every exchange is written exactly once.

    Key logs are read again for each batch; with them, the checkpoint holds their secrets, too.
    """
    if close and not once:
        raise typer.BadParameter("needs --once", param_hint="'--close'")
    options = PipelineStreamOptions(
        folder=folder,
        out=out,
        checkpoint=checkpoint,
        name=name,
        parts=parts,
        every_ns=every,
        quiet_ns=quiet,
        wait_ns=wait_for_copies,
        host_of=host_of,
        most_files=most_files,
        idle_ns=idle,
        is_once=once,
        is_closing=close,
        values=values,
        tcp=tcp,
        bodies=not no_bodies,
        ports=port or (),
        topic_ids=topic_ids,
        keylogs=keylog or (),
        separates_networks=separate_networks,
        is_hourly=hourly,
        store=table_store(form.value, catalog, is_hourly=hourly),
    )
    spark = SparkOptions(master, read_conf(conf or [], packages, jars), form.value)
    require_spark(require_streams)
    from kdiag_cli.commands.pipeline.stream import follow  # noqa: PLC0415 - pyspark is an extra

    raise typer.Exit(follow(options, spark))


@app.command(cls=CommandPage, epilog=_STATUS_EXAMPLES)
def status(
    checkpoint: Annotated[
        str, typer.Argument(metavar="DIR", help="The folder that a stream was given.")
    ],
    *,
    output: Annotated[
        ResultFormat, typer.Option("--output", "-o", help="Text for people, or JSON.")
    ] = ResultFormat.TABLE,
    no_headers: NoHeaders = False,
    time: TimeZoneShown = UTC_TIMES,
    wide: Wide = False,
) -> None:
    """Tell how far a stream is: of each host the latest time, and what waits to be read."""
    del time  # `CommandPage` shows times in it
    require_spark()
    from kdiag_cli.commands.pipeline.status import show  # noqa: PLC0415 - pyarrow is an extra

    raise typer.Exit(show(checkpoint, output, has_headers=not no_headers, is_wide=wide))


@app.command(cls=CommandPage, epilog=_REPORT_EXAMPLES)
def report(  # noqa: PLR0913 - as above
    name: Annotated[
        str,
        typer.Argument(
            help="Which report; `kdiag report --list` shows them.", autocompletion=complete_reports
        ),
    ],
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder of tables.")],
    *,
    master: Master = None,
    conf: Conf = None,
    packages: Packages = None,
    jars: Jars = None,
    parameter: Parameters = None,
    from_: RowsFrom = None,
    to: RowsTo = None,
    output: AnswerOutput = AnswerFormat.TABLE,
    no_headers: NoHeaders = False,
    csv_safe: CsvSafe = False,
    time: TimeZoneShown = UTC_TIMES,
    wide: Wide = False,
) -> None:
    """Answer a question that many have, on Spark; DuckDB's is `kdiag report NAME DIR`."""
    del time  # `CommandPage` shows times in it
    check_csv_safe(output, is_csv_safe=csv_safe)
    question = TableQuestion(
        read_query(name, parameter or []),
        output,
        f"report {name}",
        has_headers=not no_headers,
        is_wide=wide,
        is_csv_safe=csv_safe,
        times=TimeRange(from_, to),
    )
    _answer(question, folder, SparkOptions(master, read_conf(conf or [], packages, jars)))


@app.command(cls=CommandPage, epilog=_QUERY_EXAMPLES)
def query(  # noqa: PLR0913 - as above
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder of tables.")],
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT.")],
    *,
    dialect: Annotated[
        Dialect, typer.Option(help="Whose SQL it is; by default that of `kdiag query`.")
    ] = Dialect.DUCKDB,
    master: Master = None,
    conf: Conf = None,
    packages: Packages = None,
    jars: Jars = None,
    from_: RowsFrom = None,
    to: RowsTo = None,
    output: AnswerOutput = AnswerFormat.TABLE,
    no_headers: NoHeaders = False,
    csv_safe: CsvSafe = False,
    time: TimeZoneShown = UTC_TIMES,
    wide: Wide = False,
) -> None:
    """Ask a question about tables in SQL, on Spark; DuckDB's is `kdiag query DIR SQL`."""
    del time  # `CommandPage` shows times in it
    check_csv_safe(output, is_csv_safe=csv_safe)
    question = TableQuestion(
        Query(sql, {}, dialect=dialect.value),
        output,
        "pipeline query",
        has_headers=not no_headers,
        is_wide=wide,
        is_csv_safe=csv_safe,
        times=TimeRange(from_, to),
    )
    _answer(question, folder, SparkOptions(master, read_conf(conf or [], packages, jars)))


def _answer(question: TableQuestion, folder: str, spark: SparkOptions) -> NoReturn:
    require_spark()
    from kdiag_cli.commands.pipeline.run import answer  # noqa: PLC0415 - pyspark is an extra

    raise typer.Exit(answer(question, folder, spark))
