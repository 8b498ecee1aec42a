import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.fault.grammar import parse_fault
from kdiag_cli.commands.lab.proxy.run import ProxyOptions, run_proxy
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.live import LiveOptions
from programs.kdiag_program import kdiag, start_kdiag

FAULT = parse_fault("Metadata delay=1ms")


@pytest.fixture
def lab() -> Iterator[LabCluster]:
    """Return a lab with a topic."""
    with LabCluster(LabSettings(topics=(NewTopic("orders", 2),))) as running:
        yield running


@pytest.mark.thorough
def test_it_relays_until_it_is_interrupted(lab: LabCluster, tmp_path: Path) -> None:
    """It says where it is, what faults did, and how much has passed."""
    path = tmp_path / "proxy.pcapng"
    fault = ("--fault", FAULT.text, "--pcap", path)
    pipe = subprocess.PIPE
    with start_kdiag(
        "lab", "proxy", "-b", lab.bootstrap, *fault, stdout=pipe, stderr=pipe
    ) as process:
        assert process.stdout is not None
        bootstrap = process.stdout.readline().decode().strip().partition("=")[2]
        answer = kdiag("request", "Metadata", '{"topics":null}', "-b", bootstrap, "-o", "json")
        assert bootstrap.rpartition(":")[2] in answer.out
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert f"proxy: broker 1 at {lab.bootstrap} is {bootstrap}".encode() in err
    assert b"fault Metadata delay=1ms: seen " in err
    assert b"requests have passed" in err
    assert "Metadata" in kdiag("decode", path).out


def test_a_program_reads_events(lab: LabCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """From its start to its end."""
    stop = Event()
    stop.set()
    options = ProxyOptions("127.0.0.1", faults=(FAULT,), control_port=0, is_json=True)
    live = LiveOptions(bootstrap_servers=[lab.bootstrap])
    assert run_proxy(options, live, stop) is ExitCode.DONE
    ready, stopped = map(json.loads, capsys.readouterr().out.splitlines())
    assert (ready["event"], ready["nodes"][0]["broker"]) == ("ready", lab.bootstrap)
    assert (stopped["event"], stopped["not_understood"]) == ("stopped", 0)
    assert stopped["faults"][0]["fault"] == FAULT.text


def test_what_keeps_it_from_starting_is_said(
    lab: LabCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its exit code."""
    port = lab.nodes[0].port
    nowhere = LiveOptions(bootstrap_servers=["127.0.0.1:1"])
    assert run_proxy(ProxyOptions("127.0.0.1"), nowhere) is ExitCode.CANNOT_CONNECT
    live = LiveOptions(bootstrap_servers=[lab.bootstrap])
    options = ProxyOptions("127.0.0.1", control_port=port)
    assert run_proxy(options, live) is ExitCode.USAGE
    assert run_proxy(ProxyOptions("127.0.0.1", port=port), live) is ExitCode.CANNOT_CONNECT
    assert "cannot listen" in capsys.readouterr().err
