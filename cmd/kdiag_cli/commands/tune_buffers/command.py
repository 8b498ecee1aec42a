"""`kdiag tune-buffers`: its arguments and options."""

from pathlib import Path
from typing import Annotated

import typer

from kdiag.findings.rule import Severity
from kdiag_cli.commands.tune_buffers.options import (
    CapturedPathsOptions,
    TuneBuffersOptions,
    read_rtt_ns,
    read_sizes,
    run_time_ns,
)
from kdiag_cli.options.captures import (
    DecodeAs,
    EachInterface,
    KeyLogs,
    Ports,
    SeparateNetworks,
    capture_inputs,
)
from kdiag_cli.options.completion import complete_topics
from kdiag_cli.options.live import LiveOptions, check_topic
from kdiag_cli.options.live_command import NO_OPTIONS, live_command
from kdiag_cli.options.quantities import OptionDefault, bits_per_s, size_bytes
from kdiag_cli.options.results import FailOn, NoHeaders, require_folder

EXAMPLES = """\b
Examples:
  kdiag tune-buffers -b broker:9092
  kdiag tune-buffers -b broker:9092 --sizes 64k,1m,4m,auto --rounds 5 --html buffers.html
  kdiag tune-buffers -b broker:9092 --topic orders --read-only --max-bytes 200M
  kdiag tune-buffers -b broker:9092 --no-prove --rtt 80ms --rate 10Gbit
  kdiag tune-buffers -b broker:9092 -o json | jq '.data[].recommendation'
  kdiag tune-buffers traffic.pcap
  kdiag tune-buffers traffic.pcap --rate 10Gbit
  tcpdump -i any -c 100000 -w - 'tcp port 9092' | kdiag tune-buffers -

\b
`kdiag help buffers` explains what is measured, and the JSON.

\b
Exit codes: 0 done, 1 a finding at or above --fail-on, 2 wrong usage or an unreadable file,
3 cannot connect, 4 authentication, 5 authorization, 6 timeout, 7 not supported by the brokers,
8 partial (a broker cannot be reached, the capture lacks bytes), 130 interrupted.
"""


@live_command
def tune_buffers(  # noqa: PLR0913 - a parameter for each option
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CAPTURE]...", help="Captures, folders of captures, or - (stdin)."),
    ] = None,
    *,
    topic: Annotated[
        str | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC",
            help="Fetch from this topic, in place of one of kdiag's own.",
            autocompletion=complete_topics,
        ),
    ] = None,
    is_read_only: Annotated[bool, typer.Option("--read-only", help="Make no topic.")] = False,
    is_writing: Annotated[
        bool, typer.Option("--write-to-topic", help="Produce to --topic as well.")
    ] = False,
    rtt: Annotated[
        str, typer.Option(metavar="TIME", help="The round trip to go by: 20ms; auto measures it.")
    ] = "auto",
    rate: Annotated[
        int,
        typer.Option(
            metavar="RATE", help="The rate to make room for: 1Gbit, 125MB/s.", parser=bits_per_s
        ),
    ] = OptionDefault(bits_per_s, "1Gbit"),
    sizes: Annotated[
        str, typer.Option(metavar="SIZES", help="What to try; auto is left to the kernel (-1).")
    ] = "64k,128k,1m,4m,auto",
    rounds: Annotated[int, typer.Option(min=1, max=100, help="How often to try each.")] = 5,
    seconds: Annotated[
        int,
        typer.Option(metavar="TIME", help="How long to measure each time.", parser=run_time_ns),
    ] = OptionDefault(run_time_ns, "2s"),
    max_bytes: Annotated[
        int,
        typer.Option(
            metavar="SIZE", help="How much all runs together may move.", parser=size_bytes
        ),
    ] = OptionDefault(size_bytes, "2G"),
    is_proving: Annotated[
        bool | None,
        typer.Option("--prove/--no-prove", help="Try sizes; by default where they can matter."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with pictures as well.")
    ] = None,
    no_headers: NoHeaders = False,
    port: Ports = None,
    keylog: KeyLogs = None,
    separate_networks: SeparateNetworks = False,
    decode_as: DecodeAs = None,
    each_interface: EachInterface = False,
    fail_on: FailOn = Severity.ERROR,
    live: LiveOptions = NO_OPTIONS,
) -> None:
    """Find the best socket buffer sizes.

    With -b it tries sizes of buffers on a topic of its own, which it removes, and says what holds
    the path: buffers of either end, batches, or fetches. With captures it says what limits each
    connection; capture whole packets, from the beginning: only SYNs tell how windows are scaled.
    """
    rtt_ns, sizes_to_try = read_rtt_ns(rtt), read_sizes(sizes)
    if files:
        for_brokers = (("-b", live.bootstrap_servers), ("--topic", topic), ("--html", html))
        for option, given in for_brokers:
            if given:
                why = "captures go with neither -b, --topic nor --html: these are for brokers"
                raise typer.BadParameter(why, param_hint=option)
        captured = CapturedPathsOptions(
            inputs=capture_inputs(
                files,
                port=port,
                keylog=keylog,
                separate_networks=separate_networks,
                decode_as=decode_as,
                each_interface=each_interface,
            ),
            bits_per_s=rate,
            output=live.output,
            has_headers=not no_headers,
            is_wide=live.is_wide,
            fail_on=fail_on,
        )
        from kdiag_cli.commands.tune_buffers import captures  # noqa: PLC0415 - 170 ms that --help spares

        raise typer.Exit(captures.run(captured))
    require_folder(html, "--html")
    check_topic(topic, reads_only=is_read_only, writes_to_topic=is_writing)
    chosen = TuneBuffersOptions(
        topic=topic,
        reads_only=is_read_only,
        writes_to_topic=is_writing,
        rtt_ns=rtt_ns,
        bits_per_s=rate,
        sizes=sizes_to_try,
        rounds=rounds,
        time_ns=seconds,
        max_bytes=max_bytes,
        proves=is_proving,
        html=html,
        fail_on=fail_on,
        has_headers=not no_headers,
    )
    from kdiag_cli.commands.tune_buffers.run import run  # noqa: PLC0415 - 85 ms that --help spares

    raise typer.Exit(run(chosen, live))
