import json
import logging
import signal
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from threading import Event

import pytest
import typer

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.fault.grammar import parse_fault
from kdiag.lab.security.users import MECHANISMS
from kdiag_cli.commands.lab.options import LabListener, LabOptions
from kdiag_cli.commands.lab.run import SEEDED, run_lab
from lab_ends.lab_client import LabClient
from programs.kdiag_program import Screen, kdiag, start_kdiag

OPTIONS = LabOptions((NewTopic("orders", 2),), "127.0.0.1", 0, None, "4.3", is_json=False)


def run(options: LabOptions) -> tuple[str, str]:
    """Return stdout and stderr of a lab that ends at once."""
    out, err = Screen(is_terminal=False), Screen(is_terminal=False)
    stop = Event()
    stop.set()
    with redirect_stdout(out), redirect_stderr(err):
        run_lab(options, stop)
    return out.text, err.text


@pytest.fixture
def lab() -> Iterator[LabCluster]:
    """Return a lab with a topic of two partitions."""
    with LabCluster(LabSettings(topics=(NewTopic("orders", 2),))) as running:
        yield running


def test_it_prints_where_it_is() -> None:
    """On stdout as a setting, the rest on stderr."""
    out, err = run(OPTIONS)
    assert out.startswith("bootstrap.servers=127.0.0.1:")
    assert "one broker, as Kafka 4.3, data in a temporary folder" in err


def test_events_are_json_a_line() -> None:
    """From its start to its end."""
    out, err = run(OPTIONS._replace(is_json=True))
    ready, stopped = (json.loads(line) for line in out.splitlines())
    assert (ready["event"], ready["schema"], ready["release"]) == ("ready", 1, "4.3")
    assert ready["topics"] == [{"topic": "orders", "partitions": 2}]
    (node,) = ready["nodes"]
    assert ready["bootstrap"] == f"{node['host']}:{node['port']}"
    assert stopped == {"event": "stopped", "schema": 1}
    assert err == ""


SASL = OPTIONS._replace(listeners=(LabListener("SASL_PLAINTEXT"), LabListener("PLAINTEXT")))


@pytest.mark.parametrize("mechanisms", [("OAUTHBEARER",), ("PLAIN", "OAUTHBEARER")])
def test_a_mechanism_that_checks_nothing_is_a_warning(mechanisms: tuple[str, ...]) -> None:
    """With the address where any client can log in as any user; to a program it is an event."""
    out, err = run(SASL._replace(mechanisms=mechanisms))
    bootstrap = out.split()[0].removeprefix("bootstrap.servers=")
    (line,) = (line for line in err.splitlines() if "warning" in line)
    assert f"OAUTHBEARER at {bootstrap} checks nothing" in line
    out, err = run(SASL._replace(mechanisms=mechanisms, is_json=True))
    ready, warning, _ = (json.loads(line) for line in out.splitlines())
    assert (ready["event"], warning["event"], err) == ("ready", "warning", "")
    assert "log in as any user" in warning["message"]


@pytest.mark.parametrize(
    "options", [SASL, SASL._replace(mechanisms=("PLAIN",)), OPTIONS._replace(mechanisms=MECHANISMS)]
)
def test_mechanisms_that_check_or_are_not_asked_are_no_warning(options: LabOptions) -> None:
    """Those by default, one that is named, and any on a listener without SASL."""
    assert "warning" not in run(options)[1]


