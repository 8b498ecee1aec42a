from typing import Any

from kdiag.diagnosis.transactions import (
    KnownTransaction,
    OpenPartition,
    Transaction,
    TransactionFacts,
    find,
    judge,
)
from tiers.cases import for_each

S = 1000
NOW_MS = 10_000 * S


def partition(**facts: Any) -> OpenPartition:
    """Return a partition with an open transaction that began 60 s ago."""
    known: dict[str, Any] = {
        "topic": "orders",
        "partition": 3,
        "leader_id": 1,
        "producer_id": 7,
        "producer_epoch": 2,
        "coordinator_epoch": 5,
        "start_offset": 120,
        "last_ms": NOW_MS - 60 * S,
        "lso": 120,
        "end": 150,
    }
    return OpenPartition(**(known | facts))


def known(**facts: Any) -> KnownTransaction:
    """Return what a coordinator says of the same, which is open for it, too."""
    said: dict[str, Any] = {
        "transactional_id": "writer",
        "node_id": 2,
        "state": "Ongoing",
        "producer_id": 7,
        "producer_epoch": 2,
        "started_ms": NOW_MS - 70 * S,
        "timeout_ms": 60 * S,
        "places": {("orders", 3)},
    }
    return KnownTransaction(**(said | facts))


def judged(*partitions: OpenPartition, **facts: Any) -> list[Transaction]:
    """Return what is open, where leaders say the same at both looks."""
    said: dict[str, Any] = {"before": partitions, "after": partitions, "max_timeout_ms": 900 * S}
    said["known"] = {each.producer_id: each for each in facts.pop("coordinator", ())}
    return judge(TransactionFacts(at_ns=NOW_MS * 1_000_000, **(said | facts)))


def test_what_the_coordinator_has_open_is_alive() -> None:
    """Its age is since it began."""
    (alive,) = judged(partition(), coordinator=[known()])
    assert (alive.hangs, alive.is_unknown, alive.transactional_id) == (None, False, "writer")
    assert (alive.age_ms, alive.state, alive.node_id) == (70 * S, "Ongoing", 2)


def test_a_producer_that_is_fenced_is_aborted_by_its_coordinator() -> None:
    """Which raises the epoch before it writes the markers."""
    (fenced,) = judged(partition(), coordinator=[known(state="PrepareAbort", producer_epoch=3)])
    assert (fenced.hangs, fenced.state) == (None, "PrepareAbort")


@for_each(
    ("coordinator", "why"),
    [
        (known(state="Empty", started_ms=None), "has none open for writer (Empty)"),
        (known(state="CompleteCommit"), "has none open for writer (CompleteCommit)"),
        (
            known(producer_epoch=3, places={("clicks", 0)}),
            "is at epoch 3 of writer elsewhere, and this one has 2",
        ),
        (known(places={("clicks", 0)}), "has writer open in other partitions alone"),
    ],
)
def test_what_the_coordinator_has_not_open_hangs(coordinator: KnownTransaction, why: str) -> None:
    """Nobody will write its marker."""
    hanging = judged(partition(), coordinator=[coordinator])[0]
    assert (hanging.hangs, hanging.is_unknown) == (why, False)
    assert hanging.age_ms == 60 * S
    (finding,) = find([hanging], {("orders", 3): "kdiag x"})
    assert finding.id == "KD3501"
    assert finding.evidence["blocked_records"] == 30
    assert finding.fix.endswith("then run `kdiag x`.")


def test_one_that_ended_between_the_looks_is_not_told() -> None:
    """Nor is one that began meanwhile: what hangs is there at both."""
    assert judged(partition(), after=[]) == []
    assert judged(partition(), before=[]) == []
    assert judged(partition(), after=[partition(start_offset=130)]) == []


