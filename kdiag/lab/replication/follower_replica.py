"""What a leader knows of a follower: how far it is, and when it had everything.

    0 s    the leader's log ends at 100, the follower fetches from 90     behind
    1 s    the log ends at 150, it fetches from 100                      all of 0 s: caught up then
    2 s    the log ends at 150, it fetches from 150                      caught up at 2 s

A follower that fetches from where the log ended at its fetch before has had everything that there
was then, though more has come since: a busy partition has no follower that ever has everything. It
is in sync as long as it was caught up within `replica.lag.time.max.ms`.

Source: Kafka's `Replica`, `ReplicaState`.
"""

from typing import Final

UNKNOWN: Final = -1


class FollowerReplica:
    """A follower, as its leader knows it.

    Attributes:
        node_id: its broker.
        broker_epoch: of that broker; UNKNOWN before it says so.
        log_end_offset: everything before it has; UNKNOWN before the first fetch.
        caught_up_ns: when it had everything, on the monotonic clock; None if it never had.
    """

    def __init__(self, node_id: int, caught_up_ns: int | None) -> None:
        """Know nothing yet: a leader begins so, whatever the one before knew.

        Args:
            node_id: its broker.
            caught_up_ns: the time if it is in sync, so that it can say how far it is; None if not.
        """
        self.node_id = node_id
        self.broker_epoch = UNKNOWN
        self.log_end_offset = UNKNOWN
        self.caught_up_ns = caught_up_ns
        self._fetched_ns: int | None = None
        self._leader_end_offset = UNKNOWN

    def __repr__(self) -> str:
        return f"<FollowerReplica {self.node_id} at {self.log_end_offset}>"

    def handle_fetch(
        self, offset: int, leader_end_offset: int, now_ns: int, broker_epoch: int
    ) -> None:
        """Record a fetch.

        Args:
            offset: from where it fetches; it has everything before that.
            leader_end_offset: where the leader's log ended when it was read.
            now_ns: the time, on the monotonic clock.
            broker_epoch: of the follower.
        """
        if offset >= leader_end_offset:
            self._catch_up(now_ns)
        elif self._fetched_ns is not None and offset >= self._leader_end_offset:
            self._catch_up(self._fetched_ns)
        self.broker_epoch = broker_epoch
        self.log_end_offset = offset
        self._fetched_ns = now_ns
        self._leader_end_offset = max(leader_end_offset, self._leader_end_offset)

    def is_caught_up(self, leader_end_offset: int, now_ns: int, max_lag_ns: int) -> bool:
        """Return whether it has everything, or had within a time."""
        if self.log_end_offset == leader_end_offset:
            return True
        return self.caught_up_ns is not None and now_ns - self.caught_up_ns <= max_lag_ns

    def _catch_up(self, at_ns: int) -> None:
        if self.caught_up_ns is None or at_ns > self.caught_up_ns:
            self.caught_up_ns = at_ns
