"""The order of Java's hash maps."""

import pytest

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.hash_order import PartitionSet, hash_order, java_units


def test_keys_are_listed_by_their_buckets() -> None:
    """`"a"` to `"p"` have the hashes 97 to 112, of which the last is in the first of 16 buckets."""
    letters = [chr(code) for code in range(ord("e"), ord("q"))]
    assert hash_order(letters) == ["p", *letters[:-1]]


def test_keys_of_one_bucket_are_listed_as_they_were_inserted() -> None:
    """`"Aa"` and `"BB"` have the same hash."""
    assert hash_order(["BB", "Aa", "BB"]) == ["BB", "Aa"]
    assert hash_order(["Aa", "BB"]) == ["Aa", "BB"]


def test_a_map_of_more_than_twelve_keys_has_more_buckets() -> None:
    """With 32, `"p"` (112) is in bucket 16 and comes after `"e"` (101, in bucket 5)."""
    letters = [chr(code) for code in range(ord("d"), ord("q"))]
    assert len(letters) == 13
    assert hash_order(letters) == letters


@pytest.mark.parametrize(("small", "large"), [("a", "b"), ("a", "aa"), ("\U0001f40d", "\ufb01")])
def test_strings_sort_by_utf_16(small: str, large: str) -> None:
    """A surrogate sorts before U+FB01, though its code point is larger."""
    assert java_units(small) < java_units(large)


def test_the_first_partition_of_a_set_depends_on_how_large_it_has_been() -> None:
    """Partitions 0 and 6 of `"a"` have the hashes 1058 and 1244; no bucket is ever taken away."""
    first, sixth = PartitionKey("a", 0), PartitionKey("a", 6)
    partitions = PartitionSet("a")
    partitions.add(sixth)
    partitions.add(first)
    assert partitions.first() == first  # 1058 % 16 == 2, 1244 % 16 == 12
    others = [PartitionKey("a", number) for number in range(100, 140)]
    for each in others:
        partitions.add(each)
    for each in others:
        partitions.remove(each)
    assert len(partitions) == 2
    assert partitions.first() == sixth  # 1058 % 64 == 34, 1244 % 64 == 28
