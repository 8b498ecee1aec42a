"""The consumer network client: queues requests until their node is ready, and gives futures.

Two threads may use one client: one that works, and one that sends heartbeats. One lock guards the
network client; whoever has it polls, for both. Nothing else needs a lock:

- `send`, `disconnect_async` and `wakeup` only put something into a queue that is safe from any
  thread, and end a poll that waits, so that they never wait themselves.
- Futures are completed after the lock is released, so that a listener may do anything, and another
  thread that waits for the lock can continue. A poll that waits is then ended: the thread in it may
  be waiting for that very future.

The second thread is that of a group's member (`kdiag.client.group`). It never waits for the first:
`poll_if_free` leaves the work to whoever polls at the moment, so that a long wait for records does
not hold up a heartbeat. A member also uses `await_pending` when it leaves, `await_metadata_update`
while it looks for its coordinator, `unavailable_ns` and `disconnect_async` when that is lost.

Source: Kafka's `ConsumerNetworkClient`.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock, RLock
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from kdiag.client.config.keys import default_ns
from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.client.network.metadata import Node
from kdiag.client.network.network_client import NetworkClient
from kdiag.client.network.request import ClientResponse, RequestBuilder
from kdiag.client.request_future import RequestFuture
from kdiag.clock import NS_PER_S
from kdiag.errors import DisconnectedError, KdiagError, RequestTimeoutError, WakeupError

MAX_POLL_NS: Final = 5 * NS_PER_S
"""The longest single wait, whatever the caller allows."""

ResponseFuture = RequestFuture[ClientResponse]


class _Unsent(NamedTuple):
    """A request that waits for its node to be ready."""

    node: Node
    builder: RequestBuilder
    timeout_ns: int
    created_ns: int
    future: ResponseFuture


class ConsumerNetworkClient:
    """A NetworkClient that two threads may use, with queues before and behind it."""

    def __init__(
        self,
        client: NetworkClient,
        *,
        request_timeout_ns: int = default_ns("request.timeout.ms"),
        retry_backoff_ns: int = default_ns("retry.backoff.ms"),
    ) -> None:
        """Take over a network client.

        Args:
            client: nobody else may use it from now on.
            request_timeout_ns: how long a request may wait to be sent, and then for its response.
            retry_backoff_ns: the longest single wait while nothing is in flight.
        """
        self._client = client
        self._clock = client.clock
        self._request_timeout_ns = request_timeout_ns
        self._retry_backoff_ns = retry_backoff_ns
        # Reentrant: Ctrl-C may come when a thread has it and is not inside `try` yet; it is the one
        # that closes the client then.
        self._lock = RLock()
        self._turn = Lock()
        self._sent: deque[_Unsent] = deque()
        self._unsent: dict[str, deque[_Unsent]] = {}
        self._to_disconnect: deque[str] = deque()
        self._completions: deque[Callable[[], None]] = deque()
        self._is_woken = False

    def send(
        self, node: Node, builder: RequestBuilder, *, timeout_ns: int | None = None
    ) -> ResponseFuture:
        """Queue a request and return the future of its response; a later poll sends it.

        The future fails with the error of the request: ConnectError or DisconnectedError,
        RequestTimeoutError, UnsupportedVersionError, EncodeError or DecodeError.

        Args:
            node: the node to send it to.
            builder: the request.
            timeout_ns: how long it may wait to be sent, and then for its response.
        """
        allowed_ns = self._request_timeout_ns if timeout_ns is None else timeout_ns
        future = ResponseFuture()
        unsent = _Unsent(node, builder, allowed_ns, self._clock.monotonic_ns(), future)
        self._sent.append(unsent)
        self._client.wakeup()
        return future

    def poll(
        self,
        deadline_ns: int,
        until: Callable[[], bool] | None = None,
        *,
        wakes: bool = True,
    ) -> None:
        """Send, receive and complete futures, once.

        Args:
            deadline_ns: until when to wait for something to happen, on the monotonic clock.
            until: returns whether to stop waiting; called with the lock, so that it must not use
                this client.
            wakes: whether `wakeup` may end it.

        Raises:
            WakeupError: once after each `wakeup`.
            KdiagError: a fatal error of the metadata updater, once.
        """
        self._complete_futures()
        with self._locked():
            error = self._poll(deadline_ns, until, wakes=wakes)
        self._complete_futures()
        if error is not None:
            raise error

    def poll_no_wakeup(self) -> None:
        """Do all that needs no waiting; a `wakeup` stays in force for the next poll."""
        self.poll(self._clock.monotonic_ns(), wakes=False)

    def poll_if_free(self) -> None:
        """Do the same, unless another thread polls, which does it for both.

        Raises:
            KdiagError: as `poll`.
        """
        self._complete_futures()
        if not self._lock.acquire(blocking=False):
            return
        try:
            error = self._poll(self._clock.monotonic_ns(), None, wakes=False)
        finally:
            self._lock.release()
        self._complete_futures()
        if error is not None:
            raise error

    def await_future(
        self, future: RequestFuture[Any], deadline_ns: int = FOREVER_NS, *, wakes: bool = True
    ) -> bool:
        """Poll until a future is done; return whether it is, which it may not be by the deadline.

        Raises:
            WakeupError: as `poll`.
            KdiagError: as `poll`.
        """
        return self.await_condition(lambda: future.is_done, deadline_ns, wakes=wakes)

    def await_condition(
        self, until: Callable[[], bool], deadline_ns: int = FOREVER_NS, *, wakes: bool = True
    ) -> bool:
        """Poll, at least once, until a condition holds; return whether it does by the deadline.

        Raises:
            WakeupError: as `poll`.
            KdiagError: as `poll`.
        """
        while True:
            self.poll(deadline_ns, until, wakes=wakes)
            if until():
                return True
            if self._clock.monotonic_ns() >= deadline_ns:
                return False

    def await_pending(
        self, node_id: str, deadline_ns: int = FOREVER_NS, *, wakes: bool = True
    ) -> bool:
        """Poll until no request to a node is unsent or in flight; return whether none is.

        Raises:
            WakeupError: as `poll`.
            KdiagError: as `poll`.
        """
        return self.await_condition(
            lambda: not self._count_pending(node_id), deadline_ns, wakes=wakes
        )

    def await_metadata_update(self, deadline_ns: int = FOREVER_NS, *, wakes: bool = True) -> bool:
        """Request a metadata update and poll until it is there; return whether it is.

        Raises:
            WakeupError: as `poll`.
            KdiagError: as `poll`.
        """
        updater = self._client.updater
        before = updater.update_count
        updater.request_update()
        return self.await_condition(
            lambda: updater.update_count != before, deadline_ns, wakes=wakes
        )

    def wakeup(self) -> None:
        """Make the poll of another thread, or the next one, raise WakeupError."""
        self._is_woken = True
        self._client.wakeup()

    def disconnect_async(self, node_id: str) -> None:
        """Let the next poll end a connection and fail its requests."""
        self._to_disconnect.append(node_id)
        self._client.wakeup()

    def unavailable_ns(self, node_id: str) -> int:
        """Return for how long a node whose connection failed must not be tried again; 0 if it may.

        It takes no lock, as it looks each fact up once: another thread may be waiting with it.
        """
        client = self._client
        return client.connection_delay_ns(node_id) if client.connection_failed(node_id) else 0

    def pending_count(self, node_id: str | None = None) -> int:
        """Return how many requests to a node, or to all, are unsent or in flight."""
        with self._locked():
            return self._count_pending(node_id)

    def least_loaded_node(self) -> Node | None:
        """Return the node to ask when any will do; None if none can be asked."""
        with self.network() as client:
            return client.least_loaded_node()

    def try_connect(self, node: Node) -> None:
        """Start to connect to a node, so that it is ready when it is needed."""
        with self.network() as client:
            client.ready(node)

    @contextmanager
    def network(self) -> Iterator[NetworkClient]:
        """Lend the network client; other threads wait until it is returned."""
        self._client.wakeup()
        with self._locked():
            yield self._client

    def close(self) -> None:
        """Close every connection; futures that are not done stay so."""
        with self.network() as client:
            client.close()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock; `_turn` gives it next to the thread that waits for it."""
        with self._turn:
            self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    def _poll(
        self, deadline_ns: int, until: Callable[[], bool] | None, *, wakes: bool
    ) -> KdiagError | None:
        """Do what `poll` does with the lock; return a fatal error of the metadata updater."""
        self._drain_queues()
        delay_ns = self._try_send()
        self._client.poll(self._wait_ns(deadline_ns, delay_ns, until))
        self._fail_disconnected()
        if wakes:
            self._maybe_wake_up()
        self._drain_queues()
        self._try_send()
        self._fail_expired()
        return self._client.updater.pop_error()

    def _count_pending(self, node_id: str | None) -> int:
        """Return how many requests are unsent or in flight."""
        unsent = [*self._sent, *(each for queue in self._unsent.values() for each in queue)]
        waiting = sum(node_id is None or each.node.id == node_id for each in unsent)
        return waiting + self._client.in_flight_count(node_id)

    def _drain_queues(self) -> None:
        """Apply the requests and disconnects that any thread has queued."""
        while self._sent:
            unsent = self._sent.popleft()
            self._unsent.setdefault(unsent.node.id, deque()).append(unsent)
        while self._to_disconnect:
            node_id = self._to_disconnect.popleft()
            self._fail_unsent(node_id, DisconnectedError(f"node {node_id} was disconnected"))
            self._client.disconnect(node_id)

    def _try_send(self) -> int:
        """Send all that can be sent, in the order of each node; return the ns until more can be."""
        delay_ns = MAX_POLL_NS
        for node_id, waiting in list(self._unsent.items()):
            while waiting and self._client.ready(waiting[0].node):
                self._send_now(waiting.popleft())
            if waiting:
                delay_ns = min(delay_ns, self._client.poll_delay_ns(node_id))
            else:
                del self._unsent[node_id]
        return delay_ns

    def _send_now(self, unsent: _Unsent) -> None:
        """Send a request to a node that is ready."""
        on_complete = partial(self._handle_response, unsent.future)
        request = self._client.request(
            unsent.node.id, unsent.builder, timeout_ns=unsent.timeout_ns, on_complete=on_complete
        )
        self._client.send(request)

    def _handle_response(self, future: ResponseFuture, response: ClientResponse) -> None:
        """Queue the completion of a future for when the lock is released.

        The response must not refer back to the future: such a circle of kdiag's structs is never
        freed, and this one would hold the whole response.
        """
        if response.error is None:
            request = replace(response.request, on_complete=None)
            self._completions.append(partial(future.complete, replace(response, request=request)))
        else:
            self._completions.append(partial(future.fail, response.error))

    def _wait_ns(self, deadline_ns: int, delay_ns: int, until: Callable[[], bool] | None) -> int:
        """Return how long the network client may wait."""
        if self._completions or (until is not None and until()):
            return 0
        wait_ns = max(0, min(deadline_ns - self._clock.monotonic_ns(), delay_ns))
        if not self._client.in_flight_count():
            wait_ns = min(wait_ns, self._retry_backoff_ns)
        return wait_ns

    def _fail_disconnected(self) -> None:
        """Fail the unsent requests to nodes whose connection has failed.

        This comes before the next attempt to send, which may start to connect again.
        """
        for node_id in list(self._unsent):
            if self._client.connection_failed(node_id):
                error = self._client.connection_error(node_id)
                self._fail_unsent(
                    node_id, error or DisconnectedError(f"node {node_id} was disconnected")
                )

    def _fail_unsent(self, node_id: str, error: KdiagError) -> None:
        """Fail the unsent requests to a node."""
        for unsent in self._unsent.pop(node_id, ()):
            self._completions.append(partial(unsent.future.fail, error))

    def _fail_expired(self) -> None:
        """Fail the requests that were unsent for too long, the oldest of each node first."""
        now_ns = self._clock.monotonic_ns()
        for node_id, waiting in list(self._unsent.items()):
            while waiting and now_ns > waiting[0].created_ns + waiting[0].timeout_ns:
                unsent = waiting.popleft()
                error = self._client.silence(node_id) or _never_sent(unsent)
                self._completions.append(partial(unsent.future.fail, error))
            if not waiting:
                del self._unsent[node_id]

    def _maybe_wake_up(self) -> None:
        """Raise WakeupError, once after each wakeup."""
        if self._is_woken:
            self._is_woken = False
            raise WakeupError("woken up")

    def _complete_futures(self) -> None:
        """Complete futures; never called with the lock."""
        has_completed = False
        while True:
            try:
                complete = self._completions.popleft()
            except IndexError:
                break
            complete()
            has_completed = True
        if has_completed:
            self._client.wakeup()


def _never_sent(unsent: _Unsent) -> RequestTimeoutError:
    """Return the error for a request that was never sent."""
    return RequestTimeoutError(
        f"{unsent.node.endpoint}: {unsent.builder.api.name} could not be sent within "
        f"{unsent.timeout_ns / NS_PER_S:.3g} s"
    )
