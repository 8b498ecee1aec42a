from hypothesis import given
from hypothesis import strategies as st

from kdiag.diagnosis.latency.split import (
    LatencySplit,
    OneWay,
    RequestTimes,
    joined,
    scaled,
    split_end_to_end,
    split_handover,
    split_request,
)

TIMES = st.integers(0, 10**12)


def test_a_request_waits_for_the_client_the_network_and_the_broker() -> None:
    """Ten units of path between the last byte of the request and the first of the answer."""
    split = split_request(RequestTimes(100, 103, 150, 152, 159), rtt_ns=10)
    assert split == LatencySplit(
        queued_ns=3, path_ns=10, broker_ns=37, receiving_ns=2, decoding_ns=7
    )
    assert (split.network_ns, split.broker_ns, split.client_ns) == (12, 37, 10)


def test_an_answer_that_is_faster_than_the_path_leaves_nothing_to_the_broker() -> None:
    """Round trips vary; a part is never negative."""
    split = split_request(RequestTimes(0, 0, 8, 8, 8), rtt_ns=10)
    assert (split.path_ns, split.broker_ns) == (8, 0)


@given(st.lists(TIMES, min_size=5, max_size=5).map(sorted), TIMES)
def test_the_parts_of_a_request_add_up_to_it(times: list[int], rtt_ns: int) -> None:
    """From when it was due until the answer was decoded, nothing is lost or counted twice."""
    moments = RequestTimes(*times)
    split = split_request(moments, rtt_ns)
    assert split.total_ns == moments.done_ns - moments.due_ns
    assert split.network_ns + split.broker_ns + split.client_ns == split.total_ns
    assert min(split) >= 0


def test_what_needs_no_answer_waits_for_the_client_alone() -> None:
    """Produce with acks=0 is over once the system has it."""
    assert split_handover(5, 7) == LatencySplit(queued_ns=2)


def test_a_fetch_that_waits_for_a_record_costs_it_nothing() -> None:
    """Half a round trip to the broker, half a round trip from it."""
    fetch = RequestTimes(0, 0, 130, 131, 133)
    split = split_end_to_end(100, OneWay(102, 20), fetch, 10)
    assert split == LatencySplit(
        queued_ns=2, path_ns=15, broker_ns=13, receiving_ns=1, decoding_ns=2
    )


def test_a_fetch_that_comes_late_is_asked_for_late() -> None:
    """The record was at the broker at 110, the fetch at 145."""
    split = split_end_to_end(100, OneWay(100, 20), RequestTimes(140, 140, 160, 160, 160), 10)
    assert split == LatencySplit(path_ns=15, broker_ns=10, asking_ns=35)
    assert split.client_ns == 35


@given(st.lists(TIMES, min_size=5, max_size=5).map(sorted), TIMES, TIMES, TIMES)
def test_the_parts_of_a_journey_add_up_to_it(
    times: list[int], asked_ns: int, rtt_ns: int, fetch_rtt_ns: int
) -> None:
    """Whenever the fetch was sent."""
    due_ns, written_ns, first_ns, last_ns, done_ns = times
    fetch = RequestTimes(asked_ns, asked_ns, first_ns, last_ns, done_ns)
    split = split_end_to_end(due_ns, OneWay(written_ns, rtt_ns), fetch, fetch_rtt_ns)
    assert split.total_ns == done_ns - due_ns
    assert min(split) >= 0


def test_a_latency_that_follows_another_is_added_part_by_part() -> None:
    """A record is read, and then its offset is committed."""
    assert joined(LatencySplit(1, 2, 3), LatencySplit(10, 20, 30)) == LatencySplit(11, 22, 33)


@given(st.lists(st.integers(0, 10**12), min_size=6, max_size=6), TIMES)
def test_parts_in_proportion_add_up(parts: list[int], total_ns: int) -> None:
    """To any latency, in which none of them is negative."""
    split = scaled(LatencySplit(*parts), total_ns)
    assert split.total_ns == (total_ns if any(parts) else 0)
    assert min(split) >= 0


def test_proportions_stay() -> None:
    """What rounding leaves goes to the largest part."""
    assert scaled(LatencySplit(1, 2, 3), 60) == LatencySplit(10, 20, 30)
    assert scaled(LatencySplit(1, 1, 2), 7) == LatencySplit(1, 1, 5)
