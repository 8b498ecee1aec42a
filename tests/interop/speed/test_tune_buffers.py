"""`kdiag tune-buffers` behind a delayed link, against Kafka's own tools at the same sizes.

With KDIAG_WAN_ROUNDS=5 it tries all sizes so often on four paths, which takes 40 minutes; else a
few sizes once on two.
"""

import json
import os
import random
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

import pytest

from client_ends.client_rate import PROGRAM
from programs.json_run import said, trusting
from programs.kdiag_program import COMMAND, kdiag
from real_kafka import releases
from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.perf_tools import RECORD_BYTES, PerfTools
from real_kafka.secure_cluster import Listener, SecureCluster
from real_kafka.wan_cluster import WanCluster
from tiers.attempts import measure_again
from tiers.sampling import SEED

pytestmark = pytest.mark.soak

ROUNDS: Final = int(os.environ.get("KDIAG_WAN_ROUNDS", "1"))
IS_WHOLE: Final = ROUNDS > 1
SIZES: Final = "64k,128k,1m,4m,auto" if IS_WHOLE else "64k,auto"
PROOF: Final = ("--rounds", str(max(3, ROUNDS)), "--seconds", "2" if IS_WHOLE else "0.7")
RUN_S: Final = 6 if IS_WHOLE else 4
NOISE: Final = 0.9 if IS_WHOLE else 0.8  # single runs differ by up to a fifth
KERNEL: Final = -1
USUAL: Final = 102400
ATTEMPTS: Final = 3
FEW_PATHS: Final = [(10, USUAL), (40, KERNEL)]
DRAWN_PATH: Final = random.Random(f"{SEED} paths").choice(FEW_PATHS)
MORE_PATHS: Final = [(10, KERNEL), (40, USUAL)]
PATHS: Final = [*FEW_PATHS, *MORE_PATHS] if IS_WHOLE else [DRAWN_PATH]
TOPIC: Final = "perf"
CLIENTS: Final = [("kafka-python", "produce"), ("librdkafka", "fetch")]

Best = dict[tuple[int, str, str], tuple[float, float]]
"""What is predicted and what is reached, in MB/s, by number, client and direction."""

Rates = dict[str, dict[int, list[float]]]
"""MB/s by direction and size of the client's buffers."""


@pytest.mark.bench
@pytest.mark.parametrize(("delay_ms", "broker_bytes"), PATHS)
def test_what_is_recommended_is_as_good_as_the_best_of_kafkas_own_tools(
    delay_ms: int,
    broker_bytes: int,
    make_wan_cluster: Callable[..., WanCluster],
    get_kafka_jars: Callable[[str], Path],
) -> None:
    """And what is predicted is what was measured, within a quarter."""
    sockets = ("socket.send.buffer.bytes", "socket.receive.buffer.bytes")
    properties = dict.fromkeys(sockets, str(broker_bytes))
    link = ("--delay-ms", str(delay_ms))
    with make_wan_cluster(releases.USUAL, *link, properties=properties) as wan:
        perf = PerfTools(wan, get_kafka_jars(releases.USUAL), TOPIC)
        best: Best = {}

        def compare() -> None:
            told = tune(wan)
            rates = brute_force(perf, told)
            clients = [client_rate(wan, told, *each) for each in CLIENTS]
            measured = {"told": told, "rates": rates, "clients": clients}
            print(json.dumps(measured))  # noqa: T201 - the table, for whoever looks
            recommended = told["recommendation"]

            assert told["path"]["rtt_ms"] == pytest.approx(2 * delay_ms, rel=0.1)
            assert told["broker_config"]["send_buffer_bytes"] == broker_bytes
            check_choice(rates["produce"], recommended["send_buffer_bytes"])
            check_choice(rates["fetch"], recommended["receive_buffer_bytes"])
            note_best(best, told, clients)
            for each, (predicted, reached) in best.items():
                assert predicted == pytest.approx(reached, rel=0.25), each

        measure_again(compare, ATTEMPTS)


def tune(wan: WanCluster) -> dict[str, Any]:
    """Return what kdiag tells of the broker."""
    options = ("--sizes", SIZES, *PROOF, "--max-bytes", "4G", "-o", "json")
    done = wan.run([*COMMAND, "tune-buffers", "-b", wan.bootstrap, *options])
    (broker,) = json.loads(done.stdout)["data"]
    assert isinstance(broker, dict)
    return broker


def brute_force(perf: PerfTools, told: dict[str, Any]) -> Rates:
    """Return what Kafka's tools reach with each size, in interleaved rounds."""
    sizes = list(dict.fromkeys(each["send_buffer_bytes"] for each in told["runs"]))
    rates: Rates = {"produce": defaultdict(list), "fetch": defaultdict(list)}
    for number in range(ROUNDS):
        first = number % len(sizes)
        for size in [*sizes[first:], *sizes[:first]]:
            large = ("batch.size=524288", "linger.ms=5")
            records = records_of(told, size)
            rates["produce"][size].append(
                perf.produce(records, f"send.buffer.bytes={size}", *large)
            )
            options = ("--socket-buffer-size", str(size), "--fetch-size", str(8 << 20))
            rates["fetch"][size].append(perf.consume(records, *options))
    return rates


