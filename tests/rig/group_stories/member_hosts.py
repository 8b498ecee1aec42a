"""Members of real groups as tests drive them, whatever they are made of.

    host = ProgramMembers(opened, bootstrap, "orders", ...)      # a process for each
    host = JavaMembers(java, "orders", "classic")                 # two processes for all
    host = StreamsMembers(opened, bootstrap, "orders")            # heartbeats of this process
    host.join("a", "clicks")
    host.kill("b")

Java takes seconds to start, so that all its members share two processes: one that goes on, and one
for those that are to be killed, which die together.
"""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Protocol

from folders import ROOT
from group_stories.streams_member import StreamsMember
from programs.child_program import ChildProgram
from real_kafka import kafka_jars

_FOLDER: Final = ROOT / "tests" / "rig" / "group_stories"
_MEMORY: Final = ("-Xmx128m", "-XX:TieredStopAtLevel=1")


class MemberHost(Protocol):
    """Has members of one group; `topics` have commas between them."""

    def join(self, name: str, topics: str) -> None:
        """A member comes."""
        ...

    def kill(self, name: str) -> None:
        """A member dies."""
        ...

    def leave(self, name: str) -> None:
        """A member leaves."""
        ...

    def subscribe(self, name: str, topics: str) -> None:
        """A member wants other topics."""
        ...


class ProgramMembers:
    """Members of Python's libraries, each in a process of its own."""

    def __init__(
        self, opened: ExitStack, bootstrap: str, group: str, library: str, settings: Sequence[str]
    ) -> None:
        self._opened = opened
        self._command = [sys.executable, str(_FOLDER / "member_program.py"), library]
        self._facts = [bootstrap, group]
        self._settings = settings
        self._members: dict[str, ChildProgram] = {}

    def join(self, name: str, topics: str) -> None:
        """Start a process."""
        command = [*self._command, *self._facts, name, topics, *self._settings]
        member = ChildProgram(command, stdin=subprocess.PIPE)
        self._members[name] = self._opened.enter_context(member)
        self._opened.callback(member.kill)

    def kill(self, name: str) -> None:
        """End it."""
        self._members[name].kill()

    def leave(self, name: str) -> None:
        """End its orders."""
        stdin = self._members[name].stdin
        assert stdin is not None
        stdin.close()

    def subscribe(self, name: str, topics: str) -> None:
        """Tell it."""
        _say(self._members[name], topics)


class JavaProcesses:
    """The two processes of all Java members.

    Attributes:
        lasting, doomed: the processes.
    """

    def __init__(self, opened: ExitStack, jars: Path, bootstrap: str) -> None:
        program = str(_FOLDER / "JavaMembers.java")
        java, *rest = kafka_jars.java_command(jars, program, bootstrap)
        command = [java, *_MEMORY, *rest]
        self.lasting, self.doomed = (
            opened.enter_context(
                ChildProgram(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
            )
            for _ in range(2)
        )
        opened.callback(self.lasting.kill)
        opened.callback(self.doomed.kill)


class JavaMembers:
    """Members of Java's clients; those named `b` are doomed."""

    def __init__(self, java: JavaProcesses, group: str, kind: str) -> None:
        self._java = java
        self._group = group
        self._kind = kind

    def join(self, name: str, topics: str) -> None:
        """Tell its process."""
        _say(self._process(name), f"join {self._kind} {self._group} {name} {topics}")

    def kill(self, name: str) -> None:
        """End its process, and all others in it."""
        self._process(name).kill()

    def leave(self, name: str) -> None:
        """Tell its process."""
        _say(self._process(name), f"leave {self._group} {name}")

    def subscribe(self, name: str, topics: str) -> None:
        """Tell its process."""
        _say(self._process(name), f"subscribe {self._group} {name} {topics}")

    def _process(self, name: str) -> ChildProgram:
        return self._java.doomed if name == "b" else self._java.lasting


class StreamsMembers:
    """Members that send the heartbeats of Kafka Streams; their topology stays as it is."""

    def __init__(self, opened: ExitStack, bootstrap: str, group: str) -> None:
        self._opened = opened
        self._facts = bootstrap, group
        self._members: dict[str, StreamsMember] = {}

    def join(self, name: str, topics: str) -> None:
        """Start its heartbeats."""
        member = self._members[name] = StreamsMember(*self._facts, name, topics)
        member.start()
        self._opened.callback(member.end, leaves=False)

    def kill(self, name: str) -> None:
        """Stop its heartbeats."""
        self._members[name].end(leaves=False)

    def leave(self, name: str) -> None:
        """Send the last one."""
        self._members[name].end(leaves=True)

    def subscribe(self, name: str, topics: str) -> None:
        """Refuse: another topology is another application."""
        raise NotImplementedError(name, topics)


def _say(program: ChildProgram, line: str) -> None:
    assert program.stdin is not None
    program.stdin.write(f"{line}\n".encode())
    program.stdin.flush()
