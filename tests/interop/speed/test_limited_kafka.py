"""Who limits a connection to a real Kafka, told from what tcpdump saw at the client's end.

Kafka stands behind a path of 20 ms; the client is librdkafka.
"""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import msgspec
import pytest

from client_ends.load_client import PROGRAM
from programs.child_program import ChildProgram
from programs.kdiag_program import kdiag
from real_kafka.wan_cluster import WanCluster

SMALL = 32 << 10
LARGE = "4194304"
TOPIC = "load"
BROKER_BUFFERS = ("socket.send.buffer.bytes", "socket.receive.buffer.bytes")
LEFT_ALONE = dict.fromkeys(BROKER_BUFFERS, "-1")
PRODUCER = {"batch.size": "1000000", "max.in.flight.requests.per.connection": "5"}
CONSUMER = {"fetch.message.max.bytes": LARGE, "queued.max.messages.kbytes": "100000"}
_TIMEOUT_S = 60
TRIES = 3


class Situation(NamedTuple):
    """What is done, and what is to be found.

    Attributes:
        verb: what the client does.
        limit: what limits it.
        rule_id: the finding.
        client: settings of the client.
        broker: settings of the broker.
        link: options of the link.
        megabytes: how much is moved.
        is_paused: whether the client is stopped most of the time.
    """

    verb: str
    limit: str
    rule_id: str
    client: Mapping[str, str] = {}
    broker: Mapping[str, str] = LEFT_ALONE
    link: tuple[str, ...] = ()
    megabytes: int = 6
    is_paused: bool = False


SITUATIONS = {
    "the broker's own receive buffer": Situation(
        "produce", "receive_buffer", "KD6002", broker=LEFT_ALONE | {BROKER_BUFFERS[1]: str(SMALL)}
    ),
    "a small send buffer of the producer": Situation(
        "produce", "send_buffer", "KD6004", {"socket.send.buffer.bytes": str(SMALL)}
    ),
    "one small batch at a time": Situation(
        "produce",
        "application",
        "KD6007",
        {"batch.size": "16384", "max.in.flight.requests.per.connection": "1"},
        megabytes=1,
    ),
    "loss": Situation("produce", "network", "KD6005", link=("--lose-every", "50"), megabytes=3),
    "window scaling stripped": Situation(
        "produce", "window_scaling", "KD6001", link=("--strip-window-scale",)
    ),
    "the broker's own send buffer": Situation(
        "consume", "send_buffer", "KD6004", broker=LEFT_ALONE | {BROKER_BUFFERS[0]: str(SMALL)}
    ),
    "a small receive buffer of the consumer": Situation(
        "consume", "receive_buffer", "KD6002", {"socket.receive.buffer.bytes": str(SMALL)}
    ),
    "a consumer that hardly gets to run": Situation(
        "consume", "reader", "KD6003", megabytes=8, is_paused=True
    ),
}


@pytest.fixture(scope="module")
def get_wan(make_wan_cluster: Callable[..., WanCluster]) -> Iterator[Callable[..., WanCluster]]:
    """Yield a function from options of the link and the broker's settings to a running Kafka."""
    with ExitStack() as running:

        @cache
        def get(link: tuple[str, ...], broker: tuple[tuple[str, str], ...]) -> WanCluster:
            options = ("--delay-ms", "10", *link)
            wan = make_wan_cluster("4.3.1", *options, properties=dict(broker))
            running.enter_context(wan)
            for end in ("client", "broker"):
                wan.network.set_congestion_control(end, "reno")
            return wan

        yield get


@pytest.mark.soak
@pytest.mark.parametrize("name", SITUATIONS)
def test_the_side_that_limits_a_real_broker_s_connection_is_named(
    name: str, get_wan: Callable[..., WanCluster], tmp_path: Path
) -> None:
    """The busiest connection of the capture has the limit that was made."""
    situation = SITUATIONS[name]
    told: list[tuple[str, set[str]]] = []
    # The link is a program: on a busy machine it comes late, and the network is rightly named.
    while len(told) < TRIES and (not told or told[-1][0] != situation.limit):
        wan = get_wan(situation.link, tuple(situation.broker.items()))
        told.append(judged(situation, wan, tmp_path / f"{len(told)}.pcap"))

    assert told[-1][0] == situation.limit, told
    assert situation.rule_id in told[-1][1]


def judged(situation: Situation, wan: WanCluster, capture: Path) -> tuple[str, set[str]]:
    """Make a situation; return what limits its busiest connection, and all findings."""
    if situation.verb == "consume":
        subprocess.run(
            wan.network.command("broker", load(wan, "produce", situation.megabytes, PRODUCER)),
            check=True,
        )
    with wan.network.recording({"client": capture}):
        run(wan, situation)
    found = msgspec.json.decode(kdiag("tune-buffers", capture, "-o", "json").out)
    way = "requests" if situation.verb == "produce" else "responses"
    limit = busiest(found["data"])["limits"][way]["limit"]
    return limit, {each["id"] for each in found["findings"]}


def load(wan: WanCluster, verb: str, megabytes: int, settings: Mapping[str, str]) -> list[str]:
    """Return the command of a client."""
    pairs = [f"{key}={value}" for key, value in settings.items()]
    size = str(megabytes * 1_000_000)
    return [sys.executable, str(PROGRAM), verb, wan.bootstrap, TOPIC, size, *pairs]


def run(wan: WanCluster, situation: Situation) -> None:
    """Have the client do its work."""
    usual = PRODUCER if situation.verb == "produce" else CONSUMER
    command = load(wan, situation.verb, situation.megabytes, {**usual, **situation.client})
    command = wan.network.command("client", command)
    with ChildProgram(command, stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == b"begun\n"
        while situation.is_paused and client.poll() is None:
            for number, time_s in ((signal.SIGSTOP, 0.09), (signal.SIGCONT, 0.01)):
                client.send_signal(number)
                Event().wait(time_s)
        assert client.wait(_TIMEOUT_S) == 0


def busiest(paths: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the connection with the most bytes."""
    return max(
        paths, key=lambda path: path["tcp"]["requests"]["bytes"] + path["tcp"]["responses"]["bytes"]
    )
