"""Commands with a time limit, one of whose brokers hangs: what is known is printed."""

import re
from collections.abc import Iterator
from typing import Final

import pytest

from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.describe_quorum import DescribeQuorumResponse
from programs.kdiag_program import Done, kdiag
from scripted_kafka.coordinating_cluster import coordinating_cluster
from scripted_kafka.scripted_broker import HOLD
from scripted_kafka.scripted_cluster import ScriptedCluster
from tiers.attempts import measure_again

KNOWN: Final = {
    "check": (3, "broker 2 at 127.0.0.1", "accepts connections but says nothing"),
    "api-versions -a Fetch": (8, "1\tFetch\t0-18", "KD3007: broker 3"),
    "request ListGroups --to all": (8, '"groupId": "orders"', "broker 3 (127.0.0.1"),
    "find-coordinator orders": (8, "orders\t", "KD3007: broker 3"),
    "find-coordinator --moves": (8, "2\t127.0.0.1", "did not answer the ApiVersions"),
    "groups": (8, "orders\tconsumer\tStable", "KD3413: broker 3"),
    "tune-buffers --no-prove": (8, "1\t127.0.0.1", "accepts connections but says nothing"),
}
"""Exit code, a result of a broker that answers, and what is said of the one that does not."""
ATTEMPTS: Final = 4
"""How often to look: half a second is little for a busy machine."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[ScriptedCluster]:
    """Three brokers, the last of which takes connections and says nothing."""
    with coordinating_cluster(3) as brokers:
        brokers.on("DescribeCluster", DescribeClusterResponse())
        brokers.on("DescribeQuorum", DescribeQuorumResponse())
        brokers.brokers[3].on("ApiVersions", HOLD)
        yield brokers


def ask(cluster: ScriptedCluster, command: str) -> Done:
    """Run a command with little time, from a broker that answers."""
    bootstrap = f"127.0.0.1:{cluster.brokers[1].port}"
    return kdiag(*command.split(), "-b", bootstrap, "--timeout", "600ms")


@pytest.mark.thorough
@pytest.mark.parametrize("command", KNOWN)
def test_what_is_known_is_printed_and_what_is_missing_said(
    command: str, cluster: ScriptedCluster
) -> None:
    """Before the time is up, and nobody is told to change an address."""
    code, known, missing = KNOWN[command]

    def look() -> None:
        done = ask(cluster, command)
        assert done.code == code
        assert known in done.out
        assert missing in done.out + done.err
        assert "gave up" not in done.err
        assert "advertised.listeners" not in done.err

    measure_again(look, ATTEMPTS)


@pytest.mark.parametrize("command", ["api-versions --to 3", "request ListGroups --to 3"])
def test_if_nobody_else_is_asked_that_is_the_error(command: str, cluster: ScriptedCluster) -> None:
    """Named, with its own time."""

    def look() -> None:
        done = ask(cluster, command)
        assert (done.code, done.out) == (3, "")
        assert re.search(r"did not answer the ApiVersions request within 0\.[34]", done.err)

    measure_again(look, ATTEMPTS)


def test_a_request_that_is_not_answered_is_told_with_its_own_time(
    cluster: ScriptedCluster,
) -> None:
    """The broker answers others; so it is a timeout."""
    cluster.brokers[1].on("DescribeGroups", HOLD)

    def look() -> None:
        done = ask(cluster, "request DescribeGroups {} --to 1")
        assert done.code == 6
        assert re.search(r"no answer within 0\.[34]|did not answer .* within 0\.[34]", done.err)

    measure_again(look, ATTEMPTS)
