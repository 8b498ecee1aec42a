"""`kdiag decode`: its arguments and options."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kdiag.findings.rule import Severity
from kdiag_cli.options.apis import ApiKeys, read_api_keys
from kdiag_cli.options.capture_completion import complete_api_list
from kdiag_cli.options.captures import (
    DecodeAs,
    EachInterface,
    KeyLogs,
    PacketFilter,
    Ports,
    Promiscuous,
    SeparateNetworks,
    TopicIds,
    capture_inputs,
)
from kdiag_cli.options.filters import Brokers, ErrorNames, Since, StatusNames, Until, WhereText
from kdiag_cli.options.quantities import (
    UTC_TIMES,
    LineTimesShown,
    OptionDefault,
    duration_ns,
    size_bytes,
)
from kdiag_cli.options.results import CsvSafe, Wide

EXAMPLES = """\b
Examples:
  kdiag decode traffic.pcap
  kdiag decode traffic.pcap --summary
  kdiag decode traffic.pcap --summary --fail-on error
  kdiag decode traffic.pcap --api Produce,Fetch --topic 'order*' --min-latency 50ms
  kdiag decode traffic.pcap --summary --tcp
  kdiag decode traffic.pcap --errors --since 10:30 --until 10:45
  kdiag decode traffic.pcap --slow 50ms --pager
  kdiag decode traffic.pcap --where "latency_us > 50000 AND api = 'Fetch'"
  kdiag decode traffic.pcap --show 12 --values
  kdiag decode traffic.pcap --explain 12
  kdiag decode traffic.pcap -o jsonl | jq -r 'select(.error) | .error'
  kdiag decode traffic.pcap -o parquet --out tables
  kdiag decode traffic.pcap --errors --write errors.pcap
  kdiag decode traffic.pcap --keylog keys.log
  tcpdump -i any -U -w - 'tcp port 9092' | kdiag decode -
  kdiag decode --live lo --write traffic.pcap
  kdiag decode --live any --filter 'tcp port 9092'

