"""Members of kdiag, librdkafka and Java in one group: nothing is missed, and nothing comes twice.

What a member that was killed had printed and not committed comes again: that is all that may.
"""

import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from client_ends.steady_writer import SteadyWriter
from folders import ROOT
from programs.child_program import ChildProgram
from programs.kdiag_program import COMMAND
from real_kafka import kafka_jars, topic_changes, topic_maker
from real_kafka.kafka_cluster import KafkaCluster, free_ports
from real_kafka.releases import OLDEST, USUAL

pytestmark = pytest.mark.soak

CLASSIC: Final = "classic"
NEXT: Final = "consumer"
"""The name of a group, and its protocol; a member of the other one can be in it, too."""

PROTOCOLS: Final = {(NEXT, "k-1"): "consumer", (NEXT, "k-3"): "classic"}
"""What members of kdiag are told, by group and name; others follow what the group is."""

PARTITIONS: Final = 4
MORE: Final = 6
CONSOLE: Final = "org.apache.kafka.tools.consumer.ConsoleConsumer"
PROGRAM: Final = ROOT / "tests" / "rig" / "group_stories" / "member_program.py"
QUICK: Final = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.assignment.interval.ms": "0",
}
OFTEN: Final = ("heartbeat.interval.ms=200", "session.timeout.ms=1500")
COMMITS: Final = ("auto.commit.interval.ms=200",)
FRESH: Final = ("metadata.max.age.ms=700",)
INSTANCE: Final = "till-1"

RECORD: Final = re.compile(r"(?:Partition:)?(\d+)\s(?:Offset:)?(\d+)")

Record = tuple[int, int]