@pytest.mark.thorough
def test_a_program_hears_of_requests_and_of_warnings() -> None:
    """While it runs, each as an event."""
    with start_kdiag("lab", "-o", "jsonl", stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        bootstrap = json.loads(process.stdout.readline())["bootstrap"]
        with LabClient(int(bootstrap.partition(":")[2])) as client:
            client.send_frame(b"")
            assert client.receive_frame() == b""
        events = (json.loads(line) for line in process.stdout)
        found = {"status": 0, "warning": 0}
        while not all(found.values()):
            event = next(events)
            found[event["event"]] += event.get("requests", 1)
        process.send_signal(signal.SIGTERM)
        assert [each["event"] for each in events][-1:] == ["stopped"]


@pytest.mark.thorough
def test_records_are_there_when_it_is_ready() -> None:
    """In a topic of its own if none was asked for."""
    command = ("lab", "--seed-records", "50")
    with start_kdiag(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        bootstrap = process.stdout.readline().decode().partition("=")[2].strip()
        done = kdiag("tail", SEEDED.name, "-b", bootstrap, "--from-beginning", "-e")
        assert (done.code, len(done.out.splitlines())) == (0, 50)
        process.send_signal(signal.SIGTERM)
        process.communicate()


@pytest.mark.thorough
def test_its_traffic_is_recorded_until_it_is_interrupted(tmp_path: Path) -> None:
    """And the capture is whole."""
    path = tmp_path / "lab.pcapng"
    with start_kdiag("lab", "--pcap", path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        bootstrap = process.stdout.readline().decode().partition("=")[2].strip()
        kdiag("request", "Metadata", '{"topics":null}', "-b", bootstrap)
        process.send_signal(signal.SIGINT)
        process.communicate()
    done = kdiag("decode", path)
    assert done.code == 0
    assert "Metadata" in done.out


def test_what_keeps_it_from_starting_is_said(tmp_path: Path) -> None:
    """In one line, with exit code 2."""
    err = Screen(is_terminal=False)
    (tmp_path / "file").write_bytes(b"")
    for options, why in (
        (OPTIONS._replace(release="0.9"), "not a release"),
        (OPTIONS._replace(folder=tmp_path / "file" / "x"), "Not a directory"),
        (OPTIONS._replace(host="no.such.host.invalid"), "cannot listen there"),
        (OPTIONS._replace(topics=(NewTopic("a", 1, 3),)), "1 brokers run"),
    ):
        with redirect_stderr(err), pytest.raises(typer.Exit) as caught:
            run_lab(options)
        assert caught.value.exit_code == 2
        assert why in err.text


def test_warnings_are_said_and_nothing_is_logged_afterwards() -> None:
    """A line each."""
    before = logging.getLogger("kdiag").handlers[:]
    run(OPTIONS)
    assert logging.getLogger("kdiag").handlers == before


@pytest.mark.thorough
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    """Neither a process nor a folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with start_kdiag("lab", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"bootstrap.servers=")
        assert len(list(tmp_path.iterdir())) == 2
        process.send_signal(number)
        process.communicate()
    assert process.returncode == code
    assert list(tmp_path.iterdir()) == []


def test_kdiag_itself_is_a_client_of_it(lab: LabCluster) -> None:
    """It checks the way, asks for versions, and sends requests."""
    checked = kdiag("check", "-b", lab.bootstrap, "-o", "json")
    assert checked.code == 0
    versions = kdiag("api-versions", "-b", lab.bootstrap)
    assert "DescribeTopicPartitions" in versions.out
    answer = kdiag("request", "Metadata", '{"topics":null}', "-b", lab.bootstrap)
    assert json.loads(answer.out)["topics"][0]["name"] == "orders"


@pytest.mark.thorough
def test_faults_are_added_while_it_runs() -> None:
    """By the control port; at the end it is told what they did."""
    command = ("lab", "--fault", "Metadata delay=1ms", "--control-port", "0")
    pipe = subprocess.PIPE
    with start_kdiag(*command, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().decode().strip().partition("=") for _ in range(2)]
        (_, _, bootstrap), (_, _, control) = lines
        kdiag("lab", "fault", "add", "ApiVersions delay=1ms", "--control", control)
        kdiag("request", "Metadata", '{"topics":null}', "-b", bootstrap)
        listed = kdiag("lab", "fault", "--no-headers", "--control", control).out
        assert [line.split("\t")[2] != "0" for line in listed.splitlines()] == [True, True]
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate()
    assert b"fault Metadata delay=1ms: seen " in err


def test_a_program_hears_what_faults_did() -> None:
    """In the last event."""
    fault = parse_fault("Fetch delay=1s")
    out, _ = run(OPTIONS._replace(is_json=True, faults=(fault,), control_port=0))
    ready, stopped = (json.loads(line) for line in out.splitlines())
    assert ready["control"].startswith("127.0.0.1:")
    assert ready["control_token"].endswith("/control.token")
    assert [each["fault"] for each in stopped["faults"]] == ["Fetch delay=1s"]


def test_several_brokers_are_told() -> None:
    """Each where it listens."""
    out, err = run(OPTIONS._replace(node_count=3, topics=(NewTopic("orders", 2, 3),)))
    assert out.count("127.0.0.1:") == 3
    assert "lab: 3 brokers, as Kafka 4.3" in err
