from kdiag.diagnosis.rebalance.model import CauseKind, Confidence, Phases, Rebalance, RebalanceCause

CAUSE = RebalanceCause(cause=CauseKind.MEMBER_JOINED, confidence=Confidence.CERTAIN, at_ns=5)


def asked_at(**moments: int) -> Rebalance:
    """Return a rebalance whose members asked to join at these moments."""
    phases = {name: Phases(member_id=name, asked_ns=at_ns) for name, at_ns in moments.items()}
    return Rebalance(generation=1, causes=[CAUSE], phases=phases)


def test_the_slowest_member_asked_last() -> None:
    """The others waited for it since the one before it."""
    slowest = asked_at(a=10, b=900, c=40).slowest

    assert slowest is not None
    assert (slowest.phases.member_id, slowest.wait_ns) == ("b", 860)


def test_one_member_alone_is_not_slow() -> None:
    """Nobody is known to have waited for it; nor for one whose request was not seen."""
    rebalance = asked_at(a=10)
    rebalance.phases["b"] = Phases(member_id="b", joined_ns=70)

    assert rebalance.slowest is None


def test_a_rebalance_took_as_long_as_was_seen() -> None:
    """Without its beginning or its end that is not known."""
    for started_ns, ended_ns, duration_ns in ((3, 10, 7), (None, 10, None), (3, None, None)):
        seen = Rebalance(generation=1, causes=[CAUSE], started_ns=started_ns, ended_ns=ended_ns)
        assert seen.duration_ns == duration_ns


def test_the_first_cause_is_the_cause() -> None:
    """Others that happened before it was over follow."""
    later = RebalanceCause(cause=CauseKind.MEMBER_LEFT, confidence=Confidence.CERTAIN, at_ns=6)

    assert Rebalance(generation=1, causes=[CAUSE, later]).cause is CAUSE
