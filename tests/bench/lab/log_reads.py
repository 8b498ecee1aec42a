"""Measures how a log's records leave a process: by `os.sendfile`, or copied through it, in turns.

    PYTHONPATH=.:tests/rig python tests/bench/lab/log_reads.py [--rounds 5] [--megabytes 512]

writes a log of batches of 100 kB and then sends all of it, in fetches of a mebibyte, over a TCP
connection on loopback to a process that only reads. Each fetch looks its offset up in the log, as a
consumer's does. Prints a Markdown table: MB/s, and the CPU time of the sender for a gigabyte; the
medians of all rounds. The log is in the page cache, where that of a consumer that keeps up is.
"""

import argparse
import os
import resource
import socket
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

from kdiag.clock import SystemClock
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.files.file_records import FileSlice
from kdiag.lab.log.partition_log import FetchIsolation, PartitionLog
from kdiag.wire.records.batches import read_batches
from made_values.log_maker import replicated

FETCH_BYTES: Final = 1 << 20
BATCH_BYTES: Final = 100_000
MEGABYTE: Final = 1_000_000

Sender = Callable[[socket.socket, FileSlice], None]


class Measured(NamedTuple):
    """One run.

    Attributes:
        wall_s: until the last byte was read at the other end.
        cpu_s: of the sender, in user and system mode.
    """

    wall_s: float
    cpu_s: float


def send_file(connection: socket.socket, part: FileSlice) -> None:
    """Have the kernel send a slice."""
    sent = 0
    while sent < part.size:
        sent += os.sendfile(
            connection.fileno(), part.file.fd, part.position + sent, part.size - sent
        )


def send_copy(connection: socket.socket, part: FileSlice) -> None:
    """Read a slice and send what was read."""
    connection.sendall(part.read())


SENDERS: Final[dict[str, Sender]] = {"sendfile": send_file, "copying": send_copy}


def make_log(folder: Path, megabytes: int) -> PartitionLog:
    """Return a log of so many megabytes."""
    log = PartitionLog.open(folder / "orders-0", LogConfig(), SystemClock())
    for offset in range(megabytes * MEGABYTE // BATCH_BYTES):
        log.append_as_follower(replicated(offset, b"v" * BATCH_BYTES))
    return log


def send_all(log: PartitionLog, connection: socket.socket, send: Sender) -> None:
    """Send a whole log, fetch by fetch."""
    offset = 0
    while offset < log.log_end_offset:
        found = log.read(offset, FETCH_BYTES, FetchIsolation.LOG_END)
        assert found.slice is not None
        send(connection, found.slice)
        offset += max(1, found.size // (BATCH_BYTES + 80))


def read_all(port: int) -> None:
    """Connect and read to the end: the work of the other process."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        buffer = bytearray(FETCH_BYTES)
        while connection.recv_into(buffer):
            pass


def measure(log: PartitionLog, send: Sender) -> Measured:
    """Send a log to a process that reads it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        reader = os.fork()
        if not reader:
            read_all(server.getsockname()[1])
            os._exit(0)
        connection, _ = server.accept()
        before, start = resource.getrusage(resource.RUSAGE_SELF), perf_counter()
        with connection:
            send_all(log, connection, send)
        os.waitpid(reader, 0)
        wall_s, after = perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(wall_s, cpu_s)


def check_batches(log: PartitionLog) -> None:
    """Check that a fetch holds what it should, before anything is measured."""
    found = log.read(0, FETCH_BYTES, FetchIsolation.LOG_END)
    assert found.slice is not None
    batches = read_batches(found.slice.read()).batches
    assert len(batches) == FETCH_BYTES // (BATCH_BYTES + 80)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=512)
    arguments = parser.parse_args()
    seen: dict[str, list[Measured]] = {name: [] for name in SENDERS}
    with tempfile.TemporaryDirectory() as folder:
        log = make_log(Path(folder), arguments.megabytes)
        check_batches(log)
        size = log.size_in_bytes
        for _ in range(arguments.rounds):
            for name, send in SENDERS.items():
                seen[name].append(measure(log, send))
    lines = ["| | MB/s | sender's CPU, s/GB |", "|---|---:|---:|"]
    for name, runs in seen.items():
        wall_s = statistics.median(run.wall_s for run in runs)
        cpu_s = statistics.median(run.cpu_s for run in runs)
        rate, cost = size / MEGABYTE / wall_s, cpu_s / (size / 1e9)
        lines.append(f"| {name} | {rate:.0f} | {cost:.2f} |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
