from kdiag.lab.fault.rule import FaultMatch, FaultRule


def test_a_match_concerns_what_it_names() -> None:
    """Topics by a pattern; a topic without a name only if all are concerned."""
    match = FaultMatch(topic="ord*", partition=1)
    assert match.needs_subject
    assert [match.covers_topic(each) for each in ("orders", "x", None)] == [True, False, False]
    assert [match.covers_partition(each) for each in (0, 1)] == [False, True]
    assert FaultMatch().covers_topic(None)


def test_a_rule_without_anything_does_nothing() -> None:
    """And concerns everybody."""
    assert not FaultRule().match.needs_subject
    assert FaultRule().effect.coalesce == 1