@pytest.fixture(scope="module", params=[USUAL, OLDEST])
def cluster(
    request: pytest.FixtureRequest,
    get_kafka_jars: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[KafkaCluster]:
    """A broker of each release."""
    get_kafka_jars(request.param)
    folder = tmp_path_factory.mktemp("group")
    with KafkaCluster(request.param, folder, ports=free_ports(1), properties=QUICK) as cluster:
        yield cluster


class Members:
    """Members in processes of their own, each of which prints what it reads into a file.

    Names with an r are librdkafka's, those with a j Java's; those with an s are one static member
    of kdiag's, which comes back.
    """

    def __init__(self, cluster: KafkaCluster, group: str, folder: Path, opened: ExitStack) -> None:
        self._version = cluster.version
        self._bootstrap = cluster.bootstrap
        self._group = group
        self._topic = f"read-by-{group}"
        self._folder = folder
        self._opened = opened
        self._running: dict[str, ChildProgram] = {}

    def join(self, name: str) -> None:
        """A member comes, and gets partitions."""
        starts: dict[str, Callable[..., ChildProgram]] = {
            "r": self._start_other,
            "j": self._start_java,
        }
        start: Callable[..., ChildProgram] = starts.get(name[0], self._start)
        with self._file(name).open("wb") as out, self._errors(name).open("wb") as err:
            member = start(name, stdout=out, stderr=err, stdin=subprocess.PIPE)
        self._running[name] = self._opened.enter_context(member)
        self._opened.callback(member.kill)
        self.await_reading(name)

    def _start(self, name: str, **streams: Any) -> ChildProgram:
        protocol = PROTOCOLS.get((self._group, name))
        settings = [part for each in (*OFTEN, *COMMITS, *FRESH) for part in ("-X", each)]
        command = [
            "tail",
            "-b",
            self._bootstrap,
            "-g",
            self._group,
            self._topic,
            "--commit",
            "--yes",
        ]
        command += ["--instance-id", INSTANCE] if name.startswith("s") else []
        command += [] if protocol is None else ["--protocol", protocol]
        shape = ["-o", "beginning", "-f", r"%p %o\n"]
        return ChildProgram([*COMMAND, *command, *settings, *shape], **streams)

    def _start_other(self, name: str, **streams: Any) -> ChildProgram:
        facts = [
            self._bootstrap,
            self._group,
            name,
            self._topic,
            "auto.offset.reset=earliest",
            *COMMITS,
        ]
        facts += ["group.protocol=consumer"] if self._group == NEXT else OFTEN
        return ChildProgram([sys.executable, str(PROGRAM), "confluent", *facts], **streams)

    def _start_java(self, _name: str, **streams: Any) -> ChildProgram:
        settings = [*COMMITS, *FRESH, "auto.offset.reset=earliest"]
        settings += ["group.protocol=consumer"] if self._group == NEXT else OFTEN
        shape = ("print.partition=true", "print.offset=true", "print.value=false")
        command = kafka_jars.java_command(
            kafka_jars.jars(self._version),
            CONSOLE,
            *("--bootstrap-server", self._bootstrap),
            *("--group", self._group, "--topic", self._topic),
            *(f"--consumer-property={each}" for each in settings),
            *(f"--property={each}" for each in shape),
        )
        return ChildProgram(command, **streams)

    def await_reading(self, *names: str) -> None:
        """Wait until members read something that they have not read yet."""
        for name in names:
            size = self._file(name).stat().st_size
            member = self._running[name]
            reads = member.lasts_until(lambda: self._file(name).stat().st_size > size)  # noqa: B023
            assert reads, self._errors(name).read_text()

    def last_until(self, name: str, happens: Callable[[], bool]) -> bool:
        """Wait for something to happen; false if a member ends before."""
        return self._running[name].lasts_until(happens)

    def leave(self, name: str) -> None:
        """A member leaves as it should."""
        member = self._running.pop(name)
        if name.startswith("r"):
            assert member.stdin is not None
            member.stdin.close()
        else:
            member.send_signal(signal.SIGINT)
        assert member.wait(30) in {0, 130}, self._errors(name).read_text()

    def kill(self, name: str) -> None:
        """A member dies."""
        self._running.pop(name).kill()

    def read(self, name: str) -> list[Record]:
        """Return what a member has printed; the last line of one that died may be cut.

        Java's prints warnings in between.
        """
        text = self._file(name).read_text()
        lines = text[: text.rfind("\n") + 1].splitlines()
        found = [RECORD.fullmatch(line) for line in lines]
        if not name.startswith("j"):
            assert all(found), lines
        return [(int(each[1]), int(each[2])) for each in found if each is not None]

    def told(self) -> str:
        """Return what all members have told."""
        return "\n".join(f"{each.stem}: {each.read_text()}" for each in self._folder.glob("*.err"))

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.out"

    def _errors(self, name: str) -> Path:
        return self._folder / f"{name}.err"


@pytest.mark.parametrize("group", [CLASSIC, pytest.param(NEXT, marks=pytest.mark.real)])
def test_a_mixed_group_misses_nothing_and_reads_nothing_twice(
    cluster: KafkaCluster, group: str, tmp_path: Path
) -> None:
    """Through joins, leaves and a death, by either protocol, and by both at once."""
    if group == NEXT and cluster.version == OLDEST:
        pytest.skip("brokers of this release do not have the new protocol yet")
    topic = f"read-by-{group}"
    topic_maker.create(cluster.bootstrap, topic, PARTITIONS)
    names = ["k-1", "r-1", "k-2", "j-1", "s-1", "s-2", "r-2", "k-3"]
    with ExitStack() as opened, SteadyWriter(cluster.bootstrap, topic, PARTITIONS) as writer:
        members = Members(cluster, group, tmp_path, opened)
        members.join("k-1")
        members.join("r-1")
        members.join("k-2")
        members.leave("k-1")
        members.join("j-1")
        members.await_reading("r-1", "k-2")
        members.leave("r-1")
        members.join("s-1")
        members.leave("s-1")
        members.join("s-2")
        topic_changes.add_partitions(cluster.bootstrap, topic, MORE)
        writer.widen(MORE)
        members.await_reading("k-2", "j-1")
        members.join("r-2")
        members.kill("k-2")
        members.leave("j-1")
        members.join("k-3")
        writer.finish()
        written = {(each, at) for each, count in writer.counts.items() for at in range(count)}
        assert {each for each, _ in written} == {*range(MORE)}
        counts: Counter[Record] = Counter()

        def is_all_read() -> bool:
            counts.clear()
            counts.update(record for name in names for record in members.read(name))
            return counts.keys() >= written

        assert members.last_until("k-3", is_all_read), members.told()
        for name in ("r-2", "k-3", "s-2"):
            members.leave(name)
        assert is_all_read()
        assert counts.keys() == written
        dead = set(members.read("k-2"))
        twice = {record for record, count in counts.items() if count > 1}
        assert twice <= dead, (sorted(twice - dead), members.told())


def test_a_broker_without_the_consumer_protocol_ends_a_member_at_once(
    cluster: KafkaCluster,
) -> None:
    """Kafka 3.9 has the API and does not take it; newer ones do."""
    topic_maker.create(cluster.bootstrap, "never-read", 1)
    options = ["-g", "new", "never-read", "-e", "--protocol", "consumer", "--timeout", "30s"]
    command = [*COMMAND, "tail", "-b", cluster.bootstrap, *options]
    with ChildProgram(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as member:
        out, err = member.communicate(timeout=30)
    told = b"the broker does not speak the consumer protocol"
    expected = (7, True) if cluster.version == OLDEST else (0, False)
    assert (member.returncode, told in err, out) == (*expected, b""), err.decode()
