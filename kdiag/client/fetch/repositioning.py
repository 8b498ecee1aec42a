"""Moves positions that cannot be read where they are: out of range, or with nothing left to read.

| what brokers say | proof | the position |
|---|---|---|
| OFFSET_OUT_OF_RANGE | ListOffsets: where the log begins and ends | into that range |
| answers without records before the end | the topic is compacted, and wholly local | to the end |
| the same | none of these: a store that is slow, a throttle, a broker in trouble | stays |

An answer without records means "not yet": brokers with tiered storage give it while their store
is slow. Only of a log on the broker's own disk does an answer that is empty as a whole say that it
has nothing more, and only compaction leaves a log so.

Source: Kafka's `OffsetFetcher`; KIP-405 (tiered storage), KIP-58 (compaction).
"""

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.notices import FetchNotices
from kdiag.client.fetch.offset_reset import LogRange, ResetPolicy
from kdiag.client.fetch.offsets import EARLIEST, LATEST, NO_OFFSET, FoundOffset, look_up
from kdiag.client.fetch.position import UNKNOWN_EPOCH, FetchPosition, NoticeKind, PartitionKey
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import KdiagError
from kdiag.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)

ASK_NS: Final = 3 * NS_PER_S
"""How long a response about partitions may take before another broker is asked."""

_EMPTY_ANSWERS: Final = 2
"""How many answers in a row must be without records, the first before the proof is asked for."""

_BELIEVED_NS: Final = 60 * NS_PER_S
"""How long the configuration of a topic is believed."""

_TOPIC: Final = 2
_POLICY: Final = "cleanup.policy"
_TIERED: Final = "remote.storage.enable"


