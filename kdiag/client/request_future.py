"""Request futures: the result of a request that is not answered yet.

A future is completed once, with a value or with an error; its owner adds listeners, or polls the
client until the future is done. `compose` and `chain` pass a result on to another future; members
of groups use them, and futures that are `completed` or `failed` from the start.

How it is safe from two threads without a lock: one `dict.setdefault` decides who completes it, and
each listener leaves its queue by one `deque.popleft`; both are atomic. A listener that is added
while the future is being completed is therefore called by one of the two threads, never by both.

Source: Kafka's `RequestFuture`, `RequestFutureAdapter`.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from kdiag.errors import (
    AuthenticationError,
    ConnectError,
    DisconnectedError,
    GroupError,
    KdiagError,
    RequestTimeoutError,
)

T = TypeVar("T")
U = TypeVar("U")

_OUTCOME: Final = "outcome"


class _Outcome(NamedTuple):
    """How a future ended: `error` is None if it succeeded."""

    value: object
    error: KdiagError | None


class RequestFuture(Generic[T]):
    """A value of type T that comes later, or the error instead of it."""

    __slots__ = ("_listeners", "_outcome")

    def __init__(self) -> None:
        self._outcome: dict[str, _Outcome] = {}
        self._listeners: deque[Callable[[RequestFuture[T]], None]] = deque()

    @property
    def is_done(self) -> bool:
        """Return whether it has a value or an error."""
        return _OUTCOME in self._outcome

    @property
    def succeeded(self) -> bool:
        """Return whether it has a value."""
        return self.is_done and self._outcome[_OUTCOME].error is None

    @property
    def failed(self) -> bool:
        """Return whether it has an error."""
        return self.is_done and self._outcome[_OUTCOME].error is not None

    @property
    def is_retriable(self) -> bool:
        """Return whether it failed with an error that another attempt may not have."""
        error = self._outcome[_OUTCOME].error if self.is_done else None
        return error is not None and is_retriable(error)

    def value(self) -> T:
        """Return the value.

        Raises:
            RuntimeError: if there is none.
        """
        if not self.succeeded:
            raise RuntimeError(f"{self!r} has no value")
        return cast("T", self._outcome[_OUTCOME].value)

    def error(self) -> KdiagError:
        """Return the error.

        Raises:
            RuntimeError: if there is none.
        """
        error = self._outcome[_OUTCOME].error if self.is_done else None
        if error is None:
            raise RuntimeError(f"{self!r} has no error")
        return error

    def result(self) -> T:
        """Return the value, or raise the error.

        Raises:
            KdiagError: with which it failed.
            RuntimeError: if it is not done.
        """
        if self.failed:
            raise self.error()
        return self.value()

    def complete(self, value: T) -> None:
        """Give it its value and call the listeners.

        Raises:
            RuntimeError: if it is done.
            ValueError: if the value is an error, which is for `fail`.
        """
        if isinstance(value, BaseException):
            raise ValueError("an error is not a value: it is for fail()")  # noqa: TRY004 - not a type
        self._set_outcome(_Outcome(value, None))

    def fail(self, error: KdiagError) -> None:
        """Give it its error and call the listeners.

        Raises:
            RuntimeError: if it is done.
        """
        self._set_outcome(_Outcome(None, error))

    def add_listener(self, listener: Callable[["RequestFuture[T]"], None]) -> None:
        """Call `listener(self)` exactly once: when it is done, or now if it is.

        Listeners are called in the order in which they were added.
        """
        self._listeners.append(listener)
        if self.is_done:
            self._call_listeners()

    def compose(
        self,
        adapt: Callable[[T, "RequestFuture[U]"], None],
        adapt_error: Callable[[KdiagError, "RequestFuture[U]"], None] | None = None,
    ) -> "RequestFuture[U]":
        """Return a future that the adapters complete from the outcome of this one.

        Args:
            adapt: is called with the value and the new future.
            adapt_error: the same for the error; by default the new future fails with it.
        """
        composed: RequestFuture[U] = RequestFuture()

        def pass_on(done: RequestFuture[T]) -> None:
            if done.succeeded:
                adapt(done.value(), composed)
            elif adapt_error is not None:
                adapt_error(done.error(), composed)
            else:
                composed.fail(done.error())

        self.add_listener(pass_on)
        return composed

    def chain(self, other: "RequestFuture[T]") -> None:
        """End another future as this one ends."""

        def pass_on(done: RequestFuture[T]) -> None:
            if done.succeeded:
                other.complete(done.value())
            else:
                other.fail(done.error())

        self.add_listener(pass_on)

    def _set_outcome(self, outcome: _Outcome) -> None:
        """Set the outcome unless there is one."""
        if self._outcome.setdefault(_OUTCOME, outcome) is not outcome:
            raise RuntimeError(f"{self!r} is done already")
        self._call_listeners()

    def _call_listeners(self) -> None:
        """Call, once each, the listeners that are left."""
        while True:
            try:
                listener = self._listeners.popleft()
            except IndexError:
                return
            listener(self)

    def __repr__(self) -> str:
        if not self.is_done:
            return "<RequestFuture pending>"
        outcome = self._outcome[_OUTCOME]
        return f"<RequestFuture {'succeeded' if outcome.error is None else repr(outcome.error)}>"


def is_retriable(error: KdiagError) -> bool:
    """Return whether another attempt may not have an error."""
    if isinstance(error, GroupError):
        return error.is_retriable
    if isinstance(error, AuthenticationError):
        return False
    return isinstance(error, DisconnectedError | RequestTimeoutError | ConnectError)


def completed(value: T) -> RequestFuture[T]:
    """Return a future that has succeeded already."""
    future: RequestFuture[T] = RequestFuture()
    future.complete(value)
    return future


def failed(error: KdiagError) -> RequestFuture[Any]:
    """Return a future that has failed already."""
    future: RequestFuture[Any] = RequestFuture()
    future.fail(error)
    return future
