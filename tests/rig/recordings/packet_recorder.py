"""tcpdump on the loopback interface, for as long as a `with` block lasts.

    with recording(Path("group.pcap"), [9092]):
        ...

Every packet of the block is in the file: recording begins when tcpdump says that it listens, ends
when the wire has been quiet for a while, and fails when the kernel dropped any. Of what comes later
than that, tcpdump may have counted some without writing it. Needs root.
"""

import queue
import re
import signal
import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import IO, Final

from programs.child_program import ChildProgram

_QUIET_S: Final = 2.5
"""tcpdump hands on what it has once a second."""

_CHUNK_BYTES: Final = 1 << 16
_BUFFER_KIB: Final = 1 << 16
"""A burst must fit into it. In tcpdump's immediate mode a packet of any size would take 256 KiB."""
_DROPPED: Final = re.compile(r"(\d+) packets? dropped by kernel")


@contextmanager
def recording(file: Path, ports: Collection[int]) -> Iterator[None]:
    """Record the TCP packets to and from the ports into a pcap file.

    Raises:
        RuntimeError: if tcpdump does not start, or packets were dropped.
    """
    expression = " or ".join(f"tcp port {port}" for port in ports)
    how = ["-U", "-B", str(_BUFFER_KIB), "-s", "0"]
    command = ["tcpdump", "-i", "lo", *how, "-w", "-", expression]
    with ChildProgram(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tcpdump:
        assert tcpdump.stdout is not None
        assert tcpdump.stderr is not None
        said = _read_until_it_listens(tcpdump.stderr)
        chunks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        reader = Thread(target=_pump, args=(tcpdump.stdout, chunks))
        reader.start()
        try:
            yield
            recorded = list(_until_quiet(chunks))
        finally:
            tcpdump.send_signal(signal.SIGINT)
            reader.join()
        _check_counts(said + tcpdump.stderr.read().decode())
    while not chunks.empty():
        recorded.append(chunks.get())
    file.write_bytes(b"".join(recorded))


def _read_until_it_listens(stderr: IO[bytes]) -> str:
    """Return what tcpdump said until it was ready."""
    said = ""
    for line in stderr:
        said += line.decode()
        if "listening on" in said:
            return said
    raise RuntimeError(f"tcpdump does not record: {said}")


def _pump(stdout: IO[bytes], chunks: "queue.SimpleQueue[bytes]") -> None:
    """Hand on what tcpdump writes as soon as it is there."""
    while chunk := stdout.read1(_CHUNK_BYTES):  # type: ignore[attr-defined] # a BufferedReader
        chunks.put(chunk)


def _until_quiet(chunks: "queue.SimpleQueue[bytes]") -> Iterator[bytes]:
    """Give what was recorded until nothing comes for a while."""
    while True:
        try:
            yield chunks.get(timeout=_QUIET_S)
        except queue.Empty:
            return


def _check_counts(said: str) -> None:
    """Check that no packet was dropped."""
    dropped = _DROPPED.search(said)
    if dropped is None:
        raise RuntimeError(f"tcpdump ended without its counts: {said}")
    if int(dropped[1]):
        raise RuntimeError(f"tcpdump lost packets: {said}")
