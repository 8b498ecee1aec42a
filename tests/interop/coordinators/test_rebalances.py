"""`kdiag rebalance explain` and `watch` on real groups: all sources agree with what was done."""

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from group_stories.member_hosts import (
    JavaMembers,
    JavaProcesses,
    MemberHost,
    ProgramMembers,
    StreamsMembers,
)
from group_stories.real_members import client_of
from kdiag.client.cluster_client import ClusterClient
from kdiag.probe.groups.listing import list_groups
from programs.child_program import ChildProgram
from programs.kdiag_program import kdiag, start_kdiag
from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.releases import OLDEST, USUAL
from recordings.packet_recorder import recording

pytestmark = pytest.mark.soak

PROPERTIES: Final = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.assignment.interval.ms": "0",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.session.timeout.ms": "2000",
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.heartbeat.interval.ms": "300",
    "group.share.assignment.interval.ms": "0",
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.session.timeout.ms": "2000",
    "group.streams.min.heartbeat.interval.ms": "200",
    "group.streams.heartbeat.interval.ms": "300",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
}
COARSER: Final = {
    "partitions_changed": "member_rejoined",
    "subscription_changed": "member_rejoined",
}
"""What a broker's log calls a cause where the client gives no reason."""

OF_THEIR_OWN: Final = {"member_rejoined", "partitions_changed"}
"""For what clients rejoin when they like: kafka-python's twice for the same new partitions."""

BY_LOOKS: Final = {
    "member_failed": ("unknown",),
    "member_left": ("unknown", "group_emptied"),
    "partitions_changed": ("member_rejoined", "unknown"),
    "subscription_changed": ("member_rejoined", "unknown"),
}
"""What a difference of two descriptions is called where they cannot tell the cause."""


_EPOCHS: Final = r"\[GroupId {group}\](?:\[MemberId \S+\])? "
_AGAIN: Final = rf"group {{group}} .*(?:Leader|metadata for member)|{_EPOCHS}Bumped"
BEGINS: Final = {
    "member_joined": rf"group {{group}} .*Adding new member {{name}}|{_EPOCHS}Member .*joins",
    "member_failed": (
        rf"Member {{name}}.* in group {{group}} has failed"
        rf"|{_EPOCHS}(?:Streams m|M)ember .* fenced"
    ),
    "member_left": rf"group {{group}} .*LeaveGroup|{_EPOCHS}Member .* left",
    "partitions_changed": _AGAIN,
    "subscription_changed": _AGAIN,
}
"""The line with which the coordinator begins to rebalance, by what was done."""