def test_a_producer_that_nobody_knows_hangs_once_no_transaction_may_be_as_old() -> None:
    """Before that, it may be one of somebody else's, which one may not describe."""
    (young,) = judged(partition())
    assert (young.hangs, young.is_unknown) == (None, True)
    assert [each.id for each in find([young], {})] == ["KD3503"]
    old = partition(last_ms=NOW_MS - 1000 * S)
    (hanging,) = judged(old)
    assert hanging.hangs == "is not known, and it is older than transaction.max.timeout.ms"
    assert judged(old, max_timeout_ms=None)[0].is_unknown
    assert judged(old, silent={2: "no answer"})[0].is_unknown


def test_open_ones_that_hold_nothing_back_are_told_as_well() -> None:
    """What hangs stands first, then the oldest."""
    quiet = known(producer_id=8, transactional_id="quiet", started_ms=NOW_MS - 5 * S)
    older = known(producer_id=9, transactional_id="older", started_ms=NOW_MS - 50 * S)
    done = known(producer_id=10, state="CompleteAbort")
    hanging = known(state="Empty", started_ms=None)
    told = judged(partition(), coordinator=[quiet, older, done, hanging])
    assert [each.transactional_id for each in told] == ["writer", "older", "quiet"]
    assert told[1].places == {("orders", 3)}


def test_one_that_outlives_its_timeout_is_a_warning() -> None:
    """With some seconds more, for its coordinator looks now and then."""
    late = known(started_ms=NOW_MS - 80 * S)
    (finding,) = find(judged(partition(), coordinator=[late]), {})
    assert (finding.id, finding.evidence["timeout_s"]) == ("KD3502", 60)
    (note,) = find(judged(partition(), coordinator=[known()]), {})
    assert (note.id, note.evidence["blocked_records"]) == ("KD3504", 30)
    young = known(started_ms=NOW_MS - 50 * S)
    assert list(find(judged(partition(), coordinator=[young]), {})) == []


QUICK_MS = (120, 80, 95)


def stalled(*partitions: OpenPartition, **facts: Any) -> list[tuple[str, str]]:
    """Return what is found about transactions whose producer had earlier ones."""
    earlier_ms = facts.pop("earlier_ms", {7: QUICK_MS})
    found = judged(*partitions, coordinator=[known(**facts)], earlier_ms=earlier_ms)
    groups = {("orders", 3): ["audit"]}
    return [(each.id, each.title) for each in find(found, {("orders", 3): "kdiag x"}, groups)]


def test_a_producer_that_fell_silent_is_told_by_its_rhythm() -> None:
    """With who waits, and when its coordinator ends it, long before the timeout."""
    written = partition(last_ms=NOW_MS - 30 * S)
    ((rule, title),) = stalled(written, started_ms=NOW_MS - 30 * S, timeout_ms=900 * S)
    assert rule == "KD3505"
    assert title == (
        "the producer of transaction writer wrote nothing for 30 s, though its last 3 transactions "
        "took at most 120 ms; 30 records of 1 partitions are held back (groups that wait: audit)"
    )


@for_each(
    ("last_s", "facts"),
    [
        (1, {}),
        (30, {"earlier_ms": {7: QUICK_MS[:2]}}),
        (30, {"earlier_ms": {7: (120, 80, 6_000)}}),
        (30, {"earlier_ms": {}}),
        (30, {"state": "PrepareCommit"}),
        (4, {"started_ms": NOW_MS - 4 * S}),
    ],
    ids=[
        "it still writes",
        "two earlier ones",
        "one of the earlier ones took 6 s",
        "no earlier ones are known",
        "its end is under way",
        "it is young",
    ],
)
def test_a_producer_that_may_be_at_work_is_not_called_dead(
    last_s: int, facts: dict[str, Any]
) -> None:
    """The same transaction, with another reason to be old."""
    written = partition(last_ms=NOW_MS - last_s * S)
    assert (
        stalled(written, **({"started_ms": NOW_MS - 30 * S, "timeout_ms": 900 * S} | facts)) == []
    )
