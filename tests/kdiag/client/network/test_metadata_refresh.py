from kdiag.client.network.metadata_refresh import MetadataRefresh, RefreshTimes

TIMES = RefreshTimes(max_age_ns=10_000, retry_backoff_ns=100, retry_backoff_max_ns=400, jitter=0.0)


def updated(now_ns: int = 0) -> MetadataRefresh:
    """Return a refresh that has just had its first answer."""
    refresh = MetadataRefresh(TIMES)
    refresh.succeeded(now_ns, is_equivalent=False)
    return refresh


def test_the_first_update_is_due_at_once() -> None:
    """Nothing is known yet."""
    refresh = MetadataRefresh(TIMES)

    assert refresh.is_requested
    assert refresh.delay_ns(0) == 0


def test_an_answer_is_good_until_it_is_too_old() -> None:
    """Then the next is due, requested or not."""
    refresh = updated()

    assert not refresh.is_requested
    assert refresh.delay_ns(1) == 9_999
    assert refresh.delay_ns(10_000) == 0


def test_a_request_makes_an_update_due() -> None:
    """At once, if the last answer was of use."""
    refresh = updated()
    refresh.request_update()

    assert refresh.delay_ns(1) == 0


def test_failures_back_off_more_and_more() -> None:
    """Up to the maximum; an answer ends that."""
    refresh = updated()
    refresh.request_update()
    delays = []
    for _ in range(5):
        refresh.failed(1_000)
        delays.append(refresh.delay_ns(1_000))
    assert delays == [100, 200, 400, 400, 400]

    refresh.succeeded(2_000, is_equivalent=False)
    refresh.request_update()
    assert refresh.delay_ns(2_000) == 0


def test_answers_that_tell_nothing_new_back_off_more_and_more() -> None:
    """Otherwise who waits for a leader would ask in a loop."""
    refresh = updated()
    delays = []
    for _ in range(4):
        refresh.request_update()
        refresh.succeeded(1_000, is_equivalent=True)
        refresh.request_update()
        delays.append(refresh.delay_ns(1_000))
    assert delays == [100, 200, 400, 400]


def test_expecting_something_new_ends_the_backoff() -> None:
    """Unless the last attempt has failed, which is another matter."""
    refresh = updated()
    refresh.request_update()
    refresh.succeeded(1_000, is_equivalent=True)
    refresh.request_update(reset_equivalents=True)
    assert refresh.delay_ns(1_000) == 0

    refresh.failed(1_000)
    refresh.request_update(reset_equivalents=True)
    assert refresh.delay_ns(1_000) == 100


def test_an_answer_that_was_only_due_to_age_may_tell_nothing_new() -> None:
    """Nobody has waited for anything."""
    refresh = updated()
    refresh.succeeded(10_000, is_equivalent=True)
    refresh.request_update()

    assert refresh.delay_ns(10_000) == 0
