"""Fault rules: whom a fault concerns, and what happens then, as plain data.

    FaultRule(
        match=FaultMatch(apis=("Fetch",), topic="orders", p=0.1),
        effect=FaultEffect(delay_ns=200 * NS_PER_MS),
    )

is `Fetch topic=orders p=0.1 delay=200ms` in the grammar. What is None matches everything, or does
not happen. A rule counts the requests that its filters let through; `calls`, `every`, `p` and
`times` then choose among these, in this order.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final, Literal

import msgspec

from kdiag.wire.schema import Versions

FLIPS: Final[Mapping[str, tuple[int, int]]] = {
    "base_offset": (5, 0x01),  # 65,536 further
    "length": (10, 0x40),
    "leader_epoch": (15, 0x01),
    "magic": (16, 0x04),
    "crc": (20, 0x01),
    "attributes": (22, 0x01),
    "records": (-1, 0x04),  # the last byte of all
}
"""The byte of a batch and the bit of it that are changed, by the name of the field there."""

ApiVersionsOverride = tuple[str, Versions]
"""An API, and the versions that brokers tell of it; the empty range is none at all."""


class FaultMatch(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a fault concerns; all that is given must be so.

    Attributes:
        apis: the names of APIs; empty is any.
        versions: of the request.
        topic: a pattern with `*`, `?` and `[]`; one topic of the request has to match.
        partition: of such a topic.
        group: a pattern for the group that the request names.
        node: the id of the broker that is asked.
        client_id: a pattern.
        connection: the number of the connection at its broker, from 1.
        calls: which of the requests that the filters let through, from 1.
        every: each so many of them.
        p: the probability.
        seed: of the generator for `p` and jitter.
        times: how often at the most.
        after_ns: since the fault was added; nothing happens before.
        for_ns: since then; nothing happens afterwards.
    """

    apis: tuple[str, ...] = ()
    versions: Versions | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    node: int | None = None
    client_id: str | None = None
    connection: int | None = None
    calls: Versions | None = None
    every: int = 1
    p: float = 1.0
    seed: int = 0
    times: int | None = None
    after_ns: int = 0
    for_ns: int | None = None

    @property
    def needs_subject(self) -> bool:
        """Return whether it can be told only by what the request asks for."""
        return not (self.topic is None and self.partition is None and self.group is None)

    def covers_topic(self, name: str | None) -> bool:
        """Return whether it concerns a topic; one whose name is not known only if all are."""
        return self.topic is None or (name is not None and fnmatchcase(name, self.topic))

    def covers_partition(self, partition: int) -> bool:
        """Return whether it concerns a partition of a topic that it concerns."""
        return self.partition is None or self.partition == partition


class FaultEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What happens; times and sizes are those of one request and its answer.

    Attributes:
        error: the name of an error code, in the answer's fields for one.
        field: which of them, in Kafka's names (`topics.errorCode`); the deepest ones by default.
        is_handled: whether the request is handled though its answer tells an error.
        delay_ns: the answer leaves so much later.
        jitter_ns: at the most so much later again, by chance.
        drop: neither it nor what follows on the connection is answered; a request that is dropped
            is not handled, one whose answer is dropped is.
        close: where the connection is closed: before the answer, in the middle, or after it.
        truncate_bytes: the frame of the answer ends after so many bytes; its length says so.
        corrupt: the position of the byte of the answer that is changed; negative from the end.
        stall_bytes: after so many bytes of the answer nothing comes any more.
        bytes_per_s: how fast the answer leaves.
        throttle_ns: the answer says so, and the connection is not read meanwhile (KIP-219).
        split_bytes: the answer leaves in writes of so many bytes.
        coalesce: so many answers leave in one write.
        reorder: so many answers leave in the reverse order.
        is_half_open: the connection stays open, and nobody reads it or writes to it any more.
        advertise: the `host:port` that answers tell in place of the brokers'.
        storm_ns: so long coordinators deny to be one (NOT_COORDINATOR), and are found again.
        move_coordinator_ns: so long the request's group has no coordinator; members that wait for
            an answer get NOT_COORDINATOR at once.
        change_leader_ns: so long the request's partitions have no leader.
        shrink_isr_ns: so long the leader alone is in sync, and acks=all is refused.
        slow_disk_ns: requests that read or write logs are handled so much later.
        empty_count: so many answers have no records, whatever the logs hold.
        is_left_out: the answer leaves out the partitions that the fault concerns.
        flip: the field of the first batch of each partition in which one bit is changed.
        clock_skew_ns: the times that brokers tell are off by this.
        api_versions: what ApiVersions tells instead; other versions are refused.
    """

    error: str | None = None
    field: str | None = None
    is_handled: bool = False
    delay_ns: int = 0
    jitter_ns: int = 0
    drop: Literal["request", "answer"] | None = None
    close: Literal["before", "middle", "after"] | None = None
    truncate_bytes: int | None = None
    corrupt: int | None = None
    stall_bytes: int | None = None
    bytes_per_s: int | None = None
    throttle_ns: int = 0
    split_bytes: int | None = None
    coalesce: int = 1
    reorder: int = 1
    is_half_open: bool = False
    advertise: str | None = None
    storm_ns: int = 0
    move_coordinator_ns: int = 0
    change_leader_ns: int = 0
    shrink_isr_ns: int = 0
    slow_disk_ns: int = 0
    empty_count: int = 0
    is_left_out: bool = False
    flip: str | None = None
    clock_skew_ns: int = 0
    api_versions: tuple[ApiVersionsOverride, ...] = ()


NO_EFFECT = FaultEffect()


class FaultRule(msgspec.Struct, frozen=True, kw_only=True):
    """A fault.

    Attributes:
        match: whom it concerns.
        effect: what happens.
        text: in the grammar, as somebody wrote it.
    """

    match: FaultMatch = FaultMatch()
    effect: FaultEffect = NO_EFFECT
    text: str = ""
