"""What the demo shows, step by step."""

import base64
import json
from typing import Any, Final, NamedTuple

from kdiag.clock import NS_PER_MS, NS_PER_S, SystemClock
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from kdiag_cli.commands.lab.demo.shell import DemoShell
from kdiag_cli.exit_code import ExitCode

CODECS: Final = ("gzip", "lz4", "zstd")
TOPIC: Final = "orders"
GROUP: Final = "billing"
REFUSED: Final = "payments"
"""A topic to which the lab refuses all writes."""

FAULT: Final = f"Produce topic={REFUSED} error=NOT_ENOUGH_REPLICAS"
CAPTURE: Final = "demo.pcapng"
NO_DELAY: Final = "group.initial.rebalance.delay.ms=0"
OFTEN: Final = "heartbeat.interval.ms=200"
"""How often a member hears whether there is a rebalance."""

_READY: Final = "bootstrap.servers="
_RECORDS: Final = 12
_REFUSALS: Final = 2
"""One refusal alone may be chance, and is no finding."""

_VERSION: Final = 12
_TIMEOUT_MS: Final = 5000


class Write(NamedTuple):
    """Records that are written: where, and how compressed."""

    topic: str
    partition: int
    codec: str


def play(shell: DemoShell) -> None:
    """Show all of it.

    Raises:
        DemoError: if a command does not do what it should.
    """
    clock = SystemClock()
    start_ns = clock.monotonic_ns()
    shell.title(
        "A Kafka cluster in one process, without Java, with a fault; its traffic is recorded"
    )
    topics = ("--topic", f"{TOPIC}:3", "--topic", REFUSED, "--seed-records", "30")
    lab = shell.start("lab", *topics, "--fault", FAULT, "--pcap", CAPTURE, "-X", NO_DELAY)
    line = lab.wait_for(_READY)
    shell.print_lines([line])
    place = ("-b", line.removeprefix(_READY))
    _produce(shell, place)
    _follow(shell, place)
    _rebalance(shell, place)
    _find(shell, place)
    _meet_fault(shell, place)
    lab.stop()
    _explain(shell)
    seconds = (clock.monotonic_ns() - start_ns) / NS_PER_S
    shell.title(f"{shell.count} commands in {seconds:.1f} s; `kdiag help` has the rest")
    shell.print_lines([])


def _produce(shell: DemoShell, place: tuple[str, str]) -> None:
    """Send a Produce request for each codec."""
    shell.title("Any request of the protocol: records, by three codecs")
    for partition, codec in enumerate(CODECS):
        _send(shell, place, Write(TOPIC, partition, codec))


def _send(shell: DemoShell, place: tuple[str, ...], write: Write, code: int = 0) -> None:
    """Write records by a raw request, which ends with an exit code."""
    path = shell.folder / f"{write.topic}-{write.codec}.json"
    path.write_text(json.dumps(_produce_request(write)), encoding="utf-8")
    where = ("--to", f"leader:{write.topic}:{write.partition}", "-V", str(_VERSION), "--yes")
    shell.run("request", "Produce", f"@{path.name}", *place, *where, is_quiet=True, code=code)


def _meet_fault(shell: DemoShell, place: tuple[str, str]) -> None:
    """Write to the topic that the lab refuses."""
    shell.title("Writes to another topic fail: the lab refuses them on purpose (--fault)")
    for _ in range(_REFUSALS):
        cashier = (*place, "-X", "client.id=cashier")
        _send(shell, cashier, Write(REFUSED, 0, CODECS[0]), code=ExitCode.FINDINGS)


def _rebalance(shell: DemoShell, place: tuple[str, str]) -> None:
    """Have two members share a group: the second makes the first give up partitions."""
    shell.title("Be a member of a group; a second one comes")
    member = ("tail", TOPIC, *place, "-g", GROUP, "--from-beginning", "--commit", "-X", OFTEN)
    first = shell.start(*member, "-X", "client.id=reader-1")
    shell.print_lines([first.wait_for("generation 1: given")])
    second = shell.start(*member, "-X", "client.id=reader-2", "--yes")
    lines = [
        first.wait_for("generation 1: taken"),
        first.wait_for("generation 2: given"),
        second.wait_for("generation 2: given"),
    ]
    shell.print_lines(lines)
    shell.run("groups", *place)
    shell.note("kill %3 %2")
    second.stop()
    first.stop()


def _find(shell: DemoShell, place: tuple[str, str]) -> None:
    """Ask who coordinates a group."""
    shell.title("Who coordinates a group, and is that broker healthy?")
    shell.run("find-coordinator", GROUP, *place)


def _follow(shell: DemoShell, place: tuple[str, str]) -> None:
    """Read the records."""
    shell.title("Read records: keys, values, headers, times")
    shell.run("tail", TOPIC, *place, "-p", "2", "-o", "-4", "-e")


def _explain(shell: DemoShell) -> None:
    """Look at the capture."""
    shell.title("Decode what went over the wire")
    shell.run("decode", CAPTURE, "--api", "Produce,JoinGroup,SyncGroup")
    shell.title("Why did the group rebalance, and how long did it take?")
    shell.run("rebalance", "explain", CAPTURE)
    shell.title("What is wrong? The first finding has the cause, and what to do")
    shell.run("decode", CAPTURE, "--summary", "--topic", REFUSED)


def _produce_request(write: Write) -> dict[str, Any]:
    """Return a request as Kafka's own JSON."""
    now_ms = SystemClock().epoch_ns() // NS_PER_MS
    records = [
        Record(
            offset=number,
            timestamp=now_ms,
            key=f"order-{number}".encode(),
            value=json.dumps(
                {"order": number, "codec": write.codec, "total": 9.5 * number}
            ).encode(),
            headers=((b"codec", write.codec.encode()),),
        )
        for number in range(_RECORDS)
    ]
    batch = write_batch(records, BatchHeader(compression=write.codec))
    data = {"index": write.partition, "records": base64.b64encode(batch).decode()}
    topics = [{"name": write.topic, "partitionData": [data]}]
    return {"acks": -1, "timeoutMs": _TIMEOUT_MS, "topicData": topics}
