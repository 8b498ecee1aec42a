import json

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.broker.lab_status import status_of
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag_cli.commands.lab.events import EventPrinter
from lab_ends.lab_client import LabClient
from programs.kdiag_program import Printed


def test_a_status_is_printed_when_it_changes() -> None:
    """With every number of it."""
    output = Printed()
    printer = EventPrinter(output)
    with LabCluster() as lab:
        for _ in range(3):
            printer.print_status(status_of(lab))
        with LabClient(lab.nodes[0].port) as client:
            client.ask(MetadataRequest(topics=[]), MetadataResponse, 12)
            printer.print_status(status_of(lab))
    printer.print_warning("a line")
    first, second, warning = (json.loads(line) for line in output.lines)
    assert {*first} == {
        "event",
        "schema",
        "nodes",
        "topics",
        "partitions",
        "under_replicated",
        "offline",
        "connections",
        "software",
        "requests",
        "bytes_in",
        "bytes_out",
        "replication_bytes",
        "groups",
        "waiting",
    }
    assert (first["requests"], second["requests"], second["connections"]) == (0, 1, 1)
    assert warning == {"event": "warning", "schema": 1, "message": "a line"}
