"""Subscriptions and assignments as bytes."""

import pytest

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import MemberSubscription
from kdiag.client.group.assignor.consumer_protocol import (
    NEWEST_VERSION,
    MemberAssignment,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kdiag.errors import DecodeError
from tiers.cases import for_each

OWNED = (PartitionKey("b", 1), PartitionKey("a", 1), PartitionKey("a", 0))
WHOLE = MemberSubscription(("b", "a"), b"\1", OWNED, 7, "r", "i")


def test_a_subscription_is_written_in_order() -> None:
    """Topics by name, owned partitions by topic and number, as Java's clients write them."""
    assert encode_subscription(WHOLE) == bytes.fromhex(
        "0003 "
        "00000002 000161 000162 "
        "00000001 01 "
        "00000002 000161 00000002 00000000 00000001 000162 00000001 00000001 "
        "00000007 "
        "000172 "
    )


def test_an_assignment_keeps_its_order() -> None:
    """Partitions of a topic stand together where its first one does."""
    data = encode_assignment(MemberAssignment(list(OWNED)))
    assert data == bytes.fromhex(
        "0003 00000002 000162 00000001 00000001 000161 00000002 00000001 00000000 ffffffff "
    )
    assert decode_assignment(data) == MemberAssignment(list(OWNED))


@for_each("version", range(NEWEST_VERSION + 1))
def test_each_version_says_what_it_can(version: int) -> None:
    """Owned partitions are in version 1, the generation in 2, the rack in 3."""
    read = decode_subscription(encode_subscription(WHOLE, version), "i")
    assert read == MemberSubscription(
        ("a", "b"),
        b"\1",
        sorted(OWNED) if version >= 1 else [],
        7 if version >= 2 else -1,
        "r" if version >= 3 else None,
        "i",
    )


def test_a_version_that_is_newer_than_all_we_know_is_read_as_the_newest() -> None:
    """It only adds fields at the end."""
    data = encode_subscription(WHOLE)
    assert decode_subscription(b"\0\x09" + data[2:] + b"more") == decode_subscription(data)


def test_a_version_without_its_new_fields_is_read_as_the_one_before() -> None:
    """As segmentio's kafka-go writes it."""
    old = encode_subscription(WHOLE, 0)
    assert decode_subscription(b"\0\1" + old[2:]) == decode_subscription(old)


def test_no_bytes_are_an_empty_assignment() -> None:
    """A coordinator sends them to members that their leader has not heard of."""
    assert decode_assignment(b"") == MemberAssignment([])


@for_each("data", [b"", b"\0", b"\xff\xff\0\0\0\0", b"\0\3\x7f\xff\xff\xff", b"\0\0"])
def test_bytes_that_are_no_subscription_are_refused(data: bytes) -> None:
    """With where and why."""
    with pytest.raises(DecodeError):
        decode_subscription(data)
