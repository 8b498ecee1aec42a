from typing import Any

from kdiag.diagnosis.rebalance.joining import join_histories
from kdiag.diagnosis.rebalance.model import (
    CauseKind,
    Confidence,
    EvidencePlace,
    GroupHistory,
    GroupType,
    Phases,
    Rebalance,
    RebalanceCause,
)

CERTAIN, LIKELY, UNKNOWN = Confidence.CERTAIN, Confidence.LIKELY, Confidence.UNKNOWN
JOINED, LEFT = CauseKind.MEMBER_JOINED, CauseKind.MEMBER_LEFT


def rebalance(
    generation: int, kind: CauseKind, confidence: Confidence = CERTAIN, **facts: Any
) -> Rebalance:
    """Return a rebalance of one cause, by member a."""
    kept = {"member_id": "a", "at_ns": generation, **facts}
    cause = RebalanceCause(cause=kind, confidence=confidence, **kept)
    return Rebalance(generation=generation, causes=[cause])


def history(source: str, *rebalances: Rebalance, group: str = "orders") -> GroupHistory:
    """Return what a source tells of a classic group."""
    return GroupHistory(
        group=group, type=GroupType.CLASSIC, source=source, rebalances=list(rebalances)
    )


def test_generations_of_several_sources_make_one_timeline() -> None:
    """Each source may know some of them."""
    (joined,), contradictions = join_histories(
        [
            history("capture", rebalance(2, JOINED), rebalance(4, LEFT)),
            history("log", rebalance(2, JOINED), rebalance(3, LEFT)),
        ]
    )

    assert [each.generation for each in joined.rebalances] == [2, 3, 4]
    assert joined.source == "capture, log"
    assert contradictions == []


def test_the_surer_cause_counts_with_the_evidence_of_both() -> None:
    """What the other one knows of the member is kept."""
    packet, line = EvidencePlace("packet", None, 7), EvidencePlace("line", "server.log", 9)
    seen = rebalance(2, JOINED, LIKELY, client_host="10.0.0.7", evidence=(packet,), note="new")
    logged = rebalance(2, JOINED, CERTAIN, evidence=(line,))
    for histories in (
        [history("capture", seen), history("log", logged)],
        [history("log", logged), history("capture", seen)],
    ):
        (joined,), _ = join_histories(histories)
        cause = joined.rebalances[0].cause
        assert (cause.confidence, cause.client_host) == (CERTAIN, "10.0.0.7")
        assert set(cause.evidence) == {packet, line}


def test_an_unknown_cause_gives_way() -> None:
    """That is no contradiction."""
    blank = rebalance(2, CauseKind.UNKNOWN, UNKNOWN, member_id=None)
    (joined,), contradictions = join_histories(
        [history("capture", blank), history("log", rebalance(2, LEFT))]
    )

    assert joined.rebalances[0].cause.cause is LEFT
    assert contradictions == []


def test_what_one_source_sees_more_closely_counts() -> None:
    """A broker calls it a leave; the client said that its poll timed out."""
    closer = rebalance(2, CauseKind.POLL_TIMEOUT, LIKELY)
    for histories in (
        [history("capture", closer), history("log", rebalance(2, LEFT))],
        [history("log", rebalance(2, LEFT)), history("capture", closer)],
    ):
        (joined,), contradictions = join_histories(histories)
        assert joined.rebalances[0].cause.cause is CauseKind.POLL_TIMEOUT
        assert contradictions == []


def test_contradictions_are_told() -> None:
    """Another cause, or another member."""
    others = (rebalance(2, LEFT), rebalance(2, JOINED, member_id="b"))
    for other in others:
        _, contradictions = join_histories(
            [history("capture", rebalance(2, JOINED)), history("log", other)]
        )
        (told,) = contradictions
        assert told.startswith("group orders, generation 2: the capture says member_joined (a), ")


def test_one_member_may_rejoin_while_another_one_leaves() -> None:
    """All rejoin in every rebalance; sources may see the two in another order."""
    logged = rebalance(2, CauseKind.MEMBER_REJOINED, member_id="b")
    (joined,), contradictions = join_histories(
        [history("capture", rebalance(2, LEFT)), history("log", logged)]
    )

    assert contradictions == []
    told = [(each.cause, each.member_id) for each in joined.rebalances[0].causes]
    assert told == [(LEFT, "a"), (CauseKind.MEMBER_REJOINED, "b")]


def test_phases_are_of_whichever_source_saw_them() -> None:
    """A log knows none; it knows when the rebalance began."""
    seen, logged = rebalance(2, JOINED), rebalance(2, JOINED)
    seen.phases = {"a": Phases(member_id="a", asked_ns=5)}
    seen.ended_ns, logged.started_ns, logged.ended_ns = 90, 3, 80
    (joined,), _ = join_histories([history("log", logged), history("capture", seen)])
    (both,) = joined.rebalances

    assert list(both.phases) == ["a"]
    assert (both.started_ns, both.ended_ns) == (3, 90)


def test_groups_stand_by_name() -> None:
    """Of different names they stay apart."""
    joined, _ = join_histories([history("log", group="b"), history("capture", group="a")])

    assert [(each.group, each.source) for each in joined] == [("a", "capture"), ("b", "log")]


def test_a_source_that_knows_no_cluster_tells_of_the_only_one() -> None:
    """Of two it may be either: it stays by itself."""
    logged = history("log", rebalance(2, JOINED))
    one, other = (history("capture", rebalance(2, JOINED)) for _ in range(2))
    one.cluster, other.cluster = "A", "B"

    joined, _ = join_histories([one, logged])
    assert [(each.cluster, each.source) for each in joined] == [("A", "capture, log")]
    joined, contradictions = join_histories([one, other, logged])
    assert {(each.cluster, each.source) for each in joined} == {
        (None, "log"),
        ("A", "capture"),
        ("B", "capture"),
    }
    assert contradictions == []
