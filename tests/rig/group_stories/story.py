"""Groups told as stories: what members ask and are told, a step after another, as events."""

from typing import Any, Final

from kdiag.diagnosis.rebalance.events import (
    Beat,
    Client,
    EpochBeat,
    Event,
    JoinAnswered,
    JoinAsked,
    Leaving,
    Subscription,
    SyncAnswered,
    SyncAsked,
)
from kdiag.diagnosis.rebalance.model import EvidencePlace, GroupType

S: Final = 1_000_000_000
MS: Final = 1_000_000
GROUP: Final = "orders"
Shares = dict[str, frozenset[tuple[str, int]]]


def share(*numbers: int, topic: str = "clicks") -> frozenset[tuple[str, int]]:
    """Return partitions of one topic."""
    return frozenset((topic, number) for number in numbers)


class GroupStory:
    """Collects the events of one group; each step is a millisecond after the one before.

    Attributes:
        events: so far.
        now_ns: the moment of the last one.
    """

    def __init__(self, group: str = GROUP) -> None:
        self.group = group
        self.events: list[Event] = []
        self.now_ns = S

    def wait(self, seconds: float) -> None:
        """Let time pass in which nothing is seen."""
        self.now_ns += int(seconds * S)

    def ask(self, member: str, **changes: Any) -> JoinAsked:
        """A member asks to join; without changes for one topic, with a session of ten seconds."""
        place: dict[str, Any] = self._place(member)
        facts: dict[str, Any] = {
            "member_id": member,
            "instance_id": None,
            "protocol_type": "consumer",
            "subscription": Subscription(frozenset({"clicks"}), ("range",)),
            "session_timeout_ns": 10 * S,
            "rebalance_timeout_ns": 300 * S,
            "reason": None,
        }
        asked = JoinAsked(**place | facts | changes)
        self.events.append(asked)
        return asked

    def answer(
        self,
        asked: JoinAsked,
        generation: int,
        *,
        members: dict[str, str | None] | None = None,
        error: str | None = None,
        member_id: str | None = None,
    ) -> None:
        """A JoinGroup is answered; to the leader with all members."""
        named = asked.member_id if member_id is None else member_id
        place: dict[str, Any] = self._place(named)
        place.pop("client")
        leader = next(iter(members or {"": None}))
        facts: dict[str, Any] = {
            "asked": asked,
            "error": error,
            "member_id": named,
            "generation": generation,
        }
        facts |= {"leader": leader, "members": members}
        self.events.append(JoinAnswered(**place | facts))

    def join(self, generation: int, *members: str, everybody: bool = True) -> None:
        """Members, the leader first, join a generation; the leader is told of them all."""
        asked = [self.ask(each) for each in members]
        for number, each in enumerate(asked):
            told = dict.fromkeys(members) if number == 0 and everybody else None
            self.answer(each, generation, members=told)

    def sync(self, generation: int, shares: Shares) -> None:
        """The members, the leader first, get their assignments."""
        for number, member in enumerate(shares):
            place: dict[str, Any] = self._place(member)
            given = shares if number == 0 else None
            facts = {"member_id": member, "generation": generation, "assignments": given}
            self.events.append(SyncAsked(**place | facts))
        for member in shares:
            place = self._place(member)
            facts = {"member_id": member, "generation": generation, "error": None}
            self.events.append(SyncAnswered(**place | facts))

    def form(self, generation: int, *members: str) -> None:
        """Members join a generation and divide the partitions 0 to 5 in turn."""
        self.join(generation, *members)
        self.sync(
            generation,
            {each: share(*range(number, 6, len(members))) for number, each in enumerate(members)},
        )

    def beat(self, member: str, generation: int, **changes: Any) -> None:
        """A heartbeat is answered; without changes well."""
        facts: dict[str, Any] = {"error": None, "is_answered": True, "is_heartbeat": True}
        place: dict[str, Any] = self._place(member)
        facts |= {"member_id": member, "generation": generation}
        self.events.append(Beat(**place | facts | changes))

    def leave(self, member: str, **changes: Any) -> None:
        """A member leaves, and the coordinator agrees."""
        facts: dict[str, Any] = {"member_id": member, "instance_id": None, "reason": None}
        facts |= {"is_confirmed": True, "refusal": None}
        place: dict[str, Any] = self._place(member)
        self.events.append(Leaving(**place | facts | changes))

    def epoch(self, member: str, sent: int, told: int | None, **changes: Any) -> None:
        """A member of a consumer group sends its heartbeat with one epoch and is told another."""
        place: dict[str, Any] = self._place(member)
        facts: dict[str, Any] = {
            "type": GroupType.CONSUMER,
            "member_id": member,
            "instance_id": None,
            "sent_ns": self.now_ns - MS,
            "sent_epoch": sent,
            "epoch": told,
            "error": None,
            "topics": None,
            "assignor": None,
            "owned": None,
            "assigned": None,
        }
        self.events.append(EpochBeat(**place | facts | changes))

    def _place(self, member: str) -> dict[str, Any]:
        """Return what all events have: the next moment, the group, a packet, the client."""
        self.now_ns += MS
        return {
            "at_ns": self.now_ns,
            "group": self.group,
            "evidence": EvidencePlace("packet", None, len(self.events) + 1),
            "client": client_of(member),
        }


def client_of(member: str) -> Client:
    """Return the client of a member: a host of its own."""
    return Client(f"app-{member}", f"10.0.0.{sum(member.encode()) % 250}", None, f"tcp-{member}")
