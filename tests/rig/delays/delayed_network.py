"""Two network namespaces, a client's and a broker's, with a delayed link between them.

    with DelayedNetwork("--delay-ms", "10") as network:
        with network.inside("client"):
            ...  # sockets made here, by this thread, are the client's
        network.command("broker", ["ping", ADDRESSES["client"]])

Needs root; nothing leaves the namespaces.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import count
from pathlib import Path
from threading import Event
from typing import Self

from delays import delayed_link
from programs.child_program import ChildProgram
from real_kafka.kafka_jars import UnavailableError, require_programs

_numbers = count(1)
ADDRESSES = {"client": "10.99.0.1", "broker": "10.99.0.2"}


class DelayedNetwork:
    """The two ends, while they are there.

    Attributes:
        names: the namespace of each end.
    """

    def __init__(self, *link_options: str) -> None:
        number = next(_numbers)
        self.names = {end: f"kdiag-{os.getpid()}-{number}-{end}" for end in ADDRESSES}
        self._link_options = link_options
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for name in self.names.values():
                stack.enter_context(_namespace(name))
            stack.enter_context(self._link())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def inside(self, end: str) -> AbstractContextManager[None]:
        """Be at an end for a while, with this thread."""
        return delayed_link.inside(self.names[end])

    def command(self, end: str, command: Sequence[str]) -> list[str]:
        """Return the command that runs another at an end."""
        return ["ip", "netns", "exec", self.names[end], *command]

    def set_congestion_control(self, end: str, name: str) -> None:
        """Have the connections of an end begin with an algorithm."""
        setting = "/proc/sys/net/ipv4/tcp_congestion_control"
        subprocess.run(
            self.command(end, ["sh", "-c", f"echo {name} > {setting}"]),
            check=True,
        )

    @contextmanager
    def recording(self, files: Mapping[str, Path]) -> Iterator[None]:
        """Have tcpdump record what ends send and get, each into a file.

        Raises:
            RuntimeError: at the end, if it has lost packets.
        """
        with ExitStack() as stack:
            for end, file in files.items():
                stack.enter_context(self._recorder(end, file))
            yield
            Event().wait(1.5)  # tcpdump gets packets from the kernel a second late

    @contextmanager
    def _recorder(self, end: str, file: Path) -> Iterator[None]:
        tcpdump = ["tcpdump", "-i", delayed_link.DEVICE, "-U", "-B", "16384", "-Z", "root"]
        command = self.command(end, [*tcpdump, "-w", str(file), "tcp"])
        with ChildProgram(command, stderr=subprocess.PIPE) as recorder:
            assert recorder.stderr is not None
            for line in recorder.stderr:
                if b"listening on" in line:
                    break
            try:
                yield
            finally:
                recorder.send_signal(signal.SIGINT)
                said = recorder.stderr.read().decode()
        if "\n0 packets dropped by kernel" not in said:
            raise RuntimeError(f"tcpdump lost packets: {said}")

    @contextmanager
    def _link(self) -> Iterator[None]:
        ends = [(self.names[end], address) for end, address in ADDRESSES.items()]
        command = [sys.executable, str(delayed_link.PROGRAM), *ends[0], *ends[1]]
        command += self._link_options
        pipe = subprocess.PIPE
        with ChildProgram(command, stdin=pipe, stdout=pipe) as link:
            assert link.stdin is not None
            assert link.stdout is not None
            if link.stdout.readline() != b"ready\n":
                raise RuntimeError("the delayed link does not start")
            yield
            link.stdin.close()


def require_rights() -> None:
    """Check that this process may make namespaces, devices and captures.

    Raises:
        UnavailableError: saying what it lacks.
    """
    require_programs("ip", "tcpdump")
    if os.geteuid():
        raise UnavailableError("only root can make network namespaces")
    if not Path("/dev/net/tun").exists():
        raise UnavailableError("there is no /dev/net/tun")
    try:
        with _namespace(f"kdiag-{os.getpid()}-probe"):
            pass
    except subprocess.CalledProcessError as error:
        why = error.stderr.decode().strip()
        raise UnavailableError(f"cannot make a network namespace: {why}") from None


@contextmanager
def _namespace(name: str) -> Iterator[None]:
    subprocess.run(["ip", "netns", "add", name], capture_output=True, check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)
