"""What a round is played with: how large the lab is, who reads and writes, and what goes wrong.

draw_layout(Random("7-12"))
"""

from collections import defaultdict
from random import Random
from typing import Final, NamedTuple

from lab_ends.rounds.drawn_faults import DAMAGING, draw_fault
from lab_ends.rounds.round_clients import FAULTY
from lab_ends.rounds.round_reader import CLASSIC, CONSUMER

COOPERATIVE: Final = "cooperative-sticky"
"""Not for static members: one that returns between the two rebalances of an assignment is given
what was meant for it, and nobody joins again for the rest, as with Kafka's own clients."""

_MOST_FAULTS: Final = 4


class RoundLayout(NamedTuple):
    """What a round is played with.

    Attributes:
        nodes: how many brokers.
        partitions: how many of the topic.
        replicas: of each.
        min_isr: `min.insync.replicas`.
        release: that brokers speak as.
        protocol: of the group.
        assignor: likewise.
        readers: how many members.
        is_followed: whether somebody reads beside them, without a group.
        is_static: whether they have names.
        is_idempotent: whether the producer is.
        partition_max_bytes: of a Fetch.
        turns: how often each client has its turn while there are faults.
        faults: what goes wrong, by the turn at which it begins.
    """

    nodes: int
    partitions: int
    replicas: int
    min_isr: int
    release: str
    protocol: str
    assignor: str
    readers: int
    is_followed: bool
    is_static: bool
    is_idempotent: bool
    partition_max_bytes: int
    turns: int
    faults: dict[int, list[str]]

    @property
    def is_late(self) -> bool:
        """Return whether brokers may handle requests of which their clients have given up."""
        return any(" slow_disk=" in each for found in self.faults.values() for each in found)

    @property
    def is_damaged(self) -> bool:
        """Return whether clients are told what no broker said."""
        return any(f" {DAMAGING}=" in each for found in self.faults.values() for each in found)


def draw_layout(chance: Random) -> RoundLayout:
    """Return what a round is played with."""
    nodes = chance.choice((1, 2, 3))
    replicas = chance.randint(1, nodes)
    protocol = chance.choice((CLASSIC, CONSUMER))
    is_next = protocol == CONSUMER
    assignors = ("uniform", "range") if is_next else ("range", "roundrobin", "sticky", COOPERATIVE)
    assignor = chance.choice(assignors)
    turns = chance.randint(4, 9)
    faults: dict[int, list[str]] = defaultdict(list)
    for _ in range(chance.randint(1, _MOST_FAULTS)):
        faults[chance.randrange(turns)].append(draw_fault(chance, FAULTY, has_topic_ids=is_next))
    return RoundLayout(
        nodes=nodes,
        partitions=chance.choice((1, 2, 3, 5)),
        replicas=replicas,
        min_isr=chance.randint(1, replicas),
        release="4.3" if is_next else chance.choice(("4.3", "4.3", "3.9", "2.8")),
        protocol=protocol,
        assignor=assignor,
        readers=chance.choice((1, 1, 2)),
        is_followed=chance.random() < 0.4,
        is_static=chance.random() < 0.2 and assignor != COOPERATIVE,
        is_idempotent=chance.random() < 0.6,
        partition_max_bytes=chance.choice((1, 300, 1 << 20)),
        turns=turns,
        faults=dict(faults),
    )
