"""Visits: many connections at once, each as a client makes it, up to the first answer.

Each visit connects, shakes hands, logs in, asks for the versions and then for metadata, and notes
how long every step took. One that fails is not repeated.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

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


class _Visiting:
    """One visit under way."""

    def __init__(self, node: Node, began_ns: int) -> None:
        self.node = node
        self.began_ns = began_ns
        self.ready_ns: int | None = None
        self.ended_ns: int | None = None
        self.future: ResponseFuture | None = None
        self.error: ConnectError | None = None
        self.versions: ApiVersionsResponse | None = None


class Visits:
    """Visits to the nodes of a cluster, by one client."""

    def __init__(self, client: ClusterClient, timed: TimedChannels) -> None:
        """Begin without visits.

        Args:
            client: makes the connections; they can be used afterwards.
            timed: makes the client's channels.
        """
        self._client = client
        self._timed = timed
        self._all: dict[str, _Visiting] = {}
        self._first: _Visiting | None = None

    @property
    def first_answer(self) -> tuple[Node, MetadataResponse] | None:
        """Return the node that answered first, and what it said."""
        if self._first is None:
            return None
        answer = _answer(self._first)
        assert answer is not None
        return self._first.node, answer

    @property
    def is_over(self) -> bool:
        """Return whether every visit has ended, well or not."""
        return all(each.ended_ns is not None for each in self._all.values())

    def begin(self, nodes: Iterable[Node]) -> None:
        """Begin to connect to nodes, each by its one address."""
        for node in nodes:
            self._all[node.id] = _Visiting(node, self._client.clock.monotonic_ns())
            self._client.network.ready(node)

    def run(self, limit_ns: int, *, until_first: bool = False) -> None:
        """Go on until all visits have ended.

        Args:
            limit_ns: how long that may take.
            until_first: whether to stop at the first answer.
        """

        def is_over() -> bool:
            for visiting in self._all.values():
                self._advance(visiting)
            return self.is_over or (until_first and self._first is not None)

        until_ns = min(self._client.clock.monotonic_ns() + limit_ns, self._client.deadline_ns)
        self._client.client.await_condition(is_over, until_ns)

    def result(self, node_id: str) -> Visit:
        """Return how a visit has ended; one that has not is told as too slow."""
        visiting = self._all[node_id]
        now_ns = self._client.clock.monotonic_ns()
        ended_ns = now_ns if visiting.ended_ns is None else visiting.ended_ns
        answer, error = _answer(visiting), visiting.error
        if answer is None and error is None:
            error = self._too_slow(visiting)
        progress = self._timed.progress.get(node_id)
        took_ns, last_ns = self._steps(visiting, progress)
        if answer is not None:
            took_ns[CheckStep.METADATA] = ended_ns - last_ns
        address = visiting.node.address
        assert address is not None
        return Visit(
            node_id=node_id,
            address=address,
            took_ns=took_ns,
            error=error,
            failed_ns=ended_ns - last_ns if error else 0,
            tls=None if progress is None else progress.tls,
            versions=visiting.versions,
            metadata=answer,
        )

    def _advance(self, visiting: _Visiting) -> None:
        """Note what has happened on a visit's connection, and ask once it is ready."""
        if visiting.ended_ns is not None:
            return
        network, node_id = self._client.network, visiting.node.id
        now_ns = self._client.clock.monotonic_ns()
        if visiting.future is None and network.is_ready(node_id):
            visiting.ready_ns = now_ns
            known = network.api_versions(node_id)
            visiting.versions = None if known is None else known.response
            visiting.future = self._client.client.send(visiting.node, metadata_request([]))
        elif visiting.future is None and network.connection_failed(node_id):
            visiting.ended_ns, visiting.error = now_ns, network.connection_error(node_id)
        elif visiting.future is not None and visiting.future.is_done:
            visiting.ended_ns = now_ns
            if visiting.future.succeeded:
                self._first = self._first or visiting
            else:
                visiting.error = self._why_not(visiting, visiting.future)

    def _why_not(self, visiting: _Visiting, future: ResponseFuture) -> ConnectError:
        """Return why metadata was not told."""
        known = self._client.network.connection_error(visiting.node.id)
        if known is not None:
            return known
        error = future.error()
        if isinstance(error, ConnectError):
            return error
        return no_metadata(visiting.node.endpoint, error)

    def _too_slow(self, visiting: _Visiting) -> ConnectError:
        """Return what a visit still waits for."""
        silence = self._client.network.silence(visiting.node.id)
        return silence or no_metadata(visiting.node.endpoint, None)

    def _steps(
        self, visiting: _Visiting, progress: ChannelProgress | None
    ) -> tuple[dict[CheckStep, int], int]:
        """Return how long each step took until ApiVersions, and when the last of them ended."""
        took_ns: dict[CheckStep, int] = {}
        last_ns = visiting.began_ns
        for step, ended_ns in _ends(visiting, progress).items():
            if ended_ns is None:
                break
            took_ns[step] = ended_ns - last_ns
            last_ns = ended_ns
        return took_ns, last_ns


def _ends(visiting: _Visiting, progress: ChannelProgress | None) -> Mapping[CheckStep, int | None]:
    """Return when each step had ended well; TLS and SASL only where they take place."""
    if progress is None:
        return {}
    ends = {CheckStep.TCP: progress.connected_ns}
    if progress.tls is not None or progress.secured_ns != progress.connected_ns:
        ends[CheckStep.TLS] = progress.secured_ns
    if progress.authenticated_ns != progress.secured_ns:
        ends[CheckStep.SASL] = progress.authenticated_ns
    return {**ends, CheckStep.API_VERSIONS: visiting.ready_ns}


def _answer(visiting: _Visiting) -> MetadataResponse | None:
    future = visiting.future
    if future is None or not future.succeeded:
        return None
    body = future.value().body
    assert isinstance(body, MetadataResponse)
    return body
