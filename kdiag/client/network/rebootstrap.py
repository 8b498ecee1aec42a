"""Rebootstrapping: turns to the bootstrap servers when no known broker answers, and reports it.

    brokers     10.0.0.1:9092 (1)  10.0.0.2:9092 (2)      neither answers
    servers     kafka.example      looked up again: 10.0.7.1 (-2)
    brokers     10.0.7.1:9092 (1)  10.0.7.2:9092 (2)      named by -2

The brokers are not forgotten meanwhile: whichever node answers first counts. While that lasts,
names are looked up once in `LOOK_UP_EVERY_NS`. A trouble that ends sooner is reported only if the
cluster has other addresses afterwards.

Source: KIP-899 (no broker can be reached), KIP-1102 (none answers for long, or one asks for it).
"""

from collections.abc import Callable, Sequence
from typing import Final

from kdiag.client.network.metadata import Cluster, Node
from kdiag.clock import NS_PER_S
from kdiag.errors import ConnectError, KdiagError, Layer, RequestTimeoutError
from kdiag.net.address import host_and_port
from kdiag.wire.api.metadata import MetadataResponse
from kdiag.wire.error_code import CODE_BY_NAME

LOOK_UP_EVERY_NS: Final = NS_PER_S
"""How often names are looked up while no broker answers."""

_REQUIRED: Final = "REBOOTSTRAP_REQUIRED"
_AGAIN: Final = "asking the bootstrap servers again"
_FIX: Final = "Check where the bootstrap servers lead; start kdiag anew to use the other cluster"


class Rebootstrapping:
    """Knows whether brokers are lost, and finds the bootstrap servers then.

    Attributes:
        report: receives each line for the user.
        reason: why there is no broker to ask, if there is none.
    """

    def __init__(self, look_up: Callable[[int], Sequence[Node]]) -> None:
        """Begin with brokers that answer.

        Args:
            look_up: returns the bootstrap servers, within as many ns as it is given.
        """
        self.report: Callable[[str], None] = report_nothing
        self.reason: KdiagError = RequestTimeoutError("no broker answers")
        self._look_up = look_up
        self._cluster_id: str | None = None
        self._lost: list[str] = []
        self._next_ns: int | None = None
        self._is_reported = False

    @property
    def is_under_way(self) -> bool:
        """Return whether the known brokers were lost, and no broker has answered since."""
        return self._next_ns is not None

    def find_servers(
        self, brokers: Sequence[Node], now_ns: int, limit_ns: int
    ) -> Sequence[Node] | None:
        """Return the bootstrap servers; None if it is too early to look them up again.

        Args:
            brokers: those that do not answer.
            now_ns: the time, on the monotonic clock.
            limit_ns: how long that may take; with 0, the next call looks them up.
        """
        if self._next_ns is None:
            self._lost = sorted(each.endpoint for each in brokers)
            self._next_ns = now_ns
        elif self._lost and now_ns >= self._next_ns:
            verb = "do" if len(self._lost) > 1 else "does"
            self._report_once(f"{_brokers(self._lost)} {verb} not answer")
        if limit_ns <= 0 or now_ns < self._next_ns:
            return None
        self._next_ns = now_ns + LOOK_UP_EVERY_NS
        return self._look_up(limit_ns)

    def objection(self, body: MetadataResponse) -> KdiagError | None:
        """Return why metadata must not be used, and report it; None if it may be.

        Its broker asks clients to start over, or belongs to another cluster: its address was that
        of a broker, or the bootstrap servers lead elsewhere by now.
        """
        if body.error_code == CODE_BY_NAME[_REQUIRED]:
            why, fix = f"the broker asks its clients to start over ({_REQUIRED})", ""
        elif self._cluster_id and body.cluster_id and body.cluster_id != self._cluster_id:
            why = f"another cluster answers: its id is {body.cluster_id}, not {self._cluster_id}"
            fix = _FIX
        else:
            return None
        self._report_once(why)
        where = ", ".join(host_and_port(each.host, each.port) for each in body.brokers)
        self.reason = ConnectError(where or "a broker", Layer.KAFKA, why, fix)
        return self.reason

    def end(self, cluster: Cluster) -> None:
        """Record that a broker has named the brokers of the cluster."""
        self._cluster_id = cluster.cluster_id or self._cluster_id
        if self._next_ns is not None:
            found = sorted(each.endpoint for each in cluster.nodes())
            if self._lost and not set(found) & set(self._lost):
                named, lost = _brokers(found), ", ".join(self._lost)
                self.report(f"the bootstrap servers name {named} in place of {lost}")
            self._next_ns, self._lost = None, []
        self._is_reported = False

    def _report_once(self, why: str) -> None:
        """Report why the brokers are of no use, once until one of them is."""
        if not self._is_reported:
            self._is_reported = True
            self.report(f"{why}; {_AGAIN}")


def _brokers(endpoints: Sequence[str]) -> str:
    return f"{'the brokers' if len(endpoints) > 1 else 'the broker'} at {', '.join(endpoints)}"


def report_nothing(_line: str) -> None:
    """Ignore a line."""
