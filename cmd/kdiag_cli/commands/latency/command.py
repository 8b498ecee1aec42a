"""`kdiag latency`: its arguments and options."""

from pathlib import Path
from typing import Annotated

import typer

from kdiag.findings.rule import Severity
from kdiag.probe.latency.plan import RecordShape
from kdiag_cli.commands.latency.options import (
    LatencyOptions,
    check,
    header_value_bytes,
    read_acks,
    read_sweep,
    value_bytes,
)
from kdiag_cli.options.completion import complete_topics
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.options.live_command import NO_OPTIONS, live_command
from kdiag_cli.options.quantities import (
    OptionDefault,
    duration_ns,
    interval_ns,
    positive_ns,
    size_bytes,
)
from kdiag_cli.options.results import FailOn, NoHeaders

EXAMPLES = """\b
Examples:
  kdiag latency -b localhost:9092
  kdiag latency -b localhost:9092 --rate 300/s --duration 30s --acks all
  kdiag latency -b localhost:9092 --sweep --html latency.html
  kdiag latency -b localhost:9092 --topic orders --sweep --min-bytes 1 --max-wait 500ms
  kdiag latency -b localhost:9092 --broker 2 --no-end-to-end -o json
  kdiag latency -b localhost:9092 --num-records 10000 --producer-acks 1 --record-size 100

\b
It writes to a topic of its own, which it removes afterwards. A topic that is named is only fetched
from, unless --write-to-topic is given. `kdiag help latency` explains the parts of a latency, the
bounds of percentiles, and the JSON.

\b
Exit codes: 0 done, 1 a finding (--fail-on), 2 wrong usage, 3 cannot connect, 4 authentication,
5 authorization, 6 timeout, 7 not supported by the brokers, 8 some requests failed,
130 interrupted (what was measured is printed).
"""


@live_command
def latency(  # noqa: PLR0913 - a parameter for each option
    *,
    topic: Annotated[
        str | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC",
            help="Use this topic, and only fetch from it.",
            autocompletion=complete_topics,
        ),
    ] = None,
    is_writing: Annotated[
        bool, typer.Option("--write-to-topic", help="With --topic: write to it as well.")
    ] = False,
    is_read_only: Annotated[
        bool, typer.Option("--read-only", help="Make no topic and write nothing; needs --topic.")
    ] = False,
    brokers: Annotated[
        list[int] | None,
        typer.Option("--broker", metavar="ID", help="Only this broker. Repeatable."),
    ] = None,
    acks: Annotated[
        str,
        typer.Option("--acks", "--producer-acks", metavar="0,1,all", help="Which take turns."),
    ] = "0,1,all",
    rate: Annotated[
        int,
        typer.Option(
            metavar="N/s", help="How many requests are due, all acks together.", parser=interval_ns
        ),
    ] = OptionDefault(interval_ns, "100/s"),
    duration: Annotated[
        int, typer.Option(metavar="TIME", help="How long requests are due.", parser=positive_ns)
    ] = OptionDefault(positive_ns, "15s"),
    record_count: Annotated[
        int | None,
        typer.Option("--num-records", metavar="N", min=1, help="Instead: how many records."),
    ] = None,
    warm_up: Annotated[
        int,
        typer.Option(
            "--warm-up",
            metavar="TIME",
            help="How long before that; not counted.",
            parser=duration_ns,
        ),
    ] = OptionDefault(duration_ns, "2s"),
    size: Annotated[
        int,
        typer.Option(
            "--size", "--record-size", metavar="SIZE", help="Of each value.", parser=value_bytes
        ),
    ] = 100,
    key_size: Annotated[
        int,
        typer.Option("--record-key-size", metavar="SIZE", help="Of each key.", parser=size_bytes),
    ] = 0,
    header_count: Annotated[
        int, typer.Option("--num-headers", metavar="N", min=0, help="Headers of each record.")
    ] = 0,
    header_key_size: Annotated[
        int,
        typer.Option(
            "--record-header-key-size", metavar="SIZE", help="Of each key.", parser=size_bytes
        ),
    ] = 0,
    header_size: Annotated[
        int,
        typer.Option(
            "--record-header-size",
            metavar="SIZE",
            help="Of each value; -1 is null.",
            parser=header_value_bytes,
        ),
    ] = 0,
    batch_records: Annotated[
        int, typer.Option("--batch-records", metavar="N", min=1, help="Records of each request.")
    ] = 1,
    is_end_to_end: Annotated[
        bool,
        typer.Option(
            "--end-to-end/--no-end-to-end", help="Read what is written, and commit the offsets."
        ),
    ] = True,
    is_sweep: Annotated[
        bool, typer.Option("--sweep", help="Compare settings of consumers' fetches as well.")
    ] = False,
    min_bytes: Annotated[
        str | None,
        typer.Option("--min-bytes", metavar="1,1024", help="With --sweep: fetch.min.bytes."),
    ] = None,
    max_wait: Annotated[
        str | None,
        typer.Option("--max-wait", metavar="0,500", help="With --sweep: fetch.max.wait.ms."),
    ] = None,
    max_bytes: Annotated[
        int,
        typer.Option(
            "--max-bytes", metavar="SIZE", help="How much may be moved in all.", parser=size_bytes
        ),
    ] = OptionDefault(size_bytes, "1G"),
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with charts too.")
    ] = None,
    fail_on: FailOn = Severity.ERROR,
    no_headers: NoHeaders = False,
    live: LiveOptions = NO_OPTIONS,
) -> None:
    """Measure how long records take, and where."""
    chosen = LatencyOptions(
        topic=topic,
        writes_to_topic=is_writing,
        reads_only=is_read_only,
        brokers=brokers or (),
        acks=read_acks(acks),
        interval_ns=rate,
        duration_ns=duration,
        record_count=record_count,
        warm_up_ns=warm_up,
        records=RecordShape(
            size, key_size, header_count, header_key_size, header_size, batch_records
        ),
        is_end_to_end=is_end_to_end,
        sweep=read_sweep(min_bytes, max_wait, is_sweep=is_sweep),
        max_bytes=max_bytes,
        html=html,
        fail_on=fail_on,
        has_headers=not no_headers,
    )
    check(chosen)
    from kdiag_cli.commands.latency.run import run  # noqa: PLC0415 - 95 ms that --help spares

    raise typer.Exit(run(chosen, live))