class Repositioning:
    """Finds where to read positions that cannot be read where they are; for one thread.

    Attributes:
        out_of_range: the partitions that cannot be read before their offsets are looked up.
        reset: the policy of a group; None to read on where the least is lost.
    """

    def __init__(
        self,
        client: ClusterClient,
        positions: MutableMapping[PartitionKey, FetchPosition],
        notices: FetchNotices,
        *,
        is_committed_only: bool,
    ) -> None:
        """Watch over positions, which others add to; what moves them is reported to `notices`."""
        self.out_of_range: set[PartitionKey] = set()
        self.reset: ResetPolicy | None = None
        self._unknown_epochs: set[PartitionKey] = set()
        self._client = client
        self._positions = positions
        self._notices = notices
        self._is_committed_only = is_committed_only
        self._empty: dict[PartitionKey, tuple[int, int]] = {}
        self._is_vacant: dict[str, tuple[bool, int]] = {}

    def forget(self, key: PartitionKey) -> None:
        """Forget a partition that is read no more."""
        self.out_of_range.discard(key)
        self._unknown_epochs.discard(key)
        self._empty.pop(key, None)

    def note_empty(self, keys: Iterable[PartitionKey]) -> None:
        """Count an answer of a leader that has no records of any partition.

        A position before the end of a compacted log moves there with the second such answer.
        """
        for key in keys:
            position = self._positions.get(key)
            if position is None or position.is_done or position.replica_id is not None:
                continue
            end = position.end(is_committed_only=self._is_committed_only)
            if position.offset >= end:
                continue
            offset, count = self._empty.get(key, (position.offset, 0))
            count = count + 1 if offset == position.offset else 1
            self._empty[key] = (position.offset, count)
            if count >= _EMPTY_ANSWERS and self._is_vacant.get(key.topic, (False, 0))[0]:
                position.move_to(end)

    def look_up_policies(self) -> None:
        """Ask whether the topics of partitions with empty answers are compacted, each at times."""
        if not self._empty:
            return
        now_ns = self._client.clock.monotonic_ns()
        waiting = {
            key.topic
            for key, (offset, _) in self._empty.items()
            if (position := self._positions.get(key)) is not None and position.offset == offset
        }
        self._empty = {key: each for key, each in self._empty.items() if key.topic in waiting}
        unknown = sorted(
            topic for topic in waiting if self._is_vacant.get(topic, (False, 0))[1] <= now_ns
        )
        if not unknown:
            return
        resources = [
            DescribeConfigsResource(_TOPIC, topic, [_POLICY, _TIERED]) for topic in unknown
        ]
        request = DescribeConfigsRequest(resources)
        try:
            answer = self._client.ask_any(request, DescribeConfigsResponse, timeout_ns=ASK_NS)
            results = {each.resource_name: each for each in answer.results if not each.error_code}
        except KdiagError:
            results = {}  # without the proof the positions stay
        for topic in unknown:
            is_vacant = topic in results and _is_compacted_here(results[topic])
            self._is_vacant[topic] = (is_vacant, now_ns + _BELIEVED_NS)

    def find_offsets(self) -> set[PartitionKey]:
        """Move partitions that are out of range; return those whose leaders have not answered.

        Raises:
            ConfigError: if the policy of the group forbids to guess where to read on.
        """
        brokers = self._client.cluster.brokers
        known = {key: self._positions[key].leader_id for key in self.out_of_range}
        leaders = {key: each if each in brokers else None for key, each in known.items()}
        first, last = self._ask(leaders, EARLIEST), self._ask(leaders, LATEST)
        times = {}
        if self.reset is not None and self.reset.duration_ms is not None:
            now_ms = self._client.clock.epoch_ns() // NS_PER_MS
            times = self._ask(leaders, self.reset.timestamp(now_ms))
        answers = (first, last, times)
        unanswered = {key for key in leaders if any(each[key].error for each in answers if each)}
        self.out_of_range &= unanswered
        for key in leaders.keys() - unanswered:
            at_time = times[key].offset if times else NO_OFFSET
            log = LogRange(first[key].offset, last[key].offset, at_time)
            self._put_in_range(self._positions[key], log)
        return unanswered

    def _ask(
        self, leaders: Mapping[PartitionKey, int | None], timestamp: int
    ) -> dict[PartitionKey, FoundOffset]:
        return look_up(
            self._client,
            dict.fromkeys(leaders, timestamp),
            leaders,
            is_committed_only=self._is_committed_only,
            timeout_ns=ASK_NS,
        )

    def diverged(self, position: FetchPosition, end_offset: int) -> None:
        """Handle a log that was cut below a position: reading goes on at its end.

        Raises:
            ConfigError: if the policy of the group forbids that.
        """
        text = (
            f"the log was truncated: offsets {end_offset} to {position.offset - 1}, which were "
            f"read, are not in it any more"
        )
        if self.reset is not None:
            self.reset.refuse(f"{position.key}: {text}")
        text = f"{text}; reading on at {end_offset}"
        self._move(position, NoticeKind.TRUNCATED, text, end_offset)

    def epoch_unknown(self, position: FetchPosition) -> None:
        """Handle a log that does not know the epoch of what was read: a policy decides."""
        if self.reset is None:
            position.fetched_epoch = UNKNOWN_EPOCH
        else:
            self._unknown_epochs.add(position.key)
            self.out_of_range.add(position.key)

    def _put_in_range(self, position: FetchPosition, log: LogRange) -> None:
        """Move a position into the range of its log, as the policy says if there is one."""
        first, last, _ = log
        is_epoch_unknown = position.key in self._unknown_epochs
        self._unknown_epochs.discard(position.key)
        if first <= position.offset <= last and not is_epoch_unknown:
            position.fetched_epoch = UNKNOWN_EPOCH  # the leader does not know this epoch
        elif position.offset > last and position.fetched_epoch != UNKNOWN_EPOCH:
            self.diverged(position, last)
        elif self.reset is not None:
            epoch = position.fetched_epoch if is_epoch_unknown else None
            why = log.lacks(position.offset, epoch)
            self.reset.refuse(f"{position.key}: {why}")
            offset = self.reset.offset_in(log)
            kind = NoticeKind.REMOVED if position.offset < first else NoticeKind.TRUNCATED
            self._move(position, kind, self.reset.text(why, offset), offset)
        elif position.offset < first:
            text = (
                f"offsets {position.offset} to {first - 1} are not there any more "
                f"(retention, or deleted): reading on at {first}"
            )
            self._move(position, NoticeKind.REMOVED, text, first)
        else:
            text = f"offset {position.offset} is beyond the end of the log: reading on at {last}"
            self._move(position, NoticeKind.TRUNCATED, text, last)

    def _move(self, position: FetchPosition, kind: NoticeKind, text: str, offset: int) -> None:
        self._notices.add(kind, text, position.key)
        position.move_to(offset)


def _is_compacted_here(result: DescribeConfigsResult) -> bool:
    """Return whether compaction may have left nothing, in a log that is on the broker's disk."""
    settings = {each.name: each.value or "" for each in result.configs}
    return "compact" in settings.get(_POLICY, "") and settings.get(_TIERED, "false") != "true"