def client_rate(wan: WanCluster, told: dict[str, Any], client: str, direction: str) -> float:
    """Return how fast a client goes with its defaults."""
    expected = ceiling_of(told, client, direction)["mb_per_s"]
    records = str(int(min(expected, 40) * 1_000_000 * RUN_S / RECORD_BYTES))
    command = [sys.executable, str(PROGRAM), client, wan.bootstrap, TOPIC, records]
    return float(wan.run(command).stdout)


def ceiling_of(told: dict[str, Any], client: str, direction: str) -> dict[str, Any]:
    """Return what is predicted of a client with its defaults."""
    found: dict[str, Any] = next(
        each
        for each in told["ceilings"]
        if (each["client"], each["direction"]) == (client, direction)
    )
    return found


def records_of(told: dict[str, Any], size: int) -> int:
    """Return how many records a run needs to last long enough, by what kdiag has measured."""
    expected = max(
        each["mb_per_s"]
        for each in told["runs"]
        if each["send_buffer_bytes"] == size and each["load"] == "full"
    )
    return int(min(expected, 40) * 1_000_000 * RUN_S / RECORD_BYTES)


def check_choice(rates: dict[int, list[float]], size: int) -> None:
    """Check that a size is as good as the best: in the median, or within the spread."""
    best = max(rates, key=lambda each: median(rates[each]))
    is_near = median(rates[size]) >= NOISE * median(rates[best])
    is_overlapping = max(rates[size]) >= min(rates[best])

    assert is_near or is_overlapping, (size, rates)


def note_best(best: Best, told: dict[str, Any], clients: list[float]) -> None:
    """Note the ceilings of clients with their defaults, and what they or runs like them reach.

    A machine that is busy lowers both, so the highest of all attempts counts.
    """
    runs = {
        (each["direction"], each["load"], each["send_buffer_bytes"]): each["mb_per_s_high"]
        for each in told["runs"]
    }
    pairs = [
        ("java", "produce", runs["produce", "client_defaults", KERNEL]),
        ("java", "fetch", runs["fetch", "full", 65536]),
        ("librdkafka", "produce", runs["produce", "full", KERNEL]),
        ("librdkafka", "fetch", runs["fetch", "client_defaults", KERNEL]),
        *((*each, rate) for each, rate in zip(CLIENTS, clients, strict=True)),
    ]
    for number, (client, direction, reached) in enumerate(pairs):
        ceiling = ceiling_of(told, client, direction)
        if ceiling["bound_by"] != "rate":  # this machine may be slower than the rate
            key = number, client, direction
            before = best.get(key, (0.0, 0.0))
            best[key] = max(before[0], ceiling["mb_per_s"]), max(before[1], reached)


def test_on_loopback_buffers_make_no_difference(
    get_kafka_jars: Callable[[str], Path], tmp_path: Path
) -> None:
    """A real broker is told so, and gets no topic."""
    get_kafka_jars(releases.USUAL)
    with KafkaCluster(releases.USUAL, tmp_path) as cluster:
        told = json.loads(kdiag("tune-buffers", "-b", cluster.bootstrap, "-o", "json").out)

    assert [each["id"] for each in told["findings"]] == ["KD6016"]
    assert told["data"][0]["runs"] == []


@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", [releases.OLDEST, releases.NEWEST])
def test_sizes_are_tried_with_tls_and_sasl_as_well(
    version: str,
    get_secure_cluster: Callable[[str], SecureCluster],
    log_in: Callable[..., list[str]],
) -> None:
    """In both directions, on connections that log in anew; the topic is gone afterwards."""
    cluster = get_secure_cluster(version)
    address = cluster.address(Listener.SASL_SSL)
    options = [*trusting(cluster, "SASL_SSL"), *log_in("alice", "SCRAM-SHA-512", "SASL_SSL")]
    quick = ("--prove", "--sizes", "64k,auto", "--rounds", "1", "--seconds", "0.3")

    done = kdiag("tune-buffers", "-b", address, *options, *quick, "-o", "json")

    assert done.code == 0, done
    (broker,) = json.loads(done.out)["data"]
    assert len(broker["runs"]) == 6
    assert min(each["mb_per_s"] for each in broker["runs"]) > 0.1
    assert broker["broker_config"]["message_max_bytes"] == 1048588
    topics = kdiag("request", "-b", address, "Metadata", *options, '{"topics": null}')
    assert topics.code == 0
    assert "_kdiag_probe_" not in topics.out


@pytest.mark.real
def test_a_user_without_rights_gets_what_needs_none(
    secure: SecureCluster, log_in: Callable[..., list[str]]
) -> None:
    """The path and what is predicted; not the broker's settings, and no proof."""
    options = log_in("bob", "PLAIN", "SASL_PLAINTEXT")
    address = secure.address(Listener.SASL_PLAINTEXT)

    done = said("tune-buffers", address, *options, "--rtt", "20ms")

    assert (done.code, done.ids) == (5, ["KD6012", "KD6013", "KD6019"])
    (broker,) = done.document["data"]
    assert broker["broker_config"]["why_unknown"] == "CLUSTER_AUTHORIZATION_FAILED"
    assert broker["runs"] == []
    assert len(broker["ceilings"]) == 6
