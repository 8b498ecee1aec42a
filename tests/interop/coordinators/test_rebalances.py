"""`kdiag rebalance explain` on real groups: capture, records and log agree with what was done."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from folders import ROOT
from programs.child_program import ChildProgram
from programs.kdiag_program import kdiag, start_kdiag
from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.releases import OLDEST, USUAL
from recordings.packet_recorder import recording

pytestmark = pytest.mark.real

PROGRAM: Final = ROOT / "tests" / "rig" / "group_stories" / "member_program.py"
PROPERTIES: Final = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.assignment.interval.ms": "0",
}
COARSER: Final = {
    "partitions_changed": "member_rejoined",
    "subscription_changed": "member_rejoined",
}
"""What a broker's log calls a cause where the client gives no reason."""


_EPOCHS: Final = r"\[GroupId {group}\] "
_AGAIN: Final = rf"group {{group}} .*(Leader|metadata for member)|{_EPOCHS}Bumped"
BEGINS: Final = {
    "member_joined": rf"group {{group}} .*Adding new member {{name}}|{_EPOCHS}Member .* joins",
    "member_failed": rf"Member {{name}}.* in group {{group}} has failed|{_EPOCHS}Member .* fenced",
    "member_left": rf"group {{group}} .*LeaveGroup|{_EPOCHS}Member .* left",
    "partitions_changed": _AGAIN,
    "subscription_changed": _AGAIN,
}
"""The line with which the coordinator begins to rebalance, by what was done."""

OVER: Final = (
    r"leader .*for group {group} for generation (\d+)"
    r"|Group {group} with generation (\d+) .*is now empty"
    rf"|{_EPOCHS}Computed a new target assignment for epoch (\d+)"
    rf"|{_EPOCHS}Bumped group epoch to (\d+) with metadata hash 0\."
)
"""The line with which it is through, with the generation or epoch."""


class Kind(NamedTuple):
    """A kind of group.

    Attributes:
        group: its id, and the beginning of the names of its topics.
        library: of its members.
        settings: of its members.
    """

    group: str
    library: str
    settings: Sequence[str] = ()


KINDS: Final = {
    USUAL: (
        Kind("rd", "confluent"),
        Kind("kp", "kafka-python"),
        Kind("next", "confluent", ["group.protocol=consumer"]),
    ),
    OLDEST: (Kind("rd", "confluent"), Kind("kp", "kafka-python")),
}


class Drill:
    """Does one thing after another to a group, each once the one before is over."""

    def __init__(
        self, cluster: KafkaCluster, admin: AdminClient, kind: Kind, opened: ExitStack
    ) -> None:
        self.kind = kind
        self._admin = admin
        self.done: dict[int, tuple[str, str | None]] = {}
        self._last: tuple[str, str | None] = ("", None)
        self._seen = 0
        self._cluster = cluster
        self._opened = opened
        self._members: dict[str, ChildProgram] = {}

    def join(self, name: str) -> None:
        """A member comes."""
        kind = self.kind
        command = [sys.executable, str(PROGRAM), kind.library]
        facts = [self._cluster.bootstrap, kind.group, name, f"{kind.group}-one", *kind.settings]
        member = ChildProgram([*command, *facts], stdin=subprocess.PIPE)
        self._members[name] = self._opened.enter_context(member)
        self._opened.callback(member.kill)
        self._last = ("member_joined", name)

    def kill(self, name: str) -> None:
        """A member dies."""
        self._members[name].kill()
        self._last = ("member_failed", name)

    def leave(self, name: str) -> None:
        """A member leaves."""
        stdin = self._members[name].stdin
        assert stdin is not None
        stdin.close()
        self._last = ("member_left", name)

    def subscribe(self, name: str) -> None:
        """A member wants another topic as well."""
        stdin = self._members[name].stdin
        assert stdin is not None
        stdin.write(f"{self.kind.group}-one,{self.kind.group}-two\n".encode())
        stdin.flush()
        self._last = ("subscription_changed", name)

    def grow(self) -> None:
        """A topic gets more partitions."""
        topic = f"{self.kind.group}-one"
        self._admin.create_partitions([NewPartitions(topic, 6)])[topic].result()
        self._last = ("partitions_changed", None)

    def wait(self) -> None:
        """Wait until the coordinator is through with the last thing, and the members, too.

        Clients may rebalance of their own accord before.
        """
        log = self._cluster.wait_for_log(1, lambda log: self._generation(log) is not None)
        generation = self._generation(log)
        assert generation is not None
        self.done[generation] = self._last
        self._seen = len(log)
        last = next(reversed(self._members.values()))
        assert last.poll() is not None or last.lasts_until(self._is_settled)

    def _generation(self, log: Sequence[str]) -> int | None:
        """Return the generation or epoch that the last thing made; None before that is over."""
        group, (cause, name) = re.escape(self.kind.group), self._last
        begins = re.compile(BEGINS[cause].format(group=group, name=name))
        over = re.compile(OVER.format(group=group))
        new = iter(log[self._seen :])
        if not any(begins.search(line) for line in new):
            return None
        found = next((found for line in new if (found := over.search(line))), None)
        return None if found is None else int(next(part for part in found.groups() if part))

    def _is_settled(self) -> bool:
        listed = self._admin.list_consumer_groups().result().valid
        states = {each.group_id: each.state for each in listed}
        return states.get(self.kind.group) in {ConsumerGroupState.STABLE, ConsumerGroupState.EMPTY}


