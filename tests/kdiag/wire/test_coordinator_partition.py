"""Which partition keeps a key."""

import pytest

from kdiag.wire.coordinator_partition import CoordinatorKind, coordinator_partition, java_hash
from tiers.cases import for_each


@for_each(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", -(1 << 31)),
        ("billing", -109829509),
        ("größe", 98762257),
        ("\U0001f600", 1772899),
    ],
)
def test_the_hash_is_javas(text: str, expected: int) -> None:
    """A string hashes as in Java, over UTF-16 units, in 32 bits with a sign."""
    assert java_hash(text) == expected


def test_the_one_hash_without_an_absolute_value_goes_to_partition_0() -> None:
    """The least 32-bit number has no positive twin; Kafka takes 0."""
    assert coordinator_partition("polygenelubricants", 50) == 0


def test_the_partition_is_the_hash_without_its_sign() -> None:
    """A negative hash loses its sign before the division, not after."""
    assert coordinator_partition("billing", 50) == 9


def test_a_topic_without_partitions_is_refused() -> None:
    """Nothing can be kept in no partition."""
    with pytest.raises(ValueError, match="at least one partition"):
        coordinator_partition("g", 0)


@pytest.mark.parametrize(
    ("kind", "key_type", "topic"),
    [
        (CoordinatorKind.GROUP, 0, "__consumer_offsets"),
        (CoordinatorKind.TRANSACTION, 1, "__transaction_state"),
        (CoordinatorKind.SHARE, 2, "__share_group_state"),
    ],
)
def test_each_kind_has_its_number_and_topic(
    kind: CoordinatorKind, key_type: int, topic: str
) -> None:
    """FindCoordinator's key types and the internal topics are Kafka's."""
    assert (kind.key_type, kind.topic) == (key_type, topic)
