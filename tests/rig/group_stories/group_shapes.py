"""Random groups for assignors: what clusters, members and their pasts can look like.

    shape = draw_shape("sticky", random.Random(7))

In each round members come and go, topics grow and appear, subscriptions change, the leader changes;
what members say of the past is right, or stale, of another member, in an old version, or garbage.
Run as a program, it draws the shapes of `tests/data/assignors` anew and has Kafka judge them.
"""

import uuid
from random import Random
from typing import Any, Final, NamedTuple

from group_stories.assignor_judge import ASSIGNORS, AssignorGroup, Shape, keep_judged
from kdiag.client.group.assignor.assignor import MemberSubscription
from kdiag.client.group.assignor.consumer_protocol import (
    NEWEST_VERSION,
    decode_subscription,
    encode_subscription,
)

_CLIENTS: Final = ("consumer-orders-1", "rdkafka", "größe", "客户端", "🐍", "\ufb01", "a.b_c-d")
_TOPICS: Final = ("orders", "payments", "a", "Aa", "BB", "t-{}", "logs.{}.events", "x_{}{}")


_KEPT: Final = 24


class ShapeLimits(NamedTuple):
    """How large shapes are."""

    members: int = 24
    topics: int = 12
    partitions: int = 25
    rounds: int = 4


_LIMITS: Final = ShapeLimits()
_KEPT_LIMITS: Final = ShapeLimits(8, 6, 12, 4)


def draw_shape(assignor: str, random: Random, limits: ShapeLimits = _LIMITS) -> Shape:
    """Return a group and its rebalances."""
    return _Draw(assignor, random, limits).shape()


class _Draw:
    """One shape while it is drawn."""

    def __init__(self, assignor: str, random: Random, limits: ShapeLimits) -> None:
        self._assignor = assignor
        self._random = random
        self._limits = limits
        self._group = AssignorGroup(assignor)
        self._racks = [f"rack-{name}" for name in "abcd"[: random.choice((0, 0, 1, 2, 3, 4))]]
        self._are_replicas_everywhere = random.random() < 0.2
        self._do_all_want_the_same = random.random() < 0.5
        self._truth = random.choice((1.0, 0.9, 0.6))
        self._topics: dict[str, list[list[str]]] = {}
        self._wanted: dict[str, list[str]] = {}
        self._member_racks: dict[str, str | None] = {}
        self._instances: dict[str, str | None] = {}
        self._joins: dict[str, list[str]] = {}
        self._generation = random.randrange(5)

    def shape(self) -> Shape:
        """Return the shape, each round of which stands on the results before it."""
        for _ in range(self._random.randint(1, self._limits.topics)):
            self._add_topic()
        for _ in range(self._random.randint(1, self._limits.members)):
            self._add_member()
        rounds = []
        for _ in range(self._random.randint(1, self._limits.rounds)):
            rounds.append(self._round())
            self._change()
        return {"assignor": self._assignor, "rounds": rounds}

    def _add_topic(self) -> None:
        name = self._random.choice(_TOPICS).format(
            self._random.randrange(30), self._random.randrange(9)
        )
        self._topics.setdefault(name, [])
        self._grow(name)

    def _grow(self, name: str) -> None:
        count = self._random.choice((0, 1, 2, 3, 6, 6, self._limits.partitions))
        for _ in range(self._random.randint(0, count) if count > 6 else count):
            some = self._random.sample(self._racks, self._random.randint(0, len(self._racks)))
            self._topics[name].append(self._racks if self._are_replicas_everywhere else some)

    def _add_member(self) -> None:
        random = self._random
        unique = uuid.UUID(int=random.getrandbits(128), version=4)
        member_id = f"{random.choice(_CLIENTS)}-{unique}"
        is_static = random.random() < 0.2
        self._instances[member_id] = f"instance-{random.randrange(10**6)}" if is_static else None
        has_rack = self._racks and random.random() < 0.9
        self._member_racks[member_id] = random.choice((*self._racks, "far")) if has_rack else None
        self._subscribe(member_id)

    def _subscribe(self, member_id: str) -> None:
        topics = [*self._topics, "unknown"]
        count = self._random.randint(0, len(topics))
        self._wanted[member_id] = topics if count == 0 else self._random.sample(topics, count)

    def _change(self) -> None:
        """Let something happen before the next rebalance."""
        random = self._random
        for member_id in [each for each in self._wanted if random.random() < 0.15]:
            if len(self._wanted) > 1:
                del self._wanted[member_id]
        for _ in range(random.choice((0, 0, 1, 3))):
            self._add_member()
        for name in [each for each in self._topics if random.random() < 0.1]:
            self._grow(name)
        if random.random() < 0.3:
            self._add_topic()
        for member_id in [each for each in self._wanted if random.random() < 0.1]:
            self._subscribe(member_id)

    def _round(self) -> dict[str, Any]:
        self._generation += self._random.choice((1, 1, 1, 2))
        ids = self._random.sample(list(self._wanted), len(self._wanted))
        one = {
            "leader": self._random.choice(ids),
            "generation": self._generation,
            "topics": {name: list(each) for name, each in self._topics.items()},
            "members": [[each, self._instances[each], self._subscription(each)] for each in ids],
        }
        for member_id, join in self._group.play(one)["joins"].items():
            self._joins.setdefault(member_id, []).append(join)
        return one

    def _subscription(self, member_id: str) -> str:
        """Return the bytes of what a member says of itself, mostly the truth."""
        wanted = [*self._topics, "unknown"] if self._do_all_want_the_same else None
        topics = wanted or self._wanted[member_id]
        said = MemberSubscription(topics, self._user_data(b""), rack=self._member_racks[member_id])
        past = self._joins.get(member_id)
        if past:
            is_true = self._random.random() < self._truth
            join = past[-1] if is_true else self._lie(past)
            said = decode_subscription(bytes.fromhex(join))._replace(topics=topics)
            if not is_true:
                said = said._replace(
                    generation=self._random.choice((said.generation, -1, self._generation - 1)),
                    user_data=self._user_data(said.user_data or b""),
                )
        version = NEWEST_VERSION if self._random.random() < 0.8 else self._random.randrange(3)
        known = {topic: len(each) for topic, each in self._topics.items()}
        owned = [each for each in said.owned_partitions if each.partition < known[each.topic]]
        return encode_subscription(said._replace(owned_partitions=owned), version).hex()

    def _lie(self, past: list[str]) -> str:
        """Return a join of an earlier generation, or of another member."""
        others = self._random.choice(list(self._joins.values()))
        return self._random.choice((self._random.choice(past), self._random.choice(others)))

    def _user_data(self, data: bytes) -> bytes | None:
        """Return user data cut off, none, or some that nobody can read."""
        cut = data[: self._random.randint(0, len(data))]
        return self._random.choice((data, data, data[:-4], cut, None, b"\xff" * 9, b""))


def keep_shapes() -> None:
    """Draw the shapes of `tests/data/assignors` anew and have Kafka judge them."""
    for assignor in ASSIGNORS:
        random = Random(f"{assignor} 1")
        shapes = [draw_shape(assignor, random, _KEPT_LIMITS) for _ in range(_KEPT)]
        keep_judged("4.3.1", assignor, shapes)


if __name__ == "__main__":
    keep_shapes()
