from kdiag.diagnosis.latency.fetch_waits import FetchReturn, FetchTally, FetchWait, explanation
from kdiag.diagnosis.latency.histogram import LatencyHistogram
from kdiag.diagnosis.latency.split import LatencySplit
from tiers.cases import for_each

MS = 1_000_000


def tally_of(wait: FetchWait, *fetches: tuple[float, int]) -> FetchTally:
    """Return fetches with the time at the broker in ms, and the bytes of their records."""
    tally = FetchTally(wait, LatencyHistogram())
    for took_ms, size_bytes in fetches:
        tally.add(LatencySplit(path_ns=MS, broker_ns=round(took_ms * MS)), size_bytes)
    return tally


def test_an_idle_topic_is_told_from_lag() -> None:
    """Of 25 fetches 24 came back empty, at the end of the wait."""
    tally = tally_of(FetchWait(1, 500), *[(500.3, 0)] * 23, (499.2, 0), (3, 120))
    assert tally.share(FetchReturn.AT_WAIT_EMPTY) == 0.96
    assert explanation(tally) == (
        "96 % of fetches returned at the 500 ms wait: the topic is idle, this is not lag"
    )


@for_each(
    ("wait", "fetches", "words"),
    [
        (
            FetchWait(1024, 100),
            [(100, 200)] * 8 + [(60, 1100)] * 2,
            "80 % of fetches returned at the 100 ms wait with less than fetch.min.bytes=1024",
        ),
        (
            FetchWait(1, 500),
            [(10, 100)] * 10,
            "100 % of fetches returned as soon as there was enough, after 11 ms in the median",
        ),
        (FetchWait(1, 0), [(0.2, 0)] * 9 + [(0.2, 100)], "90 % of fetches returned empty at once"),
        (
            FetchWait(1, 50),
            [(50, 0), (50, 10), (3, 10)],
            "33 % of fetches returned with enough data, 33 % at the 50 ms wait with less, 33 %",
        ),
        (FetchWait(1, 50), [], "no fetch returned"),
    ],
    ids=["company", "prompt", "polling", "mixed", "none"],
)
def test_a_sentence_says_what_fetches_wait_for(
    wait: FetchWait, fetches: list[tuple[float, int]], words: str
) -> None:
    """It begins with what most of them do."""
    assert explanation(tally_of(wait, *fetches)).startswith(words)


def test_records_that_wait_for_others_are_not_denied() -> None:
    """With a byte as the least none waits; with more the first may."""
    said = [explanation(tally_of(FetchWait(size, 500), (69, 1200))) for size in (1, 1024)]
    assert said[0].endswith("records do not wait for them")
    assert said[1].endswith(
        "the first record may wait so long until fetch.min.bytes=1024 have gathered"
    )


def test_bytes_are_added_up() -> None:
    """They tell how much each fetch brings."""
    tally = tally_of(FetchWait(1, 500), (1, 100), (1, 150))
    assert (tally.bytes, tally.latencies.count) == (250, 2)
    assert tally_of(FetchWait(1, 500)).share(FetchReturn.EARLY_EMPTY) == 0.0
