"""A link between two network namespaces that delays, loses and alters packets, in user space.

    python delayed_link.py NAMESPACE_A 10.99.0.1 NAMESPACE_B 10.99.0.2 --delay-ms 10

makes a TUN device `kd0` in either namespace and carries what is written to one to the other, in
order, after the delay. Options lose every n-th packet with payload, hold the rate of a direction
down with a queue that drops what does not fit, and blot out the window scale in SYNs, as some
middleboxes do. Says `ready` and runs until its standard input ends. Needs root; nothing leaves the
namespaces.
"""

import argparse
import ctypes
import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEVICE = "kd0"
MTU_BYTES = 1500

_CLONE_NEWNET = 0x40000000
_TUNSETIFF = 0x400454CA
_IFF_TUN_NO_PI = 0x1001
_SYN = 2
_NO_OPERATION = 1
_WINDOW_SCALE = 3
_NS_PER_MS = 1_000_000
_MOST_AT_ONCE = 64


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Be in a network namespace for a while: sockets and devices made there stay there."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/var/run/netns/{namespace}", os.O_RDONLY)
    try:
        if libc.setns(there, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter namespace {namespace}")
        yield
    finally:
        libc.setns(home, _CLONE_NEWNET)
        os.close(home)
        os.close(there)


def open_device(namespace: str, own: str, peer: str) -> int:
    """Make the TUN device of one end; return its file descriptor."""
    with inside(namespace):
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), _IFF_TUN_NO_PI))
        for command in (
            f"link set {DEVICE} mtu {MTU_BYTES} txqueuelen 10000",
            f"addr add {own} peer {peer} dev {DEVICE}",
            f"link set {DEVICE} up",
            "link set lo up",
        ):
            subprocess.run(["ip", *command.split()], check=True)
    return device


def without_window_scale(packet: bytes) -> bytes:
    """Return an IPv4 packet whose SYN, if it is one, offers no window scale."""
    head = (packet[0] & 15) * 4
    if packet[9] != 6 or not packet[head + 13] & _SYN:
        return packet
    altered, at, end = bytearray(packet), head + 20, head + (packet[head + 12] >> 4) * 4
    while at < end and altered[at]:
        if altered[at] == _NO_OPERATION:
            at += 1
            continue
        size = altered[at + 1]
        if altered[at] == _WINDOW_SCALE:
            altered[at : at + size] = bytes([_NO_OPERATION]) * size
        at += size
    altered[head + 16 : head + 18] = b"\0\0"
    pseudo_header = altered[12:20] + struct.pack(">HH", 6, len(altered) - head)
    altered[head + 16 : head + 18] = struct.pack(
        ">H", _checksum(bytes(pseudo_header + altered[head:]))
    )
    return bytes(altered)


def _checksum(data: bytes) -> int:
    """Return the internet checksum (RFC 1071)."""
    number = int.from_bytes(data) << (8 if len(data) % 2 else 0)
    return 0xFFFF - (number % 0xFFFF or 0xFFFF)


class Lane:
    """One direction of the link."""

    def __init__(self, source: int, target: int, options: argparse.Namespace) -> None:
        self.source = source
        self._target = target
        self._options = options
        self._queue: deque[tuple[int, bytes]] = deque()
        self._free_ns = 0
        self._with_payload = 0

    @property
    def due_ns(self) -> int | None:
        """Return when the next packet is due; None without any."""
        return self._queue[0][0] if self._queue else None

    def take(self, now_ns: int) -> None:
        """Take packets in."""
        for _ in range(_MOST_AT_ONCE):
            try:
                packet = os.read(self.source, MTU_BYTES + 64)
            except BlockingIOError:
                return
            self._take(packet, now_ns)

    def _take(self, packet: bytes, now_ns: int) -> None:
        options = self._options
        if packet[0] >> 4 != 4:
            return  # IPv6 looks for neighbours, of which there are none
        if options.strip_window_scale:
            packet = without_window_scale(packet)
        if options.lose_every and len(packet) > 200:
            self._with_payload += 1
            if self._with_payload % options.lose_every == 0:
                return
        start_ns = now_ns
        if options.rate_mbit:
            start_ns = max(now_ns, self._free_ns)
            if start_ns - now_ns > options.queue_ms * _NS_PER_MS:
                return
            start_ns += int(len(packet) * 8000 / options.rate_mbit)
            self._free_ns = start_ns
        self._queue.append((start_ns + int(options.delay_ms * _NS_PER_MS), packet))

    def deliver(self, now_ns: int) -> None:
        """Hand out what is due."""
        while self._queue and self._queue[0][0] <= now_ns:
            try:
                os.write(self._target, self._queue.popleft()[1])
            except OSError:
                continue  # the other end's queue is full, as in a real network


def carry(lanes: tuple[Lane, Lane]) -> None:
    """Carry packets until standard input ends."""
    poll = select.poll()
    for source in (0, lanes[0].source, lanes[1].source):
        poll.register(source, select.POLLIN | select.POLLHUP)
    while True:
        due = [lane.due_ns for lane in lanes if lane.due_ns is not None]
        wait_ns = max(0, min(due) - time.monotonic_ns()) if due else 1_000_000_000
        ready = {number for number, _ in poll.poll(wait_ns / _NS_PER_MS)}
        if 0 in ready:
            return
        for lane in lanes:
            if lane.source in ready:
                lane.take(time.monotonic_ns())
            lane.deliver(time.monotonic_ns())


def run_first() -> None:
    """Have the kernel run this program before all others: no link is late as others compute."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:  # a container may not
        os.nice(-10)


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser()
    for name in ("namespace_a", "address_a", "namespace_b", "address_b"):
        parser.add_argument(name)
    parser.add_argument("--delay-ms", type=float, default=10.0)
    parser.add_argument("--rate-mbit", type=float, default=0.0)
    parser.add_argument("--queue-ms", type=float, default=50.0)
    parser.add_argument("--lose-every", type=int, default=0)
    parser.add_argument("--strip-window-scale", action="store_true")
    options = parser.parse_args()
    a = open_device(options.namespace_a, options.address_a, options.address_b)
    b = open_device(options.namespace_b, options.address_b, options.address_a)
    run_first()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    carry((Lane(a, b, options), Lane(b, a, options)))


if __name__ == "__main__":
    main()

PROGRAM = Path(__file__)
"""What to run, in a process of its own."""
