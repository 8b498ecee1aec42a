"""Records big captures: Kafka's own load generators and a real Kafka, with a network between them.

    PYTHONPATH=tests/rig python tests/bench/record_load.py [FOLDER]

writes to the folder (by default `.kafka/bench`, which git ignores)

- `large.pcap`: 190,000 records of 1 kB produced in lz4 batches of up to 128 KiB and consumed, in
  versions that tshark can decode;
- `newest.pcap`: the same in the newest versions, which it cannot, and with smaller responses;
- `small.pcap`: 60,000 Produce requests of one record of 100 bytes;
- `huge.pcap`: `large.pcap` several times over, by `repeat_capture.py`; not a recording of its own.

The broker lives in a network namespace of its own, behind a pair of virtual Ethernet interfaces
with an MTU of 1500 and no offloads, so packets are as big as on a wire. Needs root, Linux, tcpdump,
iproute2, ethtool, and Java and Maven.
"""

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafka import KafkaConsumer, KafkaProducer

from real_kafka import kafka_jars
from real_kafka.kafka_cluster import KafkaCluster, Ports
from real_kafka.releases import USUAL

PORTS: Final = Ports(9092, 9093, 9094)
BROKER: Final = "198.18.73.2"  # RFC 2544 keeps 198.18.0.0/15 for benchmarks
CLIENT: Final = "198.18.73.1"
LARGE_RECORDS: Final = 190_000
LARGE_BYTES: Final = 400_000_000
SMALL_REQUESTS: Final = 60_000
HUGE_BYTES: Final = 1_300_000_000

_AS_2_4: Final[dict[str, Any]] = {
    "bootstrap_servers": f"{BROKER}:{PORTS.plaintext}",
    "api_version": (2, 4),
}
_ROOT: Final = Path(__file__).parent.parent.parent
_BUFFER_KIB: Final = 1 << 17
_SETTLE_S: Final = 3
_CLONE_NEWNET: Final = 0x40000000
_COUNTS: Final = re.compile(r"(\d+) packets? captured\n(\d+) packets? received by filter\n(\d+) ")


class Link(NamedTuple):
    """A network namespace and the pair of interfaces that leads there.

    Attributes:
        namespace: the namespace's name.
        near: the interface at the client's end.
        far: the interface at the broker's end.
    """

    namespace: str
    near: str
    far: str


def run(*command: str) -> str:
    """Run a program and return what it printed.

    Raises:
        RuntimeError: with what it said, if it fails.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


@contextmanager
def linked() -> Iterator[Link]:
    """Make a namespace and the interfaces to it; both are gone afterwards, whatever happened."""
    number = os.getpid()
    link = Link(f"kdiag-bench-{number}", f"kda{number}", f"kdb{number}")
    inside = ("ip", "-n", link.namespace)
    with ExitStack() as made:
        run("ip", "netns", "add", link.namespace)
        made.callback(run, "ip", "netns", "delete", link.namespace)
        peer = ("peer", "name", link.far, "netns", link.namespace)
        run("ip", "link", "add", link.near, "mtu", "1500", "type", "veth", *peer, "mtu", "1500")
        made.callback(run, "ip", "link", "delete", link.near)
        no_offloads = ("tso", "off", "gso", "off", "gro", "off")
        run("ethtool", "-K", link.near, *no_offloads)
        run("ip", "netns", "exec", link.namespace, "ethtool", "-K", link.far, *no_offloads)
        run("ip", "address", "add", f"{CLIENT}/30", "dev", link.near)
        run(*inside, "address", "add", f"{BROKER}/30", "dev", link.far)
        run("ip", "link", "set", link.near, "up")
        run(*inside, "link", "set", link.far, "up")
        run(*inside, "link", "set", "lo", "up")
        yield link


@contextmanager
def inside_namespace(name: str) -> Iterator[None]:
    """Have programs that this thread starts in the block live in a network namespace."""
    home_file, there_file = Path("/proc/thread-self/ns/net"), Path("/run/netns", name)
    with home_file.open() as home, there_file.open() as there:
        _enter(there.fileno())
        try:
            yield
        finally:
            _enter(home.fileno())


def _enter(namespace: int) -> None:
    """Move this thread into a network namespace; Python has `os.setns` from 3.12 on only."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """Run a broker behind a link and give the interface from which it is reached."""
    clients = f"PLAINTEXT://{BROKER}:{PORTS.plaintext}"
    properties = {
        "listeners": f"{clients},CONTROLLER://127.0.0.1:{PORTS.controller}",
        "advertised.listeners": clients,
    }
    cluster = KafkaCluster(USUAL, folder, ports=[PORTS], properties=properties)
    with ExitStack() as running:
        link = running.enter_context(linked())
        with inside_namespace(link.namespace):
            running.enter_context(cluster)
        yield link.near


@contextmanager
def recorded(file: Path, interface: str) -> Iterator[None]:
    """Record the packets to and from the broker, and check that tcpdump wrote every one.

    The file is there when it is whole.

    Raises:
        RuntimeError: if tcpdump does not start or lost packets.
    """
    part = file.with_suffix(".part")
    command = ["tcpdump", "-i", interface, "-s", "0", "-B", str(_BUFFER_KIB), "-Z", "root"]
    command += ["-w", str(part), f"tcp port {PORTS.plaintext}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tcpdump:
        assert tcpdump.stderr is not None
        said = ""
        try:
            for line in tcpdump.stderr:
                said += line
                if "listening on" in line:
                    break
            yield
            time.sleep(_SETTLE_S)  # the kernel hands over a block of packets after a second at most
        finally:
            tcpdump.send_signal(signal.SIGINT)
            said += tcpdump.stderr.read()
    counts = _COUNTS.search(said)
    if counts is None:
        raise RuntimeError(f"tcpdump does not record: {said}")
    captured, received, dropped = map(int, counts.groups())
    if dropped or captured != received:
        raise RuntimeError(f"tcpdump lost packets: {said}")
    part.rename(file)
    sys.stdout.write(f"{file}: {file.stat().st_size:,} bytes, {captured:,} packets, 0 dropped\n")


def _run_tool(name: str, *arguments: str) -> str:
    """Run one of Kafka's own tools against the broker and return what it printed."""
    server = ("--bootstrap-server", f"{BROKER}:{PORTS.plaintext}")
    folder, tool = kafka_jars.jars(USUAL), f"org.apache.kafka.tools.{name}"
    return run(*kafka_jars.java_command(folder, tool, *arguments, *server, is_measured=True))


