"""What is done about batches that may not be what is in the log: they are asked for again.

| answer | what follows |
|---|---|
| 1, a doubt | the same Fetch again: a doubt that is repeated is believed |
| 1, damage | again from the leader, over a new connection |
| 2, damage | again, with a rack from another replica, else from the leader |
| 3, damage | it is reported; reading goes on behind it if its header says where, else it ends |

No commit and no resume position passes damage unless that is wanted (`--skip-damaged`).
"""

from collections import Counter
from typing import Final

import msgspec

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.notices import FetchNotices
from kdiag.client.fetch.position import FetchPosition, NoticeKind, PartitionKey
from kdiag.client.fetch.soundness import Checked, Doubt, check_answer
from kdiag.client.network.backoff import ExponentialBackoff
from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.clock import NS_PER_MS

ATTEMPTS: Final = 3
"""How many damaged answers about one offset are enough."""

_DOUBTS: Final = 4
"""How many answers that contradict each other are."""

_GAPS: Final = 3
"""After how many gaps that were answered twice a topic is known to have them."""

_FIRST_RETRY_NS: Final = 100 * NS_PER_MS
_LAST_RETRY_NS: Final = 1_000 * NS_PER_MS


class _OpenDoubt(msgspec.Struct):
    """A doubt about the answers at one offset.

    Attributes:
        offset: where the position stood.
        doubt: that of the last answer.
        attempts: how many answers were in doubt.
        until_ns: when to ask again.
    """

    offset: int
    doubt: Doubt
    attempts: int
    until_ns: int = 0


class AnswerDoubts:
    """Follows the doubts about the answers that a fetcher gets; for one thread.

    Attributes:
        is_partial: whether batches could not be read.
    """

    def __init__(
        self, client: ClusterClient, notices: FetchNotices, *, uses_replicas: bool, skips: bool
    ) -> None:
        """Begin without doubts.

        Args:
            client: reaches the brokers.
            notices: damage is reported there.
            uses_replicas: whether followers may be asked.
            skips: whether commits and resume positions may pass damage.
        """
        self.is_partial = False
        self._client = client
        self._notices = notices
        self._uses_replicas = uses_replicas
        self._skips = skips
        self._open: dict[PartitionKey, _OpenDoubt] = {}
        self._stepping: set[PartitionKey] = set()
        self._gaps: Counter[str] = Counter()
        self._backoff = ExponentialBackoff(_FIRST_RETRY_NS, _LAST_RETRY_NS)

    def forget(self, key: PartitionKey) -> None:
        """Forget a partition that is read no more."""
        self._open.pop(key, None)
        self._stepping.discard(key)

    def holds(self, position: FetchPosition) -> bool:
        """Return whether to wait before a position is asked for again."""
        open_doubt = self._open.get(position.key)
        return open_doubt is not None and self._client.clock.monotonic_ns() < open_doubt.until_ns

    def next_attempt_ns(self) -> int:
        """Return when to ask again, on the monotonic clock; FOREVER_NS if nothing waits."""
        if not self._open:
            return FOREVER_NS
        now_ns = self._client.clock.monotonic_ns()
        waiting = (each.until_ns for each in self._open.values() if each.until_ns > now_ns)
        return min(waiting, default=FOREVER_NS)

    def check(self, position: FetchPosition, data: bytes | memoryview) -> Checked:
        """Return what can be handed out of an answer; `decide` must follow, once it is."""
        open_doubt = self._open.get(position.key)
        is_same = open_doubt is not None and open_doubt.offset == position.offset
        believed = open_doubt.doubt if open_doubt is not None and is_same else None
        has_gaps = self._gaps[position.key.topic] >= _GAPS
        return check_answer(data, position, believed, has_gaps=has_gaps)

    def decide(self, position: FetchPosition, doubt: Doubt | None) -> None:
        """Ask again for a batch that is in doubt, or end the doubts about those before it."""
        open_doubt = self._open.get(position.key)
        if open_doubt is not None and (doubt is None or open_doubt.offset != position.offset):
            self._end(position, open_doubt)
            open_doubt = None
        if position.key in self._stepping and position.offset == position.boundary:
            self._stepping.discard(position.key)
            self._notices.add(NoticeKind.CORRUPT, "read again", position.key, position.offset)
        if doubt is None or position.is_done:
            return
        attempts = 1 if open_doubt is None else open_doubt.attempts + 1
        self._open[position.key] = new = _OpenDoubt(position.offset, doubt, attempts)
        is_damage = doubt.is_damage and (doubt.header is None or attempts > 1)
        if not is_damage and attempts < _DOUBTS:
            return
        if attempts < ATTEMPTS and position.key not in self._stepping:
            self._ask_otherwise(position, new)
        else:
            self._pass(position, doubt)

    def _end(self, position: FetchPosition, open_doubt: _OpenDoubt) -> None:
        """End a doubt, as what was asked for has come."""
        del self._open[position.key]
        position.least_bytes = 0
        if position.replica_id is not None and open_doubt.doubt.is_damage:
            position.replica_id = None
        if not open_doubt.doubt.is_damage:
            self._gaps[position.key.topic] += 1

    def _ask_otherwise(self, position: FetchPosition, open_doubt: _OpenDoubt) -> None:
        """Ask again over a new connection; the last time another replica, if that may be asked."""
        position.least_bytes = open_doubt.doubt.needed_bytes
        wait_ns = self._backoff.after(open_doubt.attempts - 1)
        open_doubt.until_ns = self._client.clock.monotonic_ns() + wait_ns
        if position.node_id is not None:
            with self._client.client.network() as network:
                network.disconnect(str(position.node_id))  # at once: before the next Fetch to it
        if self._uses_replicas and open_doubt.attempts == ATTEMPTS - 1:
            position.replica_id = self._other_replica(position)

    def _other_replica(self, position: FetchPosition) -> int | None:
        """Return a broker that has the partition in sync and was not asked yet."""
        cluster = self._client.cluster
        partition = cluster.partition(*position.key)
        replicas = () if partition is None else partition.isr_ids
        others = (each for each in replicas if each != position.node_id)
        return next((each for each in others if each in cluster.brokers), None)

    def _pass(self, position: FetchPosition, doubt: Doubt) -> None:
        """Report damage that stays; read on behind it if that is known, or wanted."""
        self.is_partial = True
        del self._open[position.key]
        position.least_bytes, position.replica_id = 0, None
        offset, is_new = position.offset, position.key not in self._stepping
        if doubt.next_offset is not None:
            lost = f"offsets {offset} to {doubt.next_offset - 1} left out"
            position.move_to(doubt.next_offset)
        elif self._skips:
            lost = "skipping offsets until one can be read"
            self._stepping.add(position.key)
            position.move_to(offset + 1)
        else:
            lost = "given up"
            position.stop = offset
        if self._skips:
            hint = ""
        else:
            position.hold(offset)
            hint = (
                f"; commits and resume positions stay at {offset} (--skip-damaged lets them pass)"
            )
        if is_new:
            text = f"unreadable at offset {offset} in {ATTEMPTS} answers, {lost}: {doubt.why}{hint}"
            self._notices.add(NoticeKind.CORRUPT, text, position.key)
