"""The order in which Java's hash maps list their keys: results of Kafka's assignors depend on it.

A `HashMap` lists its buckets by number, and the keys of a bucket as they were inserted. The bucket
of a key is the low bits of its hash, into which the high half is mixed, and there are 16 buckets
which double when more than three quarters as many keys are there:

    >>> hash_order(["payments", "orders", "Aa", "BB"])
    ['Aa', 'BB', 'orders', 'payments']

"Aa" and "BB" have the same hash and keep their order. More than eight keys in one bucket make Java
change it into a tree (or double a small table early), and that order is not reproduced: eight of
ids that hold UUIDs meet in one bucket of 16 million.

Strings are compared as Java does: by UTF-16 code units, not by code points.

Source: `java.util.HashMap`, `String.hashCode`, `String.compareTo`; `TopicPartition.hashCode`.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Final

from kdiag.client.fetch.position import PartitionKey

_INITIAL_CAPACITY: Final = 16
_PRIME: Final = 31
_MASK: Final = 0xFFFF_FFFF


def java_units(text: str) -> bytes:
    """Return the UTF-16 code units of a string: bytes that sort as Java's strings do."""
    return text.encode("utf-16-be", "surrogatepass")


def hash_order(keys: Iterable[str]) -> list[str]:
    """Return strings as a HashMap lists them that they are put into, one after the other."""
    hashes = {key: _spread(_string_hash(key)) for key in keys}
    buckets = _capacity(len(hashes)) - 1
    return sorted(hashes, key=lambda key: hashes[key] & buckets)


def grouping_order(keys: Sequence[str]) -> list[str]:
    """Return strings as a HashMap lists them that `computeIfAbsent` was called for, in their order.

    Unlike `put`, it inserts at the front of a bucket, and doubles a table that is too small only
    when it is called again, be it for a key that is there.
    """
    hashes = {key: _spread(_string_hash(key)) for key in keys}
    is_last_new = keys[-1] not in keys[:-1] if keys else False
    buckets = _capacity(len(hashes) - is_last_new) - 1
    newest_first = list(hashes)[::-1]
    return sorted(newest_first, key=lambda key: hashes[key] & buckets)


class PartitionSet:
    """Partitions of one topic, and which of them a HashSet lists first."""

    def __init__(self, topic: str) -> None:
        self._topic_hash = _string_hash(topic)
        self._hashes: dict[PartitionKey, int] = {}
        self._capacity = _INITIAL_CAPACITY

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, key: PartitionKey) -> None:
        """Add a partition; the table never shrinks again."""
        whole = _PRIME * (_PRIME + key.partition) + self._topic_hash
        self._hashes.setdefault(key, _spread(whole & _MASK))
        self._capacity = max(self._capacity, _capacity(len(self._hashes)))

    def remove(self, key: PartitionKey) -> None:
        """Remove a partition that is there."""
        del self._hashes[key]

    def first(self) -> PartitionKey:
        """Return the partition that is listed first; there must be one."""
        buckets = self._capacity - 1
        return min(self._hashes, key=lambda key: self._hashes[key] & buckets)


def _string_hash(text: str) -> int:
    """Return `String.hashCode` as 32 bits without a sign."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    return reduce(lambda whole, unit: (whole * _PRIME + unit) & _MASK, units, 0)


def _spread(whole: int) -> int:
    return whole ^ whole >> 16


def _capacity(count: int) -> int:
    """Return how many buckets a map has that was filled with so many keys."""
    capacity = _INITIAL_CAPACITY
    while count > capacity * 3 // 4:
        capacity *= 2
    return capacity
