"""Kafka's own assignors as the judge of ours, over several rebalances of a group.

A *shape* is a group: `assignor`, and `rounds` of rebalances, each with `leader`, `generation`,
`topics` (for each partition the racks of its replicas) and `members` (id, instance id or null, the
hex of its subscription). Each member has one assignor over all rounds, and the leader's assigns.

The result of a round has `assignments`, which the leader sends, and `joins`, the subscriptions with
which members would join next, both as the hex of their bytes; or `error` where Java's assignor
failed.
"""

import gzip
import json
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from folders import DATA
from kdiag.client.group.assignor.assignor import Assignor, MemberSubscription
from kdiag.client.group.assignor.consumer_protocol import (
    MemberAssignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kdiag.client.group.assignor.cooperative_sticky import CooperativeStickyAssignor
from kdiag.client.group.assignor.range import RangeAssignor
from kdiag.client.group.assignor.round_robin import RoundRobinAssignor
from kdiag.client.group.assignor.sticky import StickyAssignor
from real_kafka import kafka_jars

ASSIGNORS: Final[dict[str, Callable[[], Assignor]]] = {
    each.name: each
    for each in (RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor)
}
JUDGED: Final = DATA / "assignors"

_PROGRAM: Final = Path(__file__).with_name("Assignors.java")

Shape = dict[str, Any]
RoundResult = dict[str, Any]


class AssignorGroup:
    """A group of which every member has an assignor of ours."""

    def __init__(self, assignor: str) -> None:
        self._make = ASSIGNORS[assignor]
        self._assignors: dict[str, Assignor] = {}

    def play(self, one: dict[str, Any]) -> RoundResult:
        """Return the result of a round."""
        members = {
            member_id: decode_subscription(bytes.fromhex(data), instance_id)
            for member_id, instance_id, data in one["members"]
        }
        for member_id in members:
            self._assignors.setdefault(member_id, self._make())
        racks = {
            topic: [frozenset(each) for each in partitions]
            for topic, partitions in one["topics"].items()
        }
        assignments = self._assignors[one["leader"]].assign(racks, members)
        result: RoundResult = {"assignments": {}, "joins": {}}
        for member_id, partitions in assignments.items():
            data = encode_assignment(MemberAssignment(partitions))
            result["assignments"][member_id] = data.hex()
            own = self._assignors[member_id]
            own.on_assignment(partitions, one["generation"])
            topics = members[member_id].topics
            join = MemberSubscription(
                topics,
                own.subscription_user_data(topics),
                partitions,
                one["generation"],
                members[member_id].rack,
            )
            result["joins"][member_id] = encode_subscription(join).hex()
        return result


def play(shape: Shape) -> list[RoundResult]:
    """Return our results of all rounds."""
    group = AssignorGroup(shape["assignor"])
    return [group.play(each) for each in shape["rounds"]]


def judge(version: str, shapes: Iterable[Shape]) -> list[list[RoundResult]]:
    """Return Kafka's results of all rounds of each shape; one JVM takes them all.

    Raises:
        UnavailableError: if Kafka's jars cannot be had.
    """
    done = subprocess.run(
        kafka_jars.java_command(kafka_jars.jars(version), str(_PROGRAM)),
        input="".join(json.dumps(each) + "\n" for each in shapes).encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return [json.loads(each) for each in done.stdout.decode().splitlines()]


def judged_shapes(assignor: str) -> list[tuple[Shape, list[RoundResult]]]:
    """Return the shapes of an assignor in `tests/data/assignors`, each with Kafka's results."""
    with gzip.open(JUDGED / f"{assignor}.jsonl.gz", "rt") as lines:
        return [(each["shape"], each["results"]) for each in map(json.loads, lines)]


def keep_judged(version: str, assignor: str, shapes: Sequence[Shape]) -> None:
    """Write the shapes of an assignor and Kafka's results to `tests/data/assignors`."""
    lines = [
        json.dumps({"shape": shape, "results": results}) + "\n"
        for shape, results in zip(shapes, judge(version, shapes), strict=True)
    ]
    file = JUDGED / f"{assignor}.jsonl.gz"
    file.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
