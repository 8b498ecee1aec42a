"""Servers that are of no use to live commands, and how each command ends.

One line on stderr says why, with what to do; no table is begun, and no topic made.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from client_ends.client_peers import closed_port, full_server, silent_server
from kdiag.wire.api.metadata import MetadataResponse
from programs.complaint import complaint
from programs.kdiag_program import kdiag
from scripted_kafka.foreign_server import (
    CUT_SHORT,
    HTTP,
    SERVER_HELLO,
    TOO_LONG,
    hanging_up,
    saying,
)
from scripted_kafka.scripted_broker import CLOSE, HOLD, RESET, Reply, ScriptedBroker
from tiers.attempts import measure_again
from tiers.cases import for_each

COMMANDS: Final = (
    "check",
    "check --quick",
    "check -t orders -g billing",
    "api-versions",
    "api-versions --features",
    "api-versions --to 1",
    "request Metadata",
    "request ListGroups --to all",
    "request ListGroups --to coordinator:g",
    "groups",
    "groups g --watch",
    "txn",
    "find-coordinator g",
    "find-coordinator --moves",
    "find-coordinator g --watch",
    "tail orders -e",
    "tail orders",
    "latency",
    "latency -t orders --read-only",
    "tune-buffers",
    "tune-buffers --prove",
)


@contextmanager
def nobody() -> Iterator[int]:
    """Yield a port where nobody listens."""
    yield closed_port()


@contextmanager
def broker(**replies: Reply) -> Iterator[int]:
    """Yield the port of a broker that answers ApiVersions, and these."""
    with ScriptedBroker() as scripted:
        for name, reply in replies.items():
            scripted.on(name, reply)
        yield scripted.port
        assert not scripted.asked("CreateTopics")


class End(NamedTuple):
    """A server, and what is said of it by `check` and by the others."""

    server: Callable[[], AbstractContextManager[int]]
    finding: str
    words: str


ENDS: Final = {
    "refuses": End(nobody, "KD1101", "connection refused"),
    "drops packets": End(full_server, "KD1102", "packets are dropped"),
    "hangs up": End(hanging_up, "KD1408", "does not answer a TLS handshake either"),
    "wants TLS": End(lambda: hanging_up(SERVER_HELLO), "KD1401", "the port speaks TLS"),
    "is a web server": End(lambda: saying(HTTP), "KD1403", "a web server answered"),
    "says hello in TLS": End(lambda: saying(SERVER_HELLO), "KD1401", "began a TLS handshake"),
    "lies about lengths": End(lambda: saying(TOO_LONG), "KD1404", "a frame's length"),
    "cuts short": End(lambda: saying(CUT_SHORT), "KD1404", "announced 1048576 bytes"),
    "is silent": End(silent_server, "KD1402", "did not answer the ApiVersions request"),
    "holds Metadata": End(lambda: broker(Metadata=HOLD), "KD1402", "did not answer Metadata"),
    "closes": End(lambda: broker(Metadata=CLOSE), "KD1304", "closed the connection during"),
    "resets": End(lambda: broker(Metadata=RESET), "KD1304", "reset the connection during"),
}

MUTE: Final = ("drops packets", "cuts short", "is silent", "holds Metadata")
"""Those that are waited for."""
ATTEMPTS: Final = 4
"""How often to wait: a second is little for a busy machine."""
SOON: Final = [each for each in ENDS if each not in MUTE]


@pytest.mark.thorough
@for_each("command", COMMANDS)
@for_each("end", SOON)
def test_a_server_that_is_of_no_use_is_told_in_one_line(
    end: str, command: str, folder: Path
) -> None:
    """With exit code 3, long before the time is up."""
    check(end, command, "10s")
    assert folder.is_dir()


@pytest.mark.thorough
@pytest.mark.sampled(6)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("end", MUTE)
def test_a_server_that_does_not_answer_is_told_in_one_line(
    end: str, command: str, folder: Path
) -> None:
    """With exit code 3, just before the time is up."""
    measure_again(lambda: check(end, command, "800ms"), ATTEMPTS)
    assert folder.is_dir()


def check(end: str, command: str, time: str) -> None:
    """Run a command against such a server, and look how it ends."""
    server, finding, words = ENDS[end]
    with server() as port:
        done = kdiag(*command.split(), "-b", f"127.0.0.1:{port}", "--timeout", time)
    assert done.code == 3
    line = complaint(done)
    if command.startswith("check"):
        assert f"error {finding}: " in line
    else:
        assert words in line
        assert done.out == ""
    assert str(port) in line


@pytest.mark.thorough
@for_each("end", ENDS)
def test_a_plugin_ends_with_its_own_code_and_one_line(end: str) -> None:
    """On stdout, where those who call it read."""
    with ENDS[end].server() as port:
        done = kdiag("check", "--nagios", "-b", f"127.0.0.1:{port}", "--timeout", "800ms")
    assert (done.code, done.err) == (2, "")
    assert done.out.startswith(f"KAFKA CRITICAL - {ENDS[end].finding} ")
    assert len(done.out.splitlines()) == 1


@pytest.mark.parametrize("command", ["api-versions", "request ListGroups --to all"])
def test_a_cluster_without_brokers_is_told(command: str) -> None:
    """There is nobody to ask."""
    with broker(Metadata=MetadataResponse()) as port:
        done = kdiag(*command.split(), "-b", f"127.0.0.1:{port}")
    assert done.code == 1
    assert "the cluster names no broker" in complaint(done)


@pytest.mark.thorough
@for_each("command", COMMANDS)
def test_an_unknown_host_is_told_in_one_line(command: str, folder: Path) -> None:
    """A name of the domain that is kept for that."""
    done = kdiag(*command.split(), "-b", "no-such-host.invalid:9092", "--timeout", "2s")
    assert done.code == 3
    assert "no-such-host.invalid" in complaint(done)
    assert folder.is_dir()
