"""Live commands that are interrupted, or that cannot write: as processes of their own."""

import signal
import subprocess
from collections.abc import Iterator
from typing import Final

import pytest

from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.describe_quorum import DescribeQuorumResponse
from programs.kdiag_program import COMMAND, start_kdiag
from scripted_kafka.coordinating_cluster import coordinating_cluster
from scripted_kafka.loaded_cluster import LoadedCluster
from scripted_kafka.scripted_broker import HOLD, ScriptedBroker
from scripted_kafka.scripted_cluster import ScriptedCluster

pytestmark = pytest.mark.thorough

WAITING: Final = (
    "check",
    "api-versions",
    "request ListGroups",
    "groups g",
    "txn",
    "find-coordinator g",
    "find-coordinator g --watch",
    "find-coordinator --moves",
    "tail orders",
    "latency",
    "tune-buffers --prove",
)
PRINTING: Final = (
    "check",
    "check --nagios",
    "check -o json",
    "api-versions",
    "api-versions -o csv",
    "request ListGroups --to 1",
    "groups --type share",
    "find-coordinator orders",
    "find-coordinator --moves",
    "tune-buffers --no-prove",
)
HANGUP: Final = pytest.param(
    signal.SIGHUP,
    marks=pytest.mark.skipif(
        signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, reason="stays ignored, as under nohup"
    ),
)
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, HANGUP)
FULL: Final = "kdiag: standard output cannot be written: No space left on device\n"


@pytest.fixture(scope="module")
def cluster() -> Iterator[ScriptedCluster]:
    """Two brokers that answer all that these commands ask."""
    with coordinating_cluster(2) as brokers:
        brokers.on("DescribeCluster", DescribeClusterResponse())
        brokers.on("DescribeQuorum", DescribeQuorumResponse())
        yield brokers


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("command", WAITING)
def test_a_signal_ends_a_command_that_waits_for_a_broker(
    command: str, number: signal.Signals
) -> None:
    """At once, with the code of the signal, and without blaming the broker."""
    with ScriptedBroker() as broker:
        broker.on("Metadata", HOLD)
        arguments = (*command.split(), "-b", f"127.0.0.1:{broker.port}")
        pipe = subprocess.PIPE
        with start_kdiag(*arguments, stdout=pipe, stderr=pipe) as program:
            broker.wait_for("Metadata")
            program.send_signal(number)
            out, err = program.communicate(timeout=60)
        assert (program.returncode, out, err) == (128 + number, b"", b"")
        assert not broker.asked("CreateTopics")


@pytest.mark.parametrize("number", [signal.SIGTERM, HANGUP], ids=lambda number: number.name)
def test_a_signal_leaves_no_topic_behind(number: signal.Signals) -> None:
    """In the middle of a run; what was measured is printed."""
    with LoadedCluster() as loaded:
        quick = ("--prove", "--sizes", "32k,auto", "--rounds", "100", "--seconds", "0.1")
        arguments = ("tune-buffers", "-b", loaded.bootstrap, *quick)
        pipe = subprocess.PIPE
        with start_kdiag(*arguments, stdout=pipe, stderr=pipe) as program:
            loaded.brokers[1].wait_for("Produce", 5)
            program.send_signal(number)
            out, err = program.communicate(timeout=60)
        assert program.returncode == 128 + number
        assert b"NODE-ID" in out
        assert b"Traceback" not in err
        assert loaded.topics == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", PRINTING)
def test_a_live_command_whose_output_cannot_be_written_says_so(
    command: str, cluster: ScriptedCluster
) -> None:
    """In one line; it is wrong usage, not a finding."""
    program = ["sh", "-c", 'exec "$@" >/dev/full', "sh", *COMMAND, *command.split()]
    done = subprocess.run(
        [*program, "-b", cluster.bootstrap], stderr=subprocess.PIPE, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, FULL)
