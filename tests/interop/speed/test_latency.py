"""Latencies of real brokers: nearby, far away, behind a slow proxy, and as Kafka sees them."""

import json
import re
import signal
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pytest

from delays.delaying_proxy import DelayingProxy
from kdiag.probe import PROBE_PREFIX
from programs.json_run import trusting
from programs.kdiag_program import kdiag_apart, start_kdiag
from real_kafka import kafka_jars
from real_kafka.kafka_cluster import KafkaCluster, free_port_numbers
from real_kafka.releases import USUAL
from real_kafka.secure_cluster import Listener, SecureCluster
from real_kafka.topic_changes import await_removal
from real_kafka.wan_cluster import WanCluster
from tiers.attempts import measure_again

pytestmark = pytest.mark.soak

SHORT = ["--duration", "3s", "--warm-up", "1s"]
ATTEMPTS = 6
"""How often to measure, as the machine may be busy with other tests meanwhile."""
PRODUCE_ALONE = ["--acks", "1", "--no-end-to-end"]


class ProxiedCluster(NamedTuple):
    """A broker that clients reach through a proxy alone."""

    cluster: KafkaCluster
    proxy: DelayingProxy

    @property
    def bootstrap(self) -> str:
        """Return the proxy's address, which is the one that the broker advertises."""
        return f"127.0.0.1:{self.proxy.port}"


class Measured(NamedTuple):
    """What a run of kdiag found."""

    code: int
    document: dict[str, Any]

    def row(self, kind: str, acks: str | None = None) -> dict[str, Any]:
        """Return the latencies of a kind."""
        rows: list[dict[str, Any]] = self.document["data"]
        return next(each for each in rows if each["kind"] == kind and each.get("acks") == acks)

    def median(self, kind: str, acks: str | None = None) -> dict[str, Any]:
        """Return the median of a kind, with its parts."""
        median: dict[str, Any] = self.row(kind, acks)["percentiles"][0]
        assert median["percentile"] == 50
        return median


def latency(bootstrap: str, *arguments: str) -> Measured:
    """Measure with the program, in a process of its own: the proxy is in this one."""
    done = kdiag_apart("latency", "-b", bootstrap, *SHORT, *arguments, "-o", "json")
    return Measured(done.code, json.loads(done.out))


@pytest.fixture(scope="module")
def proxied(
    get_kafka_jars: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProxiedCluster]:
    """Return a broker behind a proxy."""
    get_kafka_jars(USUAL)
    (port,) = free_port_numbers(1)
    advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}
    folder = tmp_path_factory.mktemp("latency")
    cluster = KafkaCluster(USUAL, folder, properties=advertised)
    broker = ("127.0.0.1", cluster.ports[0].plaintext)
    with DelayingProxy(broker, port=port) as proxy, cluster:
        proxied = ProxiedCluster(cluster, proxy)
        latency(proxied.bootstrap)  # brokers are slow until their code is compiled
        yield proxied


@pytest.mark.real
def test_everything_is_measured_and_nothing_is_left(proxied: ProxiedCluster) -> None:
    """Records with each acks, their way to a consumer, commits, and fetches of several kinds."""
    options = ["--sweep", "--min-bytes", "1,100000", "--max-wait", "100"]

    def measure() -> None:
        found = latency(proxied.bootstrap, *options)
        assert (found.code, found.document["findings"]) == (0, [])
        for acks in ("0", "1", "all"):
            assert found.row("produce", acks)["count"] in {99, 100, 101}
            assert found.row("end_to_end", acks)["count"] in {99, 100, 101}
        assert found.row("commit")["count"] > 100
        waits = [each for each in found.document["data"] if each["kind"] == "fetch_wait"]
        assert waits[0]["returned"]["early_with_data"] > 0.9 * waits[0]["count"] > 0
        assert waits[1]["returned"]["at_wait_with_data"] == waits[1]["count"] > 0

    measure_again(measure, ATTEMPTS)
    await_removal(proxied.bootstrap, PROBE_PREFIX)


@pytest.mark.bench
@pytest.mark.sampled(1)
@pytest.mark.parametrize("delay_ms", [5, 20, 100])
def test_the_delay_of_a_broker_is_recovered_and_blamed_on_the_broker(
    proxied: ProxiedCluster, delay_ms: int
) -> None:
    """Within a millisecond, in the median; records also wait for fetches that are delayed.

    The proxy says how long it kept responses, which is longer than wanted on a busy machine. That
    adds to other times, too: so the least of all attempts counts, and where what is not delayed
    differs from attempt to attempt by more than a millisecond, that much.
    """
    seen_ms: dict[tuple[str, str, int], list[float]] = defaultdict(list)

    def recover() -> None:
        for each_ms in (0, delay_ms):
            found, kept_ms = delayed(proxied, each_ms)
            assert kept_ms >= each_ms
            for kind in ("produce", "end_to_end"):
                parts_ms = found.median(kind, "1")["parts_ms"]
                seen_ms[kind, "broker", each_ms].append(parts_ms["broker"] - kept_ms)
                seen_ms[kind, "network", each_ms].append(parts_ms["network"])
        for kind in ("produce", "end_to_end"):
            usual_ms = seen_ms[kind, "broker", 0]
            spread_ms = max(1.0, max(usual_ms) - min(usual_ms))
            left_ms = min(seen_ms[kind, "broker", delay_ms])
            assert left_ms == pytest.approx(min(usual_ms), abs=spread_ms)
            assert min(seen_ms[kind, "network", delay_ms]) < 1

    measure_again(recover, ATTEMPTS)


