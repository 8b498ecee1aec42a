"""The options of commands that read captures, and what they amount to."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

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
        help="Tell the same addresses in other VLANs, VXLAN and Geneve networks apart.",
    ),
]
WithRecords = Annotated[
    bool, typer.Option("--values", help="Make the table records, which is what users wrote.")
]
NoBodies = Annotated[
    bool, typer.Option("--no-bodies", help="Leave request_body and response_body empty.")
]


class CaptureInputs(NamedTuple):
    """Where packets come from, and how they are read.

    Attributes:
        files: captures, and folders of captures; `-` stands for stdin.
        live: the interface to capture from instead of reading files.
        write: the file that keeps what is captured.
        ports: those that carry Kafka whatever the bytes look like.
        keylogs: files with the secrets of TLS connections.
        topic_ids: the file with names of topic ids.
        separates_networks: whether the same addresses in other VLANs or VXLAN networks are others.
        max_frame_bytes: the largest frame that is believed; None for the decoder's own limit.
        max_waiting_bytes: how much of one direction may wait for bytes that are out of order or
            lost; None for the decoder's own limit.
    """

    files: Sequence[str] = ()
    live: str | None = None
    write: Path | None = None
    ports: AbstractSet[int] = frozenset()
    keylogs: Sequence[Path] = ()
    topic_ids: Path | None = None
    separates_networks: bool = False
    max_frame_bytes: int | None = None
    max_waiting_bytes: int | None = None


class TableContents(NamedTuple):
    """The choices about the tables of captures.

    Attributes:
        bodies: whether they hold the bodies.
        records: whether there is a table of records.
        tcp: whether connections have the facts of TCP.
        shows_secrets: whether passwords and tokens stay in the bodies.
        is_sorted: whether rows are ordered by time, which keeps everything in memory.
    """

    bodies: bool = True
    records: bool = False
    tcp: bool = False
    shows_secrets: bool = False
    is_sorted: bool = False
