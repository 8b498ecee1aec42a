import pytest

from kdiag.net.memory_pool import UNLIMITED, SimpleMemoryPool
from tiers.cases import for_each


def test_a_strict_pool_gives_only_what_it_has() -> None:
    """A reservation needs its full amount to be left."""
    pool = SimpleMemoryPool(100, 80, is_strict=True)
    assert pool.try_allocate(80)
    assert not pool.try_allocate(21)
    assert pool.try_allocate(20)
    assert (pool.available_bytes, pool.is_out_of_memory) == (0, True)
    pool.release(80)
    assert (pool.available_bytes, pool.is_out_of_memory) == (80, False)


def test_a_lenient_pool_can_be_overdrawn_once() -> None:
    """One byte that is left is enough for a whole reservation, after which nothing is given."""
    pool = SimpleMemoryPool(100, 80)
    assert pool.try_allocate(80)
    assert pool.try_allocate(80)
    assert (pool.available_bytes, pool.is_out_of_memory) == (-60, True)
    assert not pool.try_allocate(1)
    pool.release(80)
    assert pool.try_allocate(1)


@for_each(("size", "single"), [(0, 0), (10, 0), (10, -1), (10, 11), (-1, -1)])
def test_a_pool_has_a_size_that_each_reservation_fits_into(size: int, single: int) -> None:
    """Sizes are positive, and no reservation is larger than the pool."""
    with pytest.raises(ValueError, match=f"a pool of {size} bytes cannot give up to {single}"):
        SimpleMemoryPool(size, single)


@pytest.mark.parametrize("size", [0, -1, 81])
def test_a_reservation_has_a_size_that_can_ever_be_given(size: int) -> None:
    """Anything else is a mistake of the caller."""
    with pytest.raises(ValueError, match=f"{size} bytes are not from 1 to 80"):
        SimpleMemoryPool(100, 80).try_allocate(size)


def test_the_unlimited_pool_gives_everything() -> None:
    """It counts nothing and is never out of memory."""
    assert UNLIMITED.try_allocate(1 << 40)
    UNLIMITED.release(1 << 40)
    limits = (UNLIMITED.size_bytes, UNLIMITED.available_bytes, UNLIMITED.max_single_bytes)
    assert (*limits, UNLIMITED.is_out_of_memory) == (None, None, None, False)
