"""Selects partitions by topic name, pattern and number, with offsets to resume from.

orders              all partitions of a topic
orders:0,3,5-7      some of them
orders:0@120,1@77   some, each from its own position: an offset, or what `parse_position` reads
orders:0@120,new    the same, and all that are not listed, from their beginnings
order*              all topics that match; internal ones only if the pattern begins with `__`
order*:new          all that match and are not listed elsewhere, if there are any

A tail that ends prints the arguments that go on where it stopped: new partitions are `new` there.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.network.metadata import Cluster, Topic
from kdiag.errors import AuthorizationError, ConfigError
from kdiag.probe.tail.offset_spec import At, Position, parse_position
from kdiag.wire.error_code import error_name

_ORIGIN: Final = "TOPIC"
_PARTITION: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9})|@(.+))?")
_NAME: Final = re.compile(
    r"[a-zA-Z0-9._-]{1,249}"
)  # Kafka's org.apache.kafka.common.internals.Topic
_NEW: Final = "new"
_MAX_PARTITIONS: Final = 100_000
_GLOB: Final = frozenset("*?[")
_GLOB_PART: Final = re.compile(r"\*|\?|\[[^\]]+\]")
_DENIED: Final = "TOPIC_AUTHORIZATION_FAILED"


class TopicSelector(NamedTuple):
    """Topics, with all or some of their partitions.

    Attributes:
        pattern: a topic's name, or a pattern with `*`, `?` and `[...]`.
        partitions: by number where to start, None for the usual start; None for all.
        takes_new: whether partitions that no selector lists are read from their beginnings.
    """

    pattern: str
    partitions: Mapping[int, Position | None] | None = None
    takes_new: bool = False

    @property
    def is_pattern(self) -> bool:
        """Return whether it may select several topics."""
        return bool(_GLOB & set(self.pattern))

    @property
    def example(self) -> str:
        """Return a name that the pattern matches, which no topic is likely to have."""
        return _GLOB_PART.sub(lambda part: _filling(part.group()), self.pattern)


def _filling(part: str) -> str:
    """Return what a part of a pattern matches: `*`, `?`, or characters in brackets."""
    if not part.startswith("["):
        return "kdiag-any" if part == "*" else "x"
    letters = part[1:-1]
    return (
        next(each for each in "xyz_0" if each not in letters) if letters[0] == "!" else letters[0]
    )


def parse_selector(text: str) -> TopicSelector:
    """Return the selector of a text.

    Raises:
        ConfigError: if the name has other characters than Kafka allows, or the text after the
            colon is not a list of partitions.
    """
    pattern, colon, listed = text.partition(":")
    if not pattern:
        raise ConfigError(text, _ORIGIN, "a topic has a name")
    if not (_GLOB & set(pattern) or _NAME.fullmatch(pattern)):
        why = "names of topics have letters, digits, dots, _ and -; patterns also *, ? and [...]"
        raise ConfigError(text, _ORIGIN, why)
    if not colon:
        return TopicSelector(pattern)
    parts = listed.split(",")
    numbers = [each for each in parts if each.strip() != _NEW]
    takes_new = len(numbers) < len(parts)
    partitions = {} if takes_new and not numbers else parse_partitions(",".join(numbers))
    return TopicSelector(pattern, partitions, takes_new)


def parse_partitions(text: str) -> dict[int, Position | None]:
    """Return the partitions in a text such as `0,3,5-7` or `0@120`.

    Raises:
        ConfigError: if it is not such a list.
    """
    partitions: dict[int, Position | None] = {}
    for part in text.split(","):
        match = _PARTITION.fullmatch(part.strip())
        if match is None:
            raise ConfigError(part, _ORIGIN, "expected partitions such as 0,3,5-7 or 0@120")
        first, last, own = match.groups()
        numbers = range(int(first), int(last or first) + 1)
        if len(numbers) > _MAX_PARTITIONS:
            raise ConfigError(part, _ORIGIN, f"more than {_MAX_PARTITIONS} partitions")
        partitions.update(dict.fromkeys(numbers, None if own is None else parse_position(own)))
    return partitions


def names_to_ask(selectors: Sequence[TopicSelector]) -> list[str] | None:
    """Return the topics to request metadata for; None for all."""
    if any(each.is_pattern for each in selectors):
        return None
    return sorted({each.pattern for each in selectors})


def may_grow(selectors: Sequence[TopicSelector]) -> bool:
    """Return whether partitions that do not exist yet may be selected."""
    return any(each.is_pattern or each.partitions is None or each.takes_new for each in selectors)


def select(
    selectors: Sequence[TopicSelector], cluster: Cluster, *, must_exist: bool = True
) -> dict[PartitionKey, Position | None]:
    """Return the selected partitions, each with its own position to start at, or None.

    Args:
        selectors: select topics and partitions.
        cluster: has these topics.
        must_exist: whether it is an error if a topic or a partition does not exist.

    Raises:
        ConfigError: if a topic or a partition does not exist.
        AuthorizationError: if a topic may not be described.
    """
    selected: dict[PartitionKey, Position | None] = {}
    unlisted: dict[PartitionKey, Position | None] = {}
    for selector in selectors:
        topics = [each for each in cluster.topics.values() if _matches(selector, each)]
        usable = [each for each in topics if not each.error_code and each.partitions]
        may_be_none = selector.takes_new and selector.is_pattern
        if must_exist and not usable and not may_be_none:
            raise _refusal(selector, topics, cluster)
        for topic in usable:
            found = _partitions(selector, topic, must_exist=must_exist)
            selected |= {key: own or selected.get(key) for key, own in found.items()}
            if selector.takes_new:
                keys = [PartitionKey(topic.name, each.partition_index) for each in topic.partitions]
                unlisted.update(dict.fromkeys(keys, Position(At.BEGINNING)))
    return unlisted | {key: own or unlisted.get(key) for key, own in selected.items()}


def _matches(selector: TopicSelector, topic: Topic) -> bool:
    if not selector.is_pattern:
        return topic.name == selector.pattern
    if topic.is_internal and not selector.pattern.startswith("__"):
        return False
    return fnmatchcase(topic.name, selector.pattern)


def _partitions(
    selector: TopicSelector, topic: Topic, *, must_exist: bool
) -> dict[PartitionKey, Position | None]:
    there = [each.partition_index for each in topic.partitions]
    wanted = dict.fromkeys(there) if selector.partitions is None else selector.partitions
    missing = sorted(set(wanted) - set(there))
    if missing and must_exist and not selector.is_pattern:
        why = f"the topic has partitions 0 to {max(there)}"
        raise ConfigError(f"{topic.name}:{missing[0]}", _ORIGIN, why)
    return {
        PartitionKey(topic.name, number): own
        for number, own in wanted.items()
        if number in set(there)
    }


def _refusal(
    selector: TopicSelector, topics: Sequence[Topic], cluster: Cluster
) -> ConfigError | AuthorizationError:
    """Return why a selector selects nothing."""
    errors = {error_name(each.error_code) for each in topics if each.error_code}
    if _DENIED in errors:
        return AuthorizationError(f"topic {selector.pattern}: not authorized to describe it")
    if selector.is_pattern:
        return ConfigError(selector.pattern, _ORIGIN, "no topic matches")
    unknown = errors - {"UNKNOWN_TOPIC_OR_PARTITION"}
    if unknown:
        return ConfigError(selector.pattern, _ORIGIN, ", ".join(sorted(unknown)))
    known = [name for name, each in cluster.topics.items() if not each.error_code]
    near = get_close_matches(selector.pattern, known, 3, 0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return ConfigError(selector.pattern, _ORIGIN, f"the topic does not exist{hint}")
