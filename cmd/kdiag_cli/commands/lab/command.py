"""`kdiag lab`: its commands, and the arguments and options of the one that starts a lab."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kdiag.lab.api.registry import DEFAULT_RELEASE
from kdiag.lab.broker.lab_cluster import LOOPBACK
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.security.users import CHECKED_MECHANISMS
from kdiag_cli.commands.lab.faults.command import app as faults_app
from kdiag_cli.commands.lab.faults.options import ControlPortNumber, FaultFiles, FaultTexts
from kdiag_cli.commands.lab.options import (
    LabFormat,
    LabListener,
    LabOptions,
    LabSetting,
    check_listeners,
    check_nodes,
    read_fault_files,
    read_listener,
    read_mechanism,
    read_setting,
    read_topic,
)
from kdiag_cli.commands.lab.proxy.command import PROXY_EXAMPLES, proxy
from kdiag_cli.commands.lab.run import run_lab
from kdiag_cli.commands.lab.scenario.command import (
    RUN_EXAMPLES,
    run_scenarios,
    scenarios_app,
)
from kdiag_cli.options.help_page import CommandPage, DefaultGroup

EXAMPLES = """\b
Examples:
  kdiag lab
  kdiag lab --topic orders:3 --topic payments --seed-records 1000
  kdiag lab --port 9092 --data ./lab-data
  kdiag lab --nodes 3 --topic orders:6:3
  kdiag lab --listener SASL_SSL --listener PLAINTEXT --users users.txt
  kdiag lab --tls --client-auth required
  kdiag lab --as-version 2.8
  kdiag lab --pcap lab.pcapng -X group.initial.rebalance.delay.ms=0
  kdiag lab --fault 'Fetch topic=orders delay=200ms p=0.1' --control-port 8095
  kdiag lab -o jsonl

\b
`kdiag help lab` says what it does, and what it does not.

\b
Exit codes: 2 wrong usage or it cannot be started, 130 interrupted (Ctrl-C), 143 by SIGTERM.
"""


START = "start"
BLANK = "\n\n"
ACCESS = "Who may use it"
MOST_SEEDED = 10_000_000


class ClientAuth(StrEnum):
    """Whether TLS wants clients to have a certificate."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


class StartByDefault(DefaultGroup):
    """Starts a lab where no command is named."""

    default = START


app = typer.Typer(
    cls=StartByDefault,
    help="Run a Kafka cluster in one process, for tests.",
    epilog=f"{EXAMPLES.partition(BLANK)[0]}{BLANK}\b\nOptions: kdiag lab start --help",
    add_completion=False,
    rich_markup_mode=None,
)
app.add_typer(faults_app, name="fault")
app.command("proxy", cls=CommandPage, epilog=PROXY_EXAMPLES)(proxy)
app.command("run", cls=CommandPage, epilog=RUN_EXAMPLES)(run_scenarios)
app.add_typer(scenarios_app, name="scenarios")


@app.command(START, cls=CommandPage, epilog=EXAMPLES)
def start(  # noqa: PLR0913 - a parameter for each option
    *,
    topics: Annotated[
        list[NewTopic] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="NAME[:PARTITIONS[:REPLICAS]]",
            help="Have this topic from the beginning. Repeatable.",
            parser=read_topic,
        ),
    ] = None,
    nodes: Annotated[
        int, typer.Option("--nodes", help="How many brokers; they replicate.", callback=check_nodes)
    ] = 1,
    port: Annotated[
        int, typer.Option("--port", help="Listen on this port; 0 is any that is free.")
    ] = 0,
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Listen on this address, and send it to clients. Not protected."
        ),
    ] = LOOPBACK,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Keep topics and records in this folder.", file_okay=False),
    ] = None,
    as_version: Annotated[
        str,
        typer.Option(
            "--as-version", metavar="RELEASE", help="Speak as this release of Kafka, as in 2.8."
        ),
    ] = DEFAULT_RELEASE,
    listeners: Annotated[
        list[LabListener] | None,
        typer.Option(
            "--listener",
            metavar="PROTOCOL[:PORT]",
            help="Speak PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL. Repeatable.",
            parser=read_listener,
            rich_help_panel=ACCESS,
        ),
    ] = None,
    is_tls: Annotated[
        bool,
        typer.Option("--tls", help="The same as --listener SSL.", rich_help_panel=ACCESS),
    ] = False,
    client_auth: Annotated[
        ClientAuth,
        typer.Option(
            "--client-auth",
            help="Whether TLS wants a certificate of clients.",
            rich_help_panel=ACCESS,
        ),
    ] = ClientAuth.NONE,
    mechanisms: Annotated[
        list[str] | None,
        typer.Option(
            "--sasl-mechanism",
            metavar="NAME",
            help="Enable this SASL mechanism. Can be given more than once; default PLAIN and "
            "SCRAM. OAUTHBEARER must be named: it accepts unsigned tokens for any user.",
            parser=read_mechanism,
            rich_help_panel=ACCESS,
        ),
    ] = None,
    users: Annotated[
        Path | None,
        typer.Option(
            "--users",
            help="Names and passwords, NAME:PASSWORD a line; or in KDIAG_LAB_USERS.",
            dir_okay=False,
            rich_help_panel=ACCESS,
        ),
    ] = None,
    client_files: Annotated[
        Path | None,
        typer.Option(
            "--client-files",
            help="Write client.properties and certificates to this folder.",
            file_okay=False,
            rich_help_panel=ACCESS,
        ),
    ] = None,
    seed_records: Annotated[
        int,
        typer.Option(
            "--seed-records",
            metavar="N",
            min=0,
            max=MOST_SEEDED,
            help="Put so many records into every topic that is empty.",
        ),
    ] = 0,
    settings: Annotated[
        list[LabSetting] | None,
        typer.Option(
            "-X",
            metavar="KEY=VALUE",
            help="A setting of brokers, as in server.properties. Repeatable.",
            parser=read_setting,
        ),
    ] = None,
    pcap: Annotated[
        Path | None,
        typer.Option(
            "--pcap", metavar="FILE", help="Record the traffic, without TLS and passwords."
        ),
    ] = None,
    faults: FaultTexts = None,
    fault_files: FaultFiles = None,
    control_port: ControlPortNumber = None,
    output: Annotated[
        LabFormat, typer.Option("--output", "-o", help="Text, or events as JSON, one a line.")
    ] = LabFormat.TEXT,
) -> None:
    """Run Kafka brokers in this process, for clients and tests.

    It speaks Kafka's protocol until Ctrl-C. It listens on this machine only, unless --host says
    otherwise, and prints the bootstrap servers on stdout. Without --data everything is gone when it
    ends. Certificates for TLS, and settings for clients, are made when it starts.
    """
    run_lab(
        LabOptions(
            topics=tuple(topics or ()),
            host=host,
            port=port,
            folder=data,
            release=as_version,
            is_json=output is LabFormat.JSONL,
            listeners=check_listeners(listeners, is_tls=is_tls),
            mechanisms=tuple(mechanisms or CHECKED_MECHANISMS),
            users_file=users,
            client_auth=client_auth.value,
            client_folder=client_files,
            seed_count=seed_records,
            capture=pcap,
            settings=tuple(settings or ()),
            faults=(*(faults or ()), *read_fault_files(fault_files or [])),
            control_port=control_port,
            node_count=nodes,
        )
    )