STEPS: Final[tuple[Callable[[Drill], None], ...]] = (
    lambda drill: drill.join("a"),
    lambda drill: drill.join("b"),
    lambda drill: drill.kill("b"),
    lambda drill: drill.join("c"),
    lambda drill: drill.leave("c"),
    lambda drill: drill.grow(),
    lambda drill: drill.subscribe("a"),
    lambda drill: drill.leave("a"),
)


@pytest.mark.parametrize("release", [USUAL, OLDEST])
def test_three_sources_agree_with_what_was_done(
    release: str,
    get_kafka_jars: Callable[[str], Path],
    require_programs: Callable[..., None],
    tmp_path: Path,
) -> None:
    """Each cause is provoked in each kind of group while a capture runs."""
    require_programs("tcpdump")
    get_kafka_jars(release)
    capture, log = tmp_path / "traffic.pcap", tmp_path / "server.log"
    with ExitStack() as opened:
        cluster = opened.enter_context(KafkaCluster(release, tmp_path, properties=PROPERTIES))
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        drills = [Drill(cluster, admin, kind, opened) for kind in KINDS[release]]
        for drill in drills:
            for number in ("one", "two"):
                topic = f"{drill.kind.group}-{number}"
                admin.create_topics([NewTopic(topic, 4, 1)])[topic].result()
        with recording(capture, [cluster.ports[0].plaintext]):
            do(STEPS[0], drills)
            watcher = opened.enter_context(watching(cluster.bootstrap))
            for step in STEPS[1:]:
                do(step, drills)
            watched = seen_by(watcher, {(each.kind.group, [*each.done][-1]) for each in drills})
            log.write_text("".join(cluster.wait_for_log(1, bool)), encoding="utf-8")
        groups = [drill.kind.group for drill in drills]
        told = {
            "capture": explained(capture, groups=groups),
            "log": explained("--broker-log", log, groups=groups),
            "offsets": explained("-b", cluster.bootstrap, groups=groups),
            "all": explained(
                *(capture, "--broker-log", log, "-b", cluster.bootstrap), groups=groups
            ),
        }
    for drill in drills:
        check_watched(drill, watched, told["offsets"][drill.kind.group])
        for source, each in told.items():
            problems = [*disagreements(drill, each[drill.kind.group])]
            assert problems == [], (source, drill.kind, told_shortly(each[drill.kind.group]))
        final = {each["generation"]: each for each in told["all"][drill.kind.group]["rebalances"]}
        assert "unknown" not in {final[generation]["cause"] for generation in drill.done}


def do(step: Callable[[Drill], None], drills: Sequence[Drill]) -> None:
    """Do something to all groups, and wait until it is over."""
    for drill in drills:
        step(drill)
    for drill in drills:
        drill.wait()


@contextmanager
def watching(bootstrap: str) -> Iterator[ChildProgram]:
    """Watch all groups; yield the program once it knows what there was before."""
    command = ("rebalance", "watch", "-b", bootstrap, "-o", "jsonl", "--timeout", "120s")
    with start_kdiag(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watcher:
        assert watcher.stderr is not None
        assert b"watching" in watcher.stderr.readline()
        yield watcher
        watcher.kill()


def seen_by(watcher: ChildProgram, last: set[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """Return the causes that a watcher prints up to the last generations, by group and number.

    Then it ends, for the recording does not end before the wire is quiet.
    """
    assert watcher.stdout is not None
    seen: dict[tuple[str, int], str] = {}
    while not last <= seen.keys():
        each = json.loads(watcher.stdout.readline())
        seen[each["group"], each["generation"]] = each["cause"]
    watcher.kill()
    return seen


def check_watched(drill: Drill, watched: dict[tuple[str, int], str], group: dict[str, Any]) -> None:
    """Check that all was seen while it was watched, as it is told afterwards; and nothing else."""
    first, *later = drill.done
    seen = {number: cause for (name, number), cause in watched.items() if name == group["group"]}
    told = {each["generation"]: each["cause"] for each in group["rebalances"]}
    assert first not in seen
    assert seen.keys() >= {*later}
    assert seen.items() <= told.items()


def explained(*sources: object, groups: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the document of each group; nothing may contradict."""
    chosen = [word for group in groups for word in ("--group", group)]
    done = kdiag("rebalance", "explain", *sources, *chosen, "-o", "json")
    document = json.loads(done.out)
    assert not [each for each in document["warnings"] if " says " in each]
    assert done.code in {0, 1}, done.err
    return {each["group"]: each for each in document["data"]}


def disagreements(drill: Drill, group: dict[str, Any]) -> Iterator[str]:
    """Yield where a source is wrong; what it does not know is no disagreement.

    A member may have rejoined of its own accord right before, which is told as well then.
    """
    rebalances = {each["generation"]: each for each in group["rebalances"]}
    clients = {each["member_id"]: each["client_id"] for each in group["members"]}
    for generation, (cause, name) in drill.done.items():
        if generation not in rebalances:
            yield f"{generation}: not there"
            continue
        causes = rebalances[generation]["causes"]
        told = [
            (each["cause"], each["client_id"] or clients.get(each["member_id"])) for each in causes
        ]
        if not any(
            said in {cause, COARSER.get(cause), "unknown"}
            and (None in {name, client} or client == name)
            for said, client in told
        ):
            yield f"{generation}: {told} for {cause} {name}"


def told_shortly(group: dict[str, Any]) -> list[str]:
    """Return what a source tells, for whoever reads a failure."""
    return [
        " ".join(str(cause[key]) for key in ("cause", "confidence", "client_id", "note"))
        for each in group["rebalances"]
        for cause in each["causes"]
    ]
