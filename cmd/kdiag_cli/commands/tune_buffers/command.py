"""`kdiag tune-buffers`: what it takes.

The work is in `captured_paths` for captures, and in `buffer_work` for brokers.
"""

from pathlib import Path
from typing import Annotated

import typer

from kdiag.findings.rule import Severity
from kdiag_cli.options import completion as completion_values
from kdiag_cli.options.captures import CaptureInputs, KeyLogs, Ports, SeparateNetworks
from kdiag_cli.options.live import LiveOptions, check_topic
from kdiag_cli.options.live_command import NO_OPTIONS, live_command
from kdiag_cli.options.results import FailOn, NoHeaders

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
            autocompletion=completion_values.topics,
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
        str, typer.Option(metavar="RATE", help="The rate to make room for: 1Gbit, 200Mbit.")
    ] = "1Gbit",
    sizes: Annotated[
        str, typer.Option(metavar="SIZES", help="What to try; auto is left to the kernel (-1).")
    ] = "64k,128k,1m,4m,auto",
    rounds: Annotated[int, typer.Option(min=1, max=100, help="How often to try each.")] = 5,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=60, help="How long to measure each time.")
    ] = 2.0,
    max_bytes: Annotated[
        str, typer.Option(metavar="SIZE", help="How much all runs together may move.")
    ] = "2G",
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
    fail_on: FailOn = Severity.ERROR,
    options: LiveOptions = NO_OPTIONS,
) -> None:
    """Say which socket buffers are best: try them on brokers, or read captures.

    With -b it tries sizes of buffers on a topic of its own, which it removes, and says what holds
    the path: buffers of either end, batches, or fetches. With captures it says what limits each
    connection; capture whole packets, from the beginning: only SYNs tell how windows are scaled.
    """
    # `--help` must not load what only the run needs.
    from kdiag_cli.commands.decode.options import read_bits_per_s, read_size  # noqa: PLC0415

    bits_per_s = read_bits_per_s(rate)
    if files:
        from kdiag_cli.commands.tune_buffers import captures as captured_paths  # noqa: PLC0415 - as above

        if options.bootstrap_servers or topic or html:
            why = "captures go with neither -b, --topic nor --html: these are for brokers"
            raise typer.BadParameter(why, param_hint="'[CAPTURE]...'")
        path_options = captured_paths.PathOptions(
            inputs=CaptureInputs(
                files=files,
                ports=frozenset(port or ()),
                keylogs=keylog or (),
                separates_networks=separate_networks,
            ),
            bits_per_s=bits_per_s,
            output=options.output,
            has_headers=not no_headers,
            fail_on=fail_on,
        )
        raise typer.Exit(captured_paths.run(path_options))
    from kdiag_cli.commands.tune_buffers import options as buffer_options  # noqa: PLC0415 - as above
    from kdiag_cli.commands.tune_buffers import run as buffer_work  # noqa: PLC0415 - as above

    check_topic(topic, reads_only=is_read_only, writes_to_topic=is_writing)
    said = buffer_options.Said(
        topic=topic,
        reads_only=is_read_only,
        writes_to_topic=is_writing,
        rtt_ns=buffer_options.read_rtt_ns(rtt),
        bits_per_s=bits_per_s,
        sizes=buffer_options.read_sizes(sizes),
        rounds=rounds,
        time_ns=round(seconds * 1e9),
        max_bytes=read_size(max_bytes, "'--max-bytes'"),
        proves=is_proving,
        html=html,
        fail_on=fail_on,
        has_headers=not no_headers,
    )
    raise typer.Exit(buffer_work.run(said, options))
