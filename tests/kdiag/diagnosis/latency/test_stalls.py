from kdiag.diagnosis.latency.split import LatencySplit
from kdiag.diagnosis.latency.stalls import Stall, StallPlace, StallTally
from tiers.cases import for_each

MS = 1_000_000


def stalls_of(*splits: LatencySplit) -> list[Stall]:
    """Return what clusters among latencies."""
    tally = StallTally()
    for each in splits:
        tally.add(each)
    return tally.stalls()


FAST = [LatencySplit(path_ns=MS, broker_ns=MS)] * 90


@for_each(("took_ms", "stall_ms"), [(40, 40), (44, 40), (200, 200), (210, 200)])
def test_an_answer_whose_end_comes_a_timer_later_stalls(took_ms: int, stall_ms: int) -> None:
    """On Linux 40 ms, elsewhere 200, and a little more."""
    late = [LatencySplit(path_ns=MS, receiving_ns=(took_ms + 1) * MS)] * 10
    assert stalls_of(*FAST, *late) == [Stall(StallPlace.ANSWER, stall_ms, 10, 0.1)]


def test_on_a_long_path_the_rest_takes_a_round_trip_more() -> None:
    """The acknowledgement has to get there, and what it lets go has to come."""
    late = [LatencySplit(path_ns=80 * MS, receiving_ns=121 * MS)] * 10
    assert stalls_of(*late) == [Stall(StallPlace.ANSWER, 40, 10, 1.0)]


def test_requests_that_stall_on_the_way_cluster_at_the_broker() -> None:
    """Most are fast, and the others are all as slow."""
    late = [LatencySplit(path_ns=MS, broker_ns=41 * MS)] * 10
    assert stalls_of(*FAST, *late) == [Stall(StallPlace.BROKER, 40, 10, 0.1)]


@for_each(
    "splits",
    [
        [LatencySplit(broker_ns=41 * MS)] * 100,
        [LatencySplit(broker_ns=number * MS) for number in range(100)],
        [*FAST, *[LatencySplit(receiving_ns=41 * MS)] * 4],
        [*FAST * 20, *[LatencySplit(broker_ns=41 * MS)] * 10],
        [*FAST, *[LatencySplit(receiving_ns=30 * MS)] * 10],
    ],
    ids=["always", "spread", "few", "rare", "elsewhere"],
)
def test_what_is_slow_in_another_way_is_no_stall(splits: list[LatencySplit]) -> None:
    """A slow broker, a long tail, a handful: none of them is a cluster."""
    assert stalls_of(*splits) == []
