from kdiag.lab.log.log_offset import LogOffsetMetadata, LogOffsetSnapshot

ALONE = LogOffsetMetadata(5)
OLD = LogOffsetMetadata(5, 0, 100)
LATER = LogOffsetMetadata(9, 0, 180)
NEW = LogOffsetMetadata(12, 10, 40)


def test_offsets_are_compared_by_their_segments() -> None:
    """Of one segment, or of an older one."""
    assert OLD.is_on_same_segment(LATER)
    assert not OLD.is_on_older_segment(LATER)
    assert OLD.is_on_older_segment(NEW)
    assert not NEW.is_on_older_segment(OLD)
    assert not OLD.is_on_same_segment(NEW)


def test_nothing_is_known_of_an_offset_alone() -> None:
    """It is neither in an older segment nor in the same, not even as itself."""
    assert ALONE.is_message_offset_only
    assert not OLD.is_message_offset_only
    for other in (ALONE, OLD, NEW):
        assert not ALONE.is_on_older_segment(other)
        assert not other.is_on_older_segment(ALONE)
        assert not ALONE.is_on_same_segment(other)
        assert not other.is_on_same_segment(ALONE)


def test_a_snapshot_orders_the_ends() -> None:
    """It is a plain value."""
    snapshot = LogOffsetSnapshot(0, NEW, LATER, OLD)
    assert [end.message_offset for end in snapshot[1:]] == [12, 9, 5]
