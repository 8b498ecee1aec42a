"""Compares captures of the same load by `kdiag diff`, and such where something was changed.

    python tests/bench/tables/same_load.py [--runs 20] [--messages 400]

Each run starts `kdiag lab --pcap`, writes so many records at a steady rate by librdkafka, and reads
them. Runs are compared with the next: how many of them differ beyond noise is printed, and by what.
Then come a run whose broker answers each Produce 5 ms later, one whose records are larger, and one
with another client: what is found of each. Ends with 1 if more than one of twenty pairs of the same
load differ, or anything that was changed is not found.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, Producer

KDIAG: Final = str(Path(sys.executable).with_name("kdiag"))
_EVERY_S: Final = 0.02
_TOPIC: Final = "orders"


def record(
    file: Path, messages: int, *, size: int = 100, more: bool = False, fault: str = ""
) -> None:
    """Record the traffic of a lab with a load.

    Args:
        file: the capture.
        messages: how many records are written.
        size: of a record.
        more: whether there is another client.
        fault: of the lab; empty for none.
    """
    command = [KDIAG, "lab", "--topic", f"{_TOPIC}:1", "--pcap", str(file), "-o", "jsonl"]
    if fault:
        command += ["--fault", fault]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as lab:
        assert lab.stdout is not None
        ready = json.loads(lab.stdout.readline())
        try:
            load(ready["bootstrap"], messages, size, more=more)
        finally:
            lab.send_signal(signal.SIGINT)
            lab.stdout.read()


def load(bootstrap: str, messages: int, size: int, *, more: bool) -> None:
    """Write records at a steady rate, and read them meanwhile."""
    is_over = threading.Event()
    reader = threading.Thread(target=read, args=(bootstrap, is_over))
    reader.start()
    settings = {"bootstrap.servers": bootstrap, "linger.ms": 0, "client.id": "writer"}
    producers = [Producer(settings)]
    if more:
        producers.append(Producer(settings | {"client.id": "newcomer"}))
    begun_s = time.monotonic()
    for number in range(messages):
        producer = producers[number % len(producers)]
        producer.produce(_TOPIC, b"x" * size)
        producer.poll(0)
        time.sleep(max(0.0, begun_s + number * _EVERY_S - time.monotonic()))
    for producer in producers:
        producer.flush(10)
    is_over.set()
    reader.join()


def read(bootstrap: str, is_over: threading.Event) -> None:
    """Read records until it is over."""
    settings = {"bootstrap.servers": bootstrap, "client.id": "reader", "group.id": "readers"}
    consumer = Consumer(settings | {"auto.offset.reset": "earliest"})
    consumer.subscribe([_TOPIC])
    while not is_over.is_set():
        consumer.poll(0.2)
    consumer.close()


def differences(before: Path, after: Path) -> list[str]:
    """Return what differs between two captures beyond noise."""
    command = [KDIAG, "diff", str(before), str(after), "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    data: dict[str, Any] = json.loads(done.stdout)["data"][0]
    varying = [each for each in data["measured"] if each["verdict"] in {"more", "less"}]
    errors = [each for each in data["errors"] if each["verdict"] in {"more", "less"}]
    return [
        *(f"{each['quantity']} {each['of']} x{each['ratio']}" for each in varying),
        *(f"error {each['problem']} {each['api']}" for each in errors),
        *(f"{each['kind']} {each['of']} {each['name']}".strip() for each in data["stated"]),
    ]


def tell(name: str, found: list[str]) -> list[str]:
    """Print what was found, and return it."""
    sys.stdout.write(f"{json.dumps({'of': name, 'differs': found})}\n")
    sys.stdout.flush()
    return found


def main() -> int:
    """Record, compare, print."""
    parser = argparse.ArgumentParser(description="Compare captures of the same load.")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--messages", type=int, default=400)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name, f"{number}.pcapng") for number in range(given.runs + 1)]
        record(files[0], given.messages)
        wrong = 0
        for before, after in pairwise(files):
            record(after, given.messages)
            wrong += bool(tell(f"run {after.stem}", differences(before, after)))
        changed = Path(name, "changed.pcapng")
        missed = []
        for what, options, wanted in (
            ("a delay of 5 ms", {"fault": "Produce delay=5ms"}, "p50_us Produce"),
            ("larger records", {"size": 400}, "batch_bytes writer orders"),
            ("a new client", {"more": True}, "client newcomer"),
        ):
            record(changed, given.messages, **options)
            found = tell(what, differences(files[-1], changed))
            if not any(each.startswith(wanted) for each in found):
                missed.append(what)
            changed.unlink()
    sys.stdout.write(f"{json.dumps({'runs': given.runs, 'differ': wrong, 'missed': missed})}\n")
    return int(wrong * 20 > given.runs or bool(missed))


if __name__ == "__main__":
    sys.exit(main())
