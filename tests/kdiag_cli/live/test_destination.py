"""Sessions with the nodes that `--to` names."""

import json

import pytest
import typer

from kdiag.errors import ConnectError, Fault
from kdiag.probe.destination import Destination, Nodes, Way, parse_destination
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live.destination import destination_session, read_destination, report_nowhere
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.result import ResultFormat
from scripted_kafka.scripted_broker import offering
from scripted_kafka.scripted_cluster import ScriptedCluster


def test_a_session_knows_as_much_as_its_destination_needs() -> None:
    """Bootstrap servers are asked without Metadata."""
    with ScriptedCluster(2) as cluster:
        options = LiveOptions([cluster.bootstrap])
        with destination_session(parse_destination("all"), options) as client:
            assert [each.id for each in client.brokers] == [1, 2]
        with destination_session(parse_destination("bootstrap"), options) as client:
            assert list(client.cluster.brokers) == [-1, -2]


def test_who_meets_a_controller_is_told_how_to_ask_it() -> None:
    """It has no Metadata; any other failure keeps its own words."""
    with ScriptedCluster(1) as cluster:
        cluster.on("ApiVersions", offering(Metadata=(0, -1)))
        options = LiveOptions([cluster.bootstrap])
        with (
            pytest.raises(ConnectError) as raised,
            destination_session(parse_destination("any"), options),
        ):
            pass
    assert raised.value.fault is Fault.CONTROLLER
    assert raised.value.fix.endswith("; or ask the controller itself, with --to bootstrap")
    with (
        pytest.raises(ConnectError) as raised,
        destination_session(parse_destination("any"), LiveOptions(["localhost:1"])),
    ):
        pass
    assert "--to" not in raised.value.fix


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (None, ExitCode.USAGE),
        ("UNKNOWN_TOPIC_OR_PARTITION", ExitCode.FINDINGS),
        ("GROUP_AUTHORIZATION_FAILED", ExitCode.NOT_AUTHORIZED),
    ],
)
def test_nobody_to_ask_is_told(
    error: str | None, code: ExitCode, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broker that does not exist is the user's mistake, the rest is the cluster's."""
    assert report_nowhere("request", Nodes([], "nobody", error), ResultFormat.TABLE) is code
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "kdiag: nobody\n")


def test_programs_are_told_in_the_document(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """As a warning, beside data that is empty."""
    report_nowhere("request", Nodes([], "nobody"), ResultFormat.JSON)
    document = json.loads(capsysbinary.readouterr().out)
    assert (document["data"], document["warnings"]) == ([], ["nobody"])


def test_a_destination_is_read() -> None:
    """What is none is a usage error."""
    assert read_destination("leader:orders:0") == Destination(Way.LEADER, "orders", 0)
    with pytest.raises(typer.BadParameter, match="is not a destination"):
        read_destination("nowhere")