def delayed(proxied: ProxiedCluster, delay_ms: int) -> tuple[Measured, float]:
    """Measure with a delay; return also for how many milliseconds responses were kept, mostly."""
    proxied.proxy.delay_s = delay_ms / 1000
    proxied.proxy.took_s.clear()
    try:
        found = latency(proxied.bootstrap, "--acks", "1")
    finally:
        proxied.proxy.delay_s = 0.0
    return found, median(proxied.proxy.took_s) * 1000


@pytest.mark.bench
@pytest.mark.parametrize(
    ("arguments", "stalled"),
    [
        ([*PRODUCE_ALONE, "--rate", "18/s"], {"produce acks=1"}),
        ([], {"end-to-end acks=0", "end-to-end acks=1", "end-to-end acks=all"}),
    ],
    ids=["produce", "default"],
)
def test_answers_in_two_small_writes_are_a_finding(
    proxied: ProxiedCluster, arguments: list[str], stalled: set[str]
) -> None:
    """A proxy that never set TCP_NODELAY; kdiag says who is to blame, once."""

    def find() -> None:
        found = latency(proxied.bootstrap, *arguments, "--fail-on", "warning")
        assert found.code == 1
        (finding,) = (each for each in found.document["findings"] if each["id"] == "KD7001")
        assert finding["evidence"]["stall_ms"] == 40
        assert set(finding["evidence"]["what"].split(", ")) >= stalled

    proxied.proxy.is_split = True
    try:
        measure_again(find, ATTEMPTS, (AssertionError, ValueError))
    finally:
        proxied.proxy.is_split = False


def kafkas_own_median_ms(proxied: ProxiedCluster, acks: str) -> int:
    """Return the median of Kafka's own tool, which cuts its milliseconds off."""
    jars = kafka_jars.jars(proxied.cluster.version)
    options = {
        "bootstrap-server": proxied.bootstrap,
        "topic": "end-to-end",
        "num-records": "2000",
        "producer-acks": acks,
        "record-size": "100",
    }
    arguments = [word for key, value in options.items() for word in (f"--{key}", value)]
    tool = "org.apache.kafka.tools.EndToEndLatency"
    command = kafka_jars.java_command(jars, tool, *arguments, is_measured=True)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"50th = (\d+)", done.stdout)
    assert found is not None, done.stdout
    return int(found[1])


@pytest.mark.bench
@pytest.mark.sampled(1)
@pytest.mark.parametrize("acks", ["1", "all"])
def test_the_median_is_that_of_kafkas_own_tool(proxied: ProxiedCluster, acks: str) -> None:
    """Within its resolution: it counts whole milliseconds."""

    def agree() -> None:
        before_ms = kafkas_own_median_ms(proxied, acks)
        found = latency(proxied.bootstrap, "--acks", acks, "--rate", "200/s")
        after_ms = kafkas_own_median_ms(proxied, acks)
        own_ms: float = found.median("end_to_end", acks)["ms"]
        assert min(before_ms, after_ms) - 1 <= own_ms <= max(before_ms, after_ms) + 2

    measure_again(agree, ATTEMPTS)


@pytest.mark.bench
def test_a_long_path_is_blamed_on_the_network(make_wan_cluster: Callable[..., WanCluster]) -> None:
    """Ten milliseconds each way: records, answers and fetches travel it."""
    with make_wan_cluster(USUAL, "--delay-ms", "10") as wan, wan.client_side():

        def blame() -> None:
            found = latency(wan.bootstrap)
            for acks in ("1", "all"):
                parts = found.median("produce", acks)["parts_ms"]
                assert parts["network"] == pytest.approx(20, abs=1.5)
                assert parts["broker"] < 5
            parts = found.median("end_to_end", "all")["parts_ms"]
            assert parts["network"] == pytest.approx(20, abs=1.5)
            assert found.median("produce", "0")["ms"] < 2

        measure_again(blame, ATTEMPTS)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, "timeout"])
def test_an_end_before_its_time_tells_what_was_measured(
    proxied: ProxiedCluster, how: signal.Signals | str
) -> None:
    """And leaves nothing behind, which it says after a signal."""
    options = ["--duration", "60s", "--warm-up", "0s", "-o", "json"]
    if how == "timeout":
        options += ["--timeout", "4s"]
    pipe = subprocess.PIPE
    with start_kdiag(
        "latency", "-b", proxied.bootstrap, *options, "--trace", stdout=pipe, stderr=pipe
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        if isinstance(how, signal.Signals):
            lines = 0
            for line in process.stderr:  # what is traced tells when enough was measured
                lines += b"Produce" in line
                if lines == 100:
                    break
            process.send_signal(how)
        out, err = process.communicate(timeout=120)
    expected = 128 + how if isinstance(how, signal.Signals) else 6
    assert process.returncode == expected, err.decode()[-3000:]
    assert (b"kdiag: interrupted; removed topic _kdiag_probe_" in err) == (expected != 6)
    found = Measured(process.returncode, json.loads(out))
    assert found.row("produce", "1")["count"] > 10
    await_removal(proxied.bootstrap, PROBE_PREFIX)


def test_a_listener_with_tls_and_a_login_is_measured_too(
    secure: SecureCluster, log_in: Callable[..., list[str]]
) -> None:
    """Each connection logs in by itself."""
    options = [*log_in("alice", "SCRAM-SHA-512", "SASL_SSL"), *trusting(secure, "SASL_SSL")]

    def log_in_and_measure() -> None:
        found = latency(secure.address(Listener.SASL_SSL), *options)
        assert found.code == 0
        assert found.row("end_to_end", "all")["count"] in {99, 100, 101}
        assert 0 < found.median("produce", "1")["parts_ms"]["network"] < 1

    measure_again(log_in_and_measure, ATTEMPTS)