def _create_topic(name: str, partitions: int) -> None:
    """Create a topic and wait until the broker leads all its partitions: it tells their offsets."""
    shape = ("--partitions", str(partitions), "--replication-factor", "1")
    _run_tool("TopicCommand", "--create", "--topic", name, *shape)
    _run_tool("GetOffsetShell", "--topic", name)


def _produce(topic: str, count: int, record_bytes: int, *properties: str) -> None:
    """Write records of random capital letters, which lz4 makes hardly any smaller."""
    size = ("--num-records", str(count), "--record-size", str(record_bytes), "--throughput", "-1")
    _run_tool("ProducerPerformance", "--topic", topic, *size, "--command-property", *properties)


def _consume(topic: str, count: int) -> None:
    """Read records in a group.

    Raises:
        RuntimeError: if fewer came.
    """
    arguments = ("--topic", topic, "--num-records", str(count), "--group", "load", "--hide-header")
    said = _run_tool("ConsumerPerformance", *arguments)
    read = int(said.strip().splitlines()[-1].split(", ")[4])
    if read != count:
        raise RuntimeError(f"the consumer read {read} records, not {count}: {said}")


def _produce_as_2_4(topic: str, count: int) -> None:
    """Write records of 1 kB in the versions of Kafka 2.4.

    Raises:
        RuntimeError: if the broker refused any.
    """
    producer = KafkaProducer(
        **_AS_2_4,
        client_id="load-writer",
        compression_type="lz4",
        batch_size=128 << 10,
        linger_ms=1000,
        max_in_flight_requests_per_connection=5,
    )
    letters = bytes(ord("A") + each % 26 for each in range(256))
    sent = [producer.send(topic, os.urandom(1000).translate(letters)) for _ in range(count)]
    producer.flush()
    producer.close()
    if not all(each.succeeded() for each in sent):
        raise RuntimeError("the broker refused records")


def _consume_as_2_4(topic: str, count: int) -> None:
    """Read records in a group, in the versions of Kafka 2.4."""
    consumer = KafkaConsumer(
        topic,
        **_AS_2_4,
        client_id="load-reader",
        group_id="load-2.4",
        auto_offset_reset="earliest",
    )
    while count > 0:
        count -= sum(map(len, consumer.poll(1000).values()))
    consumer.close()


def record_large(file: Path, interface: str) -> None:
    """Record 1 kB records to 100 partitions, then a consumer that catches up, in versions of 2.4.

    That consumer has the usual limits (1 MiB a partition, 50 MiB a response), so it gets responses
    of up to 50 MiB. tshark 4.0 decodes Produce and Fetch in these versions, not in newer ones.

    Raises:
        RuntimeError: if the file is smaller than it must be.
    """
    _create_topic("large", 100)
    with recorded(file, interface):
        _produce_as_2_4("large", LARGE_RECORDS)
        _consume_as_2_4("large", LARGE_RECORDS)
    if file.stat().st_size < LARGE_BYTES:
        raise RuntimeError(f"{file} has less than {LARGE_BYTES:,} bytes")


def record_newest(file: Path, interface: str) -> None:
    """Record as many records of 1 kB in three partitions, in the versions of Kafka 4.3."""
    _create_topic("newest", 3)
    with recorded(file, interface):
        batches = ("compression.type=lz4", "batch.size=131072", "linger.ms=100")
        _produce("newest", LARGE_RECORDS, 1000, *batches)
        _consume("newest", LARGE_RECORDS)


def record_small(file: Path, interface: str) -> None:
    """Record one request for each record: no batch has room for a second."""
    _create_topic("small", 1)
    with recorded(file, interface):
        _produce("small", SMALL_REQUESTS, 100, "batch.size=0", "linger.ms=0")


def main(folder: Path) -> None:
    """Record all into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    kafka_jars.require_programs("ethtool", "ip", "tcpdump")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # and clean up on the way
    with tempfile.TemporaryDirectory() as data, broker(Path(data)) as interface:
        record_large(folder / "large.pcap", interface)
        record_newest(folder / "newest.pcap", interface)
        record_small(folder / "small.pcap", interface)
    repeat = Path(__file__).with_name("repeat_capture.py")
    captures = (str(folder / "large.pcap"), str(folder / "huge.pcap"))
    sys.stdout.write(run(sys.executable, str(repeat), *captures, str(HUGE_BYTES)))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else _ROOT / ".kafka" / "bench")
