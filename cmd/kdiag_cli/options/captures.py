"""The options that commands have which read captures."""

from pathlib import Path
from typing import Annotated

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
        help="Tell the same addresses in other VLANs and VXLAN networks apart.",
    ),
]
WithRecords = Annotated[
    bool, typer.Option("--values", help="Make the table records, which is what users wrote.")
]
NoBodies = Annotated[
    bool, typer.Option("--no-bodies", help="Leave request_body and response_body empty.")
]