OVER: Final = (
    r"leader .*for group {group} for generation (\d+)"
    r"|Group {group} with generation (\d+) .*is now empty"
    rf"|{_EPOCHS}Computed a new target assignment for epoch (\d+)"
    rf"|{_EPOCHS}Bumped (?:streams )?group epoch to (\d+) with metadata hash 0\b"
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


STREAMS: Final = "streams"
SHARE: Final = "java share"
SILENT_ENDS: Final = (STREAMS, SHARE)
"""The members of groups that make epochs of their own accord, and whose last one no line tells."""

OF_SHARE: Final = BEGINS | {
    "partitions_changed": rf"{_EPOCHS}Computed new metadata hash",
    "subscription_changed": rf"{_EPOCHS}Member .* updated its subscribed",
}
"""Share groups make an epoch as well when the state of partitions is there."""

KINDS: Final = {
    USUAL: (
        Kind("rd", "confluent"),
        Kind("kp", "kafka-python"),
        Kind("next", "confluent", ["group.protocol=consumer"]),
        Kind("java", "java classic"),
        Kind("java-next", "java consumer"),
        Kind("java-share", SHARE),
        Kind("streams", STREAMS),
    ),
    OLDEST: (Kind("rd", "confluent"), Kind("kp", "kafka-python")),
}


class Drill:
    """Does one thing after another to a group, each once the one before is over."""

    def __init__(
        self,
        cluster: KafkaCluster,
        clients: tuple[AdminClient, ClusterClient],
        kind: Kind,
        host: MemberHost,
    ) -> None:
        self.kind = kind
        self._admin, self._client = clients
        self.done: dict[int, tuple[str, str | None]] = {}
        self._last: tuple[str, str | None] | None = None
        self._seen = 0
        self._cluster = cluster
        self._host = host

    def join(self, name: str) -> None:
        """A member comes."""
        self._host.join(name, f"{self.kind.group}-one")
        self._last = ("member_joined", name)

    def kill(self, name: str) -> None:
        """A member dies."""
        self._host.kill(name)
        self._last = ("member_failed", name)

    def leave(self, name: str) -> None:
        """A member leaves."""
        self._host.leave(name)
        self._last = ("member_left", name)

    def end(self, name: str) -> None:
        """The last member leaves; what epoch that makes, no line tells of some groups."""
        self.leave(name)
        if self.kind.library in SILENT_ENDS:
            self._last = None

    def subscribe(self, name: str) -> None:
        """A member wants another topic as well, unless its application would be another then."""
        if self.kind.library != STREAMS:
            self._host.subscribe(name, f"{self.kind.group}-one,{self.kind.group}-two")
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
        if self._last is None:
            return
        log = self._cluster.wait_for_log(1, lambda log: self._generation(log) is not None)
        generation = self._generation(log)
        assert generation is not None
        self.done[generation] = self._last
        self._seen, self._last = len(log), None
        until_s = time.monotonic() + 30
        while not self._is_settled():
            assert time.monotonic() < until_s

    def _generation(self, log: Sequence[str]) -> int | None:
        """Return the generation or epoch that the last thing made; None before that is over."""
        assert self._last is not None
        group, (cause, name) = re.escape(self.kind.group), self._last
        words = OF_SHARE if self.kind.library == SHARE else BEGINS
        begins = re.compile(words[cause].format(group=group, name=name))
        over = re.compile(OVER.format(group=group))
        new = iter(log[self._seen :])
        if not any(begins.search(line) for line in new):
            return None
        found = next((found for line in new if (found := over.search(line))), None)
        return None if found is None else int(next(part for part in found.groups() if part))

    def _is_settled(self) -> bool:
        listed = list_groups(self._client).groups.get(self.kind.group)
        return listed is not None and listed.state in {"Stable", "Empty"}


STEPS: Final[tuple[Callable[[Drill], None], ...]] = (
    lambda drill: drill.join("a"),
    lambda drill: drill.join("b"),
    lambda drill: drill.kill("b"),
    lambda drill: drill.join("c"),
    lambda drill: drill.leave("c"),
    lambda drill: drill.grow(),
    lambda drill: drill.subscribe("a"),
    lambda drill: drill.end("a"),
)


@pytest.mark.real
@pytest.mark.parametrize("release", [USUAL, OLDEST])
def test_three_sources_agree_with_what_was_done(
    release: str,
    get_kafka_jars: Callable[[str], Path],
    require_programs: Callable[..., None],
    tmp_path: Path,
) -> None:
    """Each cause is provoked in each kind of group while a capture runs, and it is watched."""
    require_programs("tcpdump")
    get_kafka_jars(release)
    capture, log = tmp_path / "traffic.pcap", tmp_path / "server.log"
    with ExitStack() as opened:
        cluster = opened.enter_context(KafkaCluster(release, tmp_path, properties=PROPERTIES))
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        hosts = hosts_of(opened, cluster, get_kafka_jars(release), KINDS[release])
        client = opened.enter_context(client_of(cluster.bootstrap))
        client.connect()
        clients = admin, client
        drills = [
            Drill(cluster, clients, *each) for each in zip(KINDS[release], hosts, strict=True)
        ]
        for drill in drills:
            for number in ("one", "two"):
                topic = f"{drill.kind.group}-{number}"
                admin.create_topics([NewTopic(topic, 4, 1)])[topic].result()
        with recording(capture, [cluster.ports[0].plaintext]):
            do(STEPS[0], drills)
            port, brokers = cluster.ports[0].plaintext, ("-b", cluster.bootstrap)
            own = ("--live", "lo", "--filter", f"tcp port {port}", "--port", port)
            by_packets = opened.enter_context(watching(*own))
            by_looks = opened.enter_context(watching(*brokers, "--describe"))
            watcher = opened.enter_context(watching(*brokers))
            for step in STEPS[1:]:
                do(step, drills)
            last = {(each.kind.group, [*each.done][-1]) for each in drills}
            watched, told_live = (
                seen_by(each, lambda seen: last <= {generation_of(line) for line in seen})
                for each in (watcher, by_packets)
            )
            ending = sum(each.kind.library not in SILENT_ENDS for each in drills)
            looked = seen_by(by_looks, lambda seen: count_empty(seen) == ending)
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
        check_watched(drill, told_live, told["capture"][drill.kind.group])
        if drill.kind.library not in SILENT_ENDS:  # those make epochs of their own accord
            problems = [*wrong_looks(drill, looked, told["capture"][drill.kind.group])]
            assert problems == []
        for source, each in told.items():
            if drill.kind.group not in each:
                continue
            group, captured = (of[drill.kind.group] for of in (each, told["capture"]))
            problems = [*disagreements(drill, group, captured if source == "log" else None)]
            assert problems == [], (source, drill.kind, told_shortly(group))
        if drill.kind.library in SILENT_ENDS:
            continue  # where the log does not help, nobody knows who crashed
        final = {each["generation"]: each for each in told["all"][drill.kind.group]["rebalances"]}
        assert "unknown" not in {final[generation]["cause"] for generation in drill.done}


def hosts_of(
    opened: ExitStack, cluster: KafkaCluster, jars: Path, kinds: Sequence[Kind]
) -> Iterator[MemberHost]:
    """Yield what has the members of each group."""
    java: JavaProcesses | None = None
    for kind in kinds:
        library, _, protocol = kind.library.partition(" ")
        if library == "java":
            java = java or JavaProcesses(opened, jars, cluster.bootstrap)
            yield JavaMembers(java, kind.group, protocol)
        elif library == STREAMS:
            yield StreamsMembers(opened, cluster.bootstrap, kind.group)
        else:
            facts = (cluster.bootstrap, kind.group, library, kind.settings)
            yield ProgramMembers(opened, *facts)


def do(step: Callable[[Drill], None], drills: Sequence[Drill]) -> None:
    """Do something to all groups, and wait until it is over."""
    for drill in drills:
        step(drill)
    for drill in drills:
        drill.wait()


@contextmanager
def watching(*how: object) -> Iterator[ChildProgram]:
    """Watch all groups; yield the program once it knows what there was before."""
    command = ("rebalance", "watch", *how, "-o", "jsonl", "--timeout", "120s")
    with start_kdiag(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watcher:
        assert watcher.stderr is not None
        assert b"watching" in watcher.stderr.readline()
        yield watcher
        watcher.kill()


Lines = Sequence[dict[str, Any]]
"""What a watcher has printed."""


def seen_by(watcher: ChildProgram, is_enough: Callable[[Lines], bool]) -> Lines:
    """Return what a watcher prints until that is enough.

    Then it ends, for the recording does not end before the wire is quiet.
    """
    assert watcher.stdout is not None
    seen: list[dict[str, Any]] = []
    while not is_enough(seen):
        seen.append(json.loads(watcher.stdout.readline()))
    watcher.kill()
    return seen


def generation_of(line: dict[str, Any]) -> tuple[str, int]:
    """Return which rebalance a line is about."""
    return line["group"], line["generation"]


def count_empty(seen: Lines) -> int:
    """Return how many groups are empty."""
    return sum(each["member_count"] == 0 for each in seen)


def check_watched(drill: Drill, watched: Lines, group: dict[str, Any]) -> None:
    """Check that all was seen while it was watched, as it is told afterwards; and nothing else.

    What shows a cause may come only after the rebalance is printed, as `unknown` then.
    """
    first, *later = drill.done
    own = [each for each in watched if each["group"] == drill.kind.group]
    seen = {each["generation"]: each["cause"] for each in own}
    told = {each["generation"]: each["cause"] for each in group["rebalances"]}
    assert first not in seen
    assert seen.keys() >= {*later}
    known = {key: cause for key, cause in seen.items() if cause != "unknown"}
    assert {key: told.get(key) for key in known} == known


def wrong_looks(drill: Drill, looked: Lines, group: dict[str, Any]) -> Iterator[str]:
    """Yield what looks at a group tell that did not happen, or not then; they number nothing.

    What happened is what the capture tells: a slow member may have gone and come back besides.
    Whether who is gone left or failed they cannot tell, and several changes may be one to them.
    """
    told = {each["generation"]: each["causes"] for each in group["rebalances"]}
    happened = [
        {*(cause["cause"] for cause in told.get(key, ())), *drill.done.get(key, ())[:1]}
        for key in sorted({*told, *drill.done})
        if key > min(drill.done)
    ]
    steps = [
        {*causes, *(word for cause in causes for word in BY_LOOKS.get(cause, ()))}
        for causes in happened
    ]
    own = [each for each in looked if each["group"] == drill.kind.group]
    for number, each in enumerate(own):
        causes = {cause["cause"] for cause in each["causes"]}
        while steps and not causes & steps[0]:
            steps.pop(0)
        if not steps:
            seen = [[cause["cause"] for cause in each["causes"]] for each in own[: number + 1]]
            yield f"{seen} does not end with what was still to come of {happened}"
            return


def explained(*sources: object, groups: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the document of each group; nothing may contradict."""
    chosen = [word for group in groups for word in ("--group", group)]
    done = kdiag("rebalance", "explain", *sources, *chosen, "-o", "json")
    document = json.loads(done.out)
    assert not [each for each in document["warnings"] if " says " in each]
    # Of a program that is killed, the last answer may be cut: that is all that may be missing.
    assert done.code in {0, 1, 8}, (sources, document["warnings"], done.err)
    return {each["group"]: each for each in document["data"]}


Who = tuple[str, str | None]
"""A cause, and the client id of whom it was."""


def disagreements(
    drill: Drill, group: dict[str, Any], captured: dict[str, Any] | None = None
) -> Iterator[str]:
    """Yield where a source is wrong; what it does not know is no disagreement.

    A member may have rejoined of its own accord right before: that is told as well then, or it made
    a generation of its own, and what was done made the next one. A broker's log tells only what
    began a rebalance; what came while it rebalanced, `captured` has to tell.
    """
    rebalances = {each["generation"]: each["causes"] for each in group["rebalances"]}
    for generation, done in drill.done.items():
        causes = rebalances.get(generation)
        if causes is None:
            yield f"{generation}: not there"
            continue
        told = [*told_by(group, generation)]
        if all(each["cause"] in OF_THEIR_OWN for each in causes):
            told += told_by(captured, generation) if captured else ()
            is_guess = all(each["confidence"] == "likely" for each in causes)
            if is_guess and generation + 1 not in drill.done:
                told += told_by(group, generation + 1)
        if not any(is_of(done, each) for each in told):
            yield f"{generation}: {told} for {done}"


def told_by(group: dict[str, Any], generation: int) -> Iterator[Who]:
    """Yield the causes that a source tells for a generation."""
    clients = {each["member_id"]: each["client_id"] for each in group["members"]}
    for rebalance in group["rebalances"]:
        if rebalance["generation"] == generation:
            for each in rebalance["causes"]:
                yield each["cause"], each["client_id"] or clients.get(each["member_id"])


def is_of(done: Who, told: Who) -> bool:
    """Return whether a cause is what was done, or says too little to be anything else."""
    (cause, name), (said, client) = done, told
    is_same = said in {cause, COARSER.get(cause), "unknown"}
    return is_same and (None in {name, client} or client == name)


def told_shortly(group: dict[str, Any]) -> list[str]:
    """Return what a source tells, for whoever reads a failure."""
    return [
        " ".join(str(cause[key]) for key in ("cause", "confidence", "client_id", "note"))
        for each in group["rebalances"]
        for cause in each["causes"]
    ]
