"""What a program reads of a lab: a JSON document a line (`kdiag help output`).

{"event":"ready","schema":1,"bootstrap":"127.0.0.1:39211","nodes":[...],"pid":4711,...}
{"event":"status","schema":1,"requests":12,...}      when something changed, once a second
{"event":"warning","schema":1,"message":"..."}
{"event":"stopped","schema":1}
"""

import os
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.broker.lab_status import LabStatus
from kdiag.lab.fault.fault_book import ListedFault, fault_document
from kdiag_cli.commands.lab.access import LabAccess
from kdiag_cli.commands.lab.faults.options import OpenControl
from kdiag_cli.commands.lab.options import LabOptions
from kdiag_cli.output.json_text import print_json
from kdiag_cli.output.terminal import Output


class EventPrinter:
    """Prints events; from any thread."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._lock = Lock()
        self._last: LabStatus | None = None

    def __repr__(self) -> str:
        return "<EventPrinter>"

    def print_ready(
        self,
        lab: LabCluster,
        access: LabAccess,
        files: list[Path],
        options: LabOptions,
        control: OpenControl | None = None,
    ) -> None:
        """Print where the lab is, and how clients get in."""
        image = lab.controller.image
        listeners = [
            {
                "protocol": each.protocol,
                "bootstrap": lab.bootstrap_of(each.protocol),
                "client_properties": str(file),
            }
            for each, file in zip(access.listeners, files, strict=True)
        ]
        self._print(
            "ready",
            bootstrap=lab.bootstrap,
            nodes=[
                {"node_id": node.node_id, "host": options.host, "port": node.port}
                for node in lab.nodes
            ],
            pid=os.getpid(),
            cluster_id=image.cluster_id,
            release=options.release,
            listeners=listeners,
            control=control and control.address,
            control_token=control and str(control.token_file),
            topics=[
                {"topic": name, "partitions": len(topic.partitions)}
                for name, topic in sorted(image.topics.items())
            ],
        )

    def print_status(self, status: LabStatus) -> None:
        """Print what goes on, if that is not as it was."""
        if status != self._last:
            self._last = status
            groups = [each._asdict() for each in status.groups]
            self._print("status", **(status._asdict() | {"groups": groups}))

    def print_warning(self, message: str) -> None:
        """Print a line of the log."""
        self._print("warning", message=message)

    def print_stopped(self, faults: list[ListedFault] | None = None) -> None:
        """Print that it ends, and what faults did if there could be some."""
        told = {"faults": [fault_document(each) for each in faults]} if faults else {}
        self._print("stopped", **told)

    def _print(self, event: str, **fields: Any) -> None:
        document = {"event": event, "schema": 1, **fields}
        with self._lock:
            print_json(self._output, msgspec.json.encode(document), is_line=True)
            self._output.flush()
