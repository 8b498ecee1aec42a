"""The options of commands that read captures, and what they amount to."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Annotated, Final, NamedTuple, NoReturn

import typer

from kdiag.pcap.encapsulation import NO_PORTS, UDP_TUNNELS

_DECODE_AS: Final = re.compile(r"udp:([0-9]{1,5})=([a-z-]+)")
_LARGEST_PORT: Final = 65_535

Ports = Annotated[
    list[int] | None,
    typer.Option(
        "--port",
        metavar="N",
        min=1,
        max=65535,
        help="Read this port as Kafka whatever the bytes are.",
    ),
]
TopicIds = Annotated[
    Path | None,
    typer.Option(
        "--topic-ids", metavar="FILE", help="Names of topic ids: lines of `topic-id name`."
    ),
]
KeyLogs = Annotated[
    list[Path] | None,
    typer.Option(
        "--keylog", metavar="FILE", help="TLS secrets (SSLKEYLOGFILE), to read what is inside."
    ),
]
SeparateNetworks = Annotated[
    bool,
    typer.Option(
        "--separate-networks",
        help="Keep the same addresses in other VLANs, VXLAN and Geneve networks apart.",
    ),
]
DecodeAs = Annotated[
    list[str] | None,
    typer.Option(
        "--decode-as",
        metavar="udp:PORT=NAME",
        help=f"Expect packets inside a UDP port: {', '.join(UDP_TUNNELS)}.",
    ),
]
EachInterface = Annotated[
    bool,
    typer.Option(
        "--each-interface",
        help="List a connection wherever it is seen, as before and after NAT; once by default.",
    ),
]
Promiscuous = Annotated[
    bool,
    typer.Option(
        "--promiscuous", help="With --live: also what is for other machines, as on a mirror port."
    ),
]
PacketFilter = Annotated[
    str | None,
    typer.Option(
        "--filter",
        metavar="BPF",
        help="With --live: only such packets, as tcpdump has it: 'tcp port 9092'.",
    ),
]
WithRecords = Annotated[
    bool, typer.Option("--values", help="Make the table records, which is what users wrote.")
]
WithTcp = Annotated[
    bool,
    typer.Option(
        "--tcp", help="Make the table tcp, which is what TCP did: round trips, losses, windows."
    ),
]
NoBodies = Annotated[
    bool, typer.Option("--no-bodies", help="Leave request_body and response_body empty.")
]


class CaptureInputs(NamedTuple):
    """Where packets come from, and how they are read.

    Attributes:
        files: captures, and folders of captures; `-` stands for stdin.
        live: the interface to capture from instead of reading files.
        write: the file that keeps what is captured; without `live`, what is chosen of the files.
        is_promiscuous: whether the interface also takes what is for other machines.
        filter: what the kernel lets pass, as pcap-filter(7) has it; None for everything.
        ports: those that carry Kafka whatever the bytes look like.
        keylogs: files with the secrets of TLS connections.
        topic_ids: the file with names of topic ids.
        separates_networks: whether the same addresses in other VLANs or VXLAN networks are others.
        tunnel_ports: UDP ports beside the registered ones, and what they carry.
        each_interface: whether a connection that is seen more than once is listed each time.
        max_frame_bytes: the largest frame that is believed; None for the decoder's own limit.
        max_waiting_bytes: how much of one direction may wait for bytes that are out of order or
            lost; None for the decoder's own limit.
        max_memory_bytes: how much all connections may hold together; None for the decoder's own.
    """

    files: Sequence[str] = ()
    live: str | None = None
    write: Path | None = None
    is_promiscuous: bool = False
    filter: str | None = None
    ports: AbstractSet[int] = frozenset()
    keylogs: Sequence[Path] = ()
    topic_ids: Path | None = None
    separates_networks: bool = False
    tunnel_ports: Mapping[int, str] = NO_PORTS
    each_interface: bool = False
    max_frame_bytes: int | None = None
    max_waiting_bytes: int | None = None
    max_memory_bytes: int | None = None


def capture_inputs(  # noqa: PLR0913 - a parameter for each option
    files: Sequence[str] = (),
    *,
    port: Sequence[int] | None,
    keylog: Sequence[Path] | None,
    separate_networks: bool,
    decode_as: Sequence[str] | None,
    each_interface: bool,
    topic_ids: Path | None = None,
) -> CaptureInputs:
    """Return what the options that all readers of captures have amount to.

    Raises:
        typer.BadParameter: as `read_decode_as`.
    """
    return CaptureInputs(
        files=files,
        ports=frozenset(port or ()),
        keylogs=keylog or (),
        topic_ids=topic_ids,
        separates_networks=separate_networks,
        tunnel_ports=read_decode_as(decode_as),
        each_interface=each_interface,
    )


def read_decode_as(choices: Sequence[str] | None) -> dict[int, str]:
    """Return the names of tunnels by UDP port.

    Args:
        choices: such as `udp:8473=vxlan`.

    Raises:
        typer.BadParameter: one is not of that form, or contradicts another.
    """
    ports: dict[int, str] = {}
    for choice in choices or ():
        match = _DECODE_AS.fullmatch(choice)
        if match is None or not 0 < int(match[1]) <= _LARGEST_PORT:
            _refuse(f"{choice!r} is not udp:PORT=NAME, such as udp:8473=vxlan")
        port, name = int(match[1]), match[2]
        if name not in UDP_TUNNELS:
            _refuse(f"{choice!r}: there are {', '.join(UDP_TUNNELS)}")
        if ports.setdefault(port, name) != name:
            _refuse(f"UDP port {port} cannot be both {ports[port]} and {name}")
    return ports


def _refuse(why: str) -> NoReturn:
    raise typer.BadParameter(why, param_hint="'--decode-as'")


class TableContents(NamedTuple):
    """The choices about the tables of captures.

    Attributes:
        bodies: whether they hold the bodies.
        records: whether there is a table of records.
        tcp: whether connections have the facts of TCP, and these a table.
        shows_secrets: whether passwords and tokens stay in the bodies.
        is_sorted: whether rows are ordered by time, which keeps everything in memory.
    """

    bodies: bool = True
    records: bool = False
    tcp: bool = False
    shows_secrets: bool = False
    is_sorted: bool = False