\b
Exit codes: 0 done, 1 a finding (--fail-on), 2 wrong usage or an unreadable file, 8 partial (bytes
are missing, malformed or the file is cut), 130 interrupted.
"""


class DecodeOutput(StrEnum):
    """How results are written."""

    TEXT = "text"
    JSONL = "jsonl"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


def decode(  # noqa: PLR0913 - a parameter for each option
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE]...", help="Captures, folders of captures, or - for stdin."),
    ] = None,
    *,
    output: Annotated[
        DecodeOutput, typer.Option("--output", "-o", help="Lines for people, or for programs.")
    ] = DecodeOutput.TEXT,
    csv_safe: CsvSafe = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --output parquet: the folder for the tables."),
    ] = None,
    no_bodies: Annotated[
        bool, typer.Option("--no-bodies", help="With --output parquet: without the bodies.")
    ] = False,
    api: Annotated[
        list[ApiKeys] | None,
        typer.Option(
            metavar="NAME",
            help="Only this API, by name or key. Repeatable.",
            parser=read_api_keys,
            autocompletion=complete_api_list,
        ),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Only this client: id, IP or IP:port. Repeatable."),
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option("--topic", "-t", metavar="PATTERN", help="Only about this topic. Repeatable."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", "-g", metavar="PATTERN", help="Only about this group. Repeatable."),
    ] = None,
    connection: Annotated[
        list[str] | None,
        typer.Option(metavar="N", help="Only this connection, by number or id. Repeatable."),
    ] = None,
    broker: Brokers = None,
    errors: Annotated[
        bool,
        typer.Option(
            "--errors",
            help="Only faults: Kafka errors, closed connections, truncated or malformed frames.",
        ),
    ] = False,
    error: ErrorNames = None,
    status: StatusNames = None,
    since: Since = None,
    until: Until = None,
    where: WhereText = None,
    min_latency: Annotated[
        int | None,
        typer.Option(
            "--min-latency",
            "--slow",
            metavar="TIME",
            help="Only requests that took at least this long, to the last byte: 50ms, 1.5s, 800us.",
            parser=duration_ns,
        ),
    ] = None,
    with_waits: Annotated[
        bool,
        typer.Option(
            "--with-waits",
            help="With --min-latency: count the wait that Fetch and JoinGroup allow.",
        ),
    ] = False,
    port: Ports = None,
    summary: Annotated[
        bool,
        typer.Option("--summary", help="What is in the capture, what was slow, and what is wrong."),
    ] = False,
    fail_on: Annotated[
        Severity | None,
        typer.Option(help="With --summary: exit code 1 for findings at least so bad."),
    ] = None,
    show: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Exchange number N in full, as a tree.")
    ] = None,
    explain: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Exchange number N, byte by byte.")
    ] = None,
    values: Annotated[
        bool, typer.Option("--values", help="Show the records inside record batches.")
    ] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Kafka's exact JSON: records and nested bytes in base64.")
    ] = False,
    wide: Wide = False,
    tcp: Annotated[
        bool,
        typer.Option(
            "--tcp",
            help="Also show the facts of TCP for each connection: round trips, losses, windows.",
        ),
    ] = False,
    list_all: Annotated[
        bool,
        typer.Option("--all", help="Also list the connections that are not Kafka's, one by one."),
    ] = False,
    time: LineTimesShown = UTC_TIMES,
    pager: Annotated[
        bool, typer.Option("--pager", help="Read through $PAGER, or less, on a terminal.")
    ] = False,
    sort: Annotated[
        bool, typer.Option("--sort", help="Order by time; keeps everything in memory.")
    ] = False,
    topic_ids: TopicIds = None,
    keylog: KeyLogs = None,
    separate_networks: SeparateNetworks = False,
    decode_as: DecodeAs = None,
    each_interface: EachInterface = False,
    live: Annotated[
        str | None,
        typer.Option(
            metavar="IFACE", help="Capture from this interface, or any, instead of reading files."
        ),
    ] = None,
    promiscuous: Promiscuous = False,
    packet_filter: PacketFilter = None,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT.pcap",
            help="Keep the packets: of files, those of chosen connections, secrets masked.",
        ),
    ] = None,
    max_frame: Annotated[
        int,
        typer.Option(
            metavar="SIZE",
            help="Largest frame size to accept; larger ones are treated as damage.",
            parser=size_bytes,
        ),
    ] = OptionDefault(size_bytes, "100M"),
    max_waiting: Annotated[
        int,
        typer.Option(
            metavar="SIZE",
            help="Memory for out-of-order data, for each direction of a connection.",
            parser=size_bytes,
        ),
    ] = OptionDefault(size_bytes, "16M"),
    max_memory: Annotated[
        int,
        typer.Option(
            metavar="SIZE",
            help="Memory for all connections, and for decompressed records.",
            parser=size_bytes,
        ),
    ] = OptionDefault(size_bytes, "512M"),
    show_secrets: Annotated[
        bool, typer.Option("--show-secrets", help="Do not redact passwords and tokens.")
    ] = False,
) -> None:
    """Print each request and response in packet captures.

    Reads pcap and pcapng, packed (gzip, zstd, lz4, xz, bzip2) or not, and finds Kafka on any
    port. Prints one line for each request with its response.
    """
    from kdiag_cli.commands.decode import options, run  # noqa: PLC0415 - 240 ms that --help spares

    chosen = options.DecodeOptions(
        inputs=capture_inputs(
            files or (),
            port=port,
            keylog=keylog,
            topic_ids=topic_ids,
            separate_networks=separate_networks,
            decode_as=decode_as,
            each_interface=each_interface,
        )._replace(
            live=live,
            write=write,
            is_promiscuous=promiscuous,
            filter=packet_filter,
            max_frame_bytes=max_frame,
            max_waiting_bytes=max_waiting,
            max_memory_bytes=max_memory,
        ),
        output=output.value,
        csv_safe=csv_safe,
        out=out,
        bodies=not no_bodies,
        api_keys=frozenset().union(*api or ()),
        clients=client or (),
        topics=topic or (),
        groups=group or (),
        connections=connection or (),
        errors=errors,
        min_latency_ns=min_latency,
        with_waits=with_waits,
        brokers=broker or (),
        error_codes=frozenset().union(*error or ()),
        statuses=frozenset().union(*status or ()),
        since=since,
        until=until,
        where=where,
        values=values,
        raw=raw,
        show_secrets=show_secrets,
        summary=summary,
        is_wide=wide,
        show=show,
        explain=explain,
        tcp=tcp,
        sort=sort,
        lists_all=list_all,
        time_style=time.style,
        fail_on=fail_on,
        pager=pager,
    )
    options.check(chosen)
    raise typer.Exit(run.run(chosen))
