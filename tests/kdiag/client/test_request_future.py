from collections.abc import Callable
from threading import Barrier, Thread

import pytest

from kdiag.client.request_future import RequestFuture, completed, failed
from kdiag.errors import (
    AuthenticationError,
    ConnectError,
    DecodeError,
    DisconnectedError,
    GroupError,
    KdiagError,
    Layer,
    RequestTimeoutError,
)
from tiers.cases import for_each

GONE = DisconnectedError("127.0.0.1:9092: closed")


def test_a_new_future_is_pending() -> None:
    """It has neither a value nor an error, and says so."""
    future: RequestFuture[int] = RequestFuture()

    assert (future.is_done, future.succeeded, future.failed) == (False, False, False)
    assert not future.is_retriable
    for take in (future.value, future.error, future.result):
        with pytest.raises(RuntimeError, match="<RequestFuture pending> has no"):
            take()


@for_each("value", [7, "x", None, b""])
def test_a_completed_future_has_its_value(value: object) -> None:
    """None is a value like others."""
    future: RequestFuture[object] = RequestFuture()
    future.complete(value)

    assert (future.is_done, future.succeeded, future.failed) == (True, True, False)
    assert future.value() is value
    assert future.result() is value
    with pytest.raises(RuntimeError, match="succeeded> has no error"):
        future.error()


def test_a_failed_future_has_its_error() -> None:
    """`result` raises it, `value` refuses."""
    future = failed(GONE)

    assert (future.is_done, future.succeeded, future.failed) == (True, False, True)
    assert future.error() is GONE
    with pytest.raises(DisconnectedError, match="closed"):
        future.result()
    with pytest.raises(RuntimeError, match=r"DisconnectedError.* has no value"):
        future.value()


def test_an_error_is_no_value() -> None:
    """Completing with an error would hide a failure as a success."""
    future: RequestFuture[object] = RequestFuture()

    with pytest.raises(ValueError, match=r"it is for fail\(\)"):
        future.complete(GONE)
    assert not future.is_done


Finish = Callable[[RequestFuture[int]], None]
FINISH: dict[str, Finish] = {
    "complete": lambda future: future.complete(1),
    "fail": lambda future: future.fail(GONE),
}


@for_each("first", FINISH.values(), ids=FINISH)
@for_each("second", FINISH.values(), ids=FINISH)
def test_a_future_ends_once(first: Finish, second: Finish) -> None:
    """Whichever way it ended, a second end is refused and changes nothing."""
    future: RequestFuture[int] = RequestFuture()
    first(future)
    before = repr(future)

    with pytest.raises(RuntimeError, match="is done already"):
        second(future)
    assert repr(future) == before


@pytest.mark.parametrize("finish", FINISH.values(), ids=FINISH)
def test_each_listener_is_called_once_in_order(finish: Finish) -> None:
    """Those added before the end are called at the end, those added after it at once."""
    future: RequestFuture[int] = RequestFuture()
    called: list[str] = []
    future.add_listener(lambda _: called.append("first"))
    future.add_listener(lambda _: called.append("second"))
    assert called == []

    finish(future)
    assert called == ["first", "second"]
    future.add_listener(lambda _: called.append("late"))
    assert called == ["first", "second", "late"]


def test_compose_adapts_the_value() -> None:
    """The adapter makes the new future's value from the old one's."""
    future: RequestFuture[str] = RequestFuture()
    length: RequestFuture[int] = future.compose(lambda value, new: new.complete(len(value)))

    assert not length.is_done
    future.complete("four")
    assert length.value() == 4


def test_compose_hands_an_error_on() -> None:
    """Without an adapter for errors the new future fails alike."""
    future: RequestFuture[str] = RequestFuture()
    length: RequestFuture[int] = future.compose(lambda value, new: new.complete(len(value)))
    future.fail(GONE)

    assert length.error() is GONE


def test_compose_may_make_a_value_of_an_error() -> None:
    """An adapter for errors decides what the new future becomes."""
    future: RequestFuture[str] = RequestFuture()

    def forgive(_: KdiagError, new: RequestFuture[int]) -> None:
        new.complete(0)

    length = future.compose(lambda value, new: new.complete(len(value)), forgive)
    future.fail(GONE)

    assert length.value() == 0


def test_a_chained_future_ends_alike() -> None:
    """With the same value, or with the same error."""
    taken: RequestFuture[int] = RequestFuture()
    lost: RequestFuture[int] = RequestFuture()
    completed(3).chain(taken)
    failed(GONE).chain(lost)

    assert taken.value() == 3
    assert lost.error() is GONE


@for_each(
    ("error", "retriable"),
    [
        (GroupError("billing", "NOT_COORDINATOR", "x", is_retriable=True), True),
        (GroupError("billing", "FENCED_INSTANCE_ID", "x"), False),
        (GONE, True),
        (RequestTimeoutError("late"), True),
        (ConnectError("h:1", Layer.TCP, "refused"), True),
        (AuthenticationError("h:1", Layer.SASL, "wrong password"), False),
        (DecodeError("", 0, "wrong"), False),
    ],
    ids=repr,
)
def test_what_time_can_heal_is_retriable(error: KdiagError, retriable: bool) -> None:  # noqa: FBT001 - a table
    """A connection may come back; a wrong password stays wrong."""
    assert failed(error).is_retriable is retriable


@pytest.mark.thorough
def test_one_of_two_threads_completes_a_future() -> None:
    """The other is refused, and the listener is called once."""
    for _ in range(200):
        future: RequestFuture[int] = RequestFuture()
        called: list[object] = []
        refused: list[object] = []
        start = Barrier(2)
        future.add_listener(called.append)

        def complete(
            value: int,
            future: RequestFuture[int] = future,
            refused: list[object] = refused,
            start: Barrier = start,
        ) -> None:
            start.wait()
            try:
                future.complete(value)
            except RuntimeError as error:
                refused.append(error)

        threads = [Thread(target=complete, args=[number]) for number in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert (len(called), len(refused)) == (1, 1)
