"""Connection attempts: many at once, each as a client connects, up to the first answer.

Each attempt connects, shakes hands, logs in, requests the versions and then metadata, and measures
every step. One that fails is not repeated.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kdiag.client.bootstrap import explained
from kdiag.client.cluster_client import ClusterClient
from kdiag.client.consumer_network_client import ResponseFuture
from kdiag.client.network.failure import no_metadata
from kdiag.client.network.metadata import Node, metadata_request
from kdiag.diagnosis.check.facts import CheckStep, Visit
from kdiag.errors import ConnectError
from kdiag.net.timed_channel import ChannelProgress, TimedChannels
from kdiag.wire.api.metadata import MetadataResponse

if TYPE_CHECKING:
    from kdiag.wire.api.api_versions import ApiVersionsResponse


class _Attempt:
    """One attempt under way."""

    def __init__(self, node: Node, began_ns: int) -> None:
        self.node = node
        self.began_ns = began_ns
        self.ready_ns: int | None = None
        self.ended_ns: int | None = None
        self.future: ResponseFuture | None = None
        self.error: ConnectError | None = None
        self.versions: ApiVersionsResponse | None = None


class ConnectionAttempts:
    """Attempts to connect to the nodes of a cluster, by one client."""

    def __init__(self, client: ClusterClient, timed: TimedChannels) -> None:
        """Begin without attempts.

        Args:
            client: makes the connections; they can be used afterwards.
            timed: makes the client's channels.
        """
        self._client = client
        self._timed = timed
        self._all: dict[str, _Attempt] = {}
        self._first: _Attempt | None = None

    @property
    def first_answer(self) -> tuple[Node, MetadataResponse] | None:
        """Return the node that answered first, and its answer."""
        if self._first is None:
            return None
        answer = _answer(self._first)
        assert answer is not None
        return self._first.node, answer

    @property
    def is_over(self) -> bool:
        """Return whether every attempt has ended, successful or not."""
        return all(each.ended_ns is not None for each in self._all.values())

    def begin(self, nodes: Iterable[Node]) -> None:
        """Begin to connect to nodes."""
        for node in nodes:
            self._all[node.id] = _Attempt(node, self._client.clock.monotonic_ns())
            self._client.network.ready(node)

    def run(self, limit_ns: int, *, until_first: bool = False) -> None:
        """Go on until all attempts have ended.

        Args:
            limit_ns: how long that may take.
            until_first: whether to stop at the first answer.
        """

        def is_over() -> bool:
            for attempt in self._all.values():
                self._advance(attempt)
            return self.is_over or (until_first and self._first is not None)

        until_ns = min(self._client.clock.monotonic_ns() + limit_ns, self._client.deadline_ns)
        self._client.client.await_condition(is_over, until_ns)

    def result(self, node_id: str) -> Visit:
        """Return the result of an attempt; one that has not ended is too slow."""
        attempt = self._all[node_id]
        now_ns = self._client.clock.monotonic_ns()
        ended_ns = now_ns if attempt.ended_ns is None else attempt.ended_ns
        answer, error = _answer(attempt), attempt.error
        if answer is None and error is None:
            error = self._too_slow(attempt)
        progress = self._timed.progress.get(node_id)
        took_ns, last_ns = self._steps(attempt, progress)
        if answer is not None:
            took_ns[CheckStep.METADATA] = ended_ns - last_ns
        address = attempt.node.address
        assert address is not None
        if error is not None:
            error = explained(error, attempt.node, self._client.deadline_ns - now_ns)
        return Visit(
            node_id=node_id,
            address=address,
            took_ns=took_ns,
            error=error,
            failed_ns=ended_ns - last_ns if error else 0,
            tls=None if progress is None else progress.tls,
            versions=attempt.versions,
            metadata=answer,
        )

    def _advance(self, attempt: _Attempt) -> None:
        """Record the progress of an attempt, and request metadata once it is connected."""
        if attempt.ended_ns is not None:
            return
        network, node_id = self._client.network, attempt.node.id
        now_ns = self._client.clock.monotonic_ns()
        if attempt.future is None and network.is_ready(node_id):
            attempt.ready_ns = now_ns
            known = network.api_versions(node_id)
            attempt.versions = None if known is None else known.response
            attempt.future = self._client.client.send(attempt.node, metadata_request([]))
        elif attempt.future is None and network.connection_failed(node_id):
            attempt.ended_ns, attempt.error = now_ns, network.connection_error(node_id)
        elif attempt.future is not None and attempt.future.is_done:
            attempt.ended_ns = now_ns
            if attempt.future.succeeded:
                self._first = self._first or attempt
            else:
                attempt.error = self._metadata_error(attempt, attempt.future)

    def _metadata_error(self, attempt: _Attempt, future: ResponseFuture) -> ConnectError:
        """Return why there is no metadata."""
        known = self._client.network.connection_error(attempt.node.id)
        if known is not None:
            return known
        error = future.error()
        if isinstance(error, ConnectError):
            return error
        return no_metadata(attempt.node.endpoint, error)

    def _too_slow(self, attempt: _Attempt) -> ConnectError:
        """Return the error of an attempt that still waits for something."""
        silence = self._client.network.silence(attempt.node.id)
        return silence or no_metadata(attempt.node.endpoint, None)

    def _steps(
        self, attempt: _Attempt, progress: ChannelProgress | None
    ) -> tuple[dict[CheckStep, int], int]:
        """Return how long each step up to ApiVersions took, and when the last of them ended."""
        took_ns: dict[CheckStep, int] = {}
        last_ns = attempt.began_ns
        for step, ended_ns in _ends(attempt, progress).items():
            if ended_ns is None:
                break
            took_ns[step] = ended_ns - last_ns
            last_ns = ended_ns
        return took_ns, last_ns


def _ends(attempt: _Attempt, progress: ChannelProgress | None) -> Mapping[CheckStep, int | None]:
    """Return when each step succeeded; TLS and SASL only where they take place."""
    if progress is None:
        return {}
    ends = {CheckStep.TCP: progress.connected_ns}
    if progress.tls is not None or progress.secured_ns != progress.connected_ns:
        ends[CheckStep.TLS] = progress.secured_ns
    if progress.authenticated_ns != progress.secured_ns:
        ends[CheckStep.SASL] = progress.authenticated_ns
    return {**ends, CheckStep.API_VERSIONS: attempt.ready_ns}


def _answer(attempt: _Attempt) -> MetadataResponse | None:
    future = attempt.future
    if future is None or not future.succeeded:
        return None
    body = future.value().body
    assert isinstance(body, MetadataResponse)
    return body
