"""How clients read: fetch sessions that do not last, and commits that come too often."""

from collections.abc import Iterator, Sequence
from functools import partial
from struct import Struct
from typing import Any, Final

import msgspec

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.traffic.ledgers import (
    Asker,
    Case,
    Ledgers,
    client_of,
    counted,
    findings_of,
)
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, Status
from kdiag.exchange.side import Side
from kdiag.exchange.summary.counts import Again, AgainOn
from kdiag.findings.finding import Finding

_SESSIONS: Final = 7  # the first version of Fetch that has them
_NO_REPLICA_ID: Final = 15  # the first version in which that is a tagged field
_read_epoch: Final = Struct(">i").unpack_from
_EPOCH_AT: Final = (21, 17)  # before and from that version on, in the body
_LEAST_FULL: Final = 20
_LEAST_COMMITS: Final = 50
_LEAST_COMMITS_PER_S: Final = 5
_LEAST_COMMIT_NS: Final = 2 * NS_PER_S


class FetchLedger(msgspec.Struct):
    """The fetches of a client from a broker, by what they say of their session.

    Attributes:
        full: those that ask for a session.
        incremental: those that go on with one.
        example: the number of an exchange that asks for one.
    """

    full: int = 0
    incremental: int = 0
    example: int = 0

    def add(self, epoch: int, number: int) -> None:
        """Add a fetch with a session epoch; -1 wants no session, and does not count."""
        if epoch == 0:
            self.full += 1
            self.example = max(self.example, number)
        elif epoch > 0:
            self.incremental += 1


class CommitLedger(msgspec.Struct):
    """The commits of a connection in a group."""

    client: Asker | None = None
    commits: int = 0
    first_ns: int = 0
    last_ns: int = 0
    example: int = 0

    def add(self, exchanges: Sequence[Exchange]) -> None:
        """Add commits."""
        times_ns = [each.time_ns for each in exchanges]
        self.commits += len(times_ns)
        self.first_ns = min(self.first_ns or times_ns[0], *times_ns)
        self.last_ns = max(self.last_ns, *times_ns)


class Consuming:
    """Looks at fetches of consumers, and at commits.

    Attributes:
        fetches: by client and broker.
        commits: by connection and group.
    """

    def __init__(self) -> None:
        self.fetches: Ledgers[tuple[Asker, str], FetchLedger] = Ledgers(FetchLedger)
        self.commits: Ledgers[tuple[int, str], CommitLedger] = Ledgers(CommitLedger)

    @property
    def left_out(self) -> int:
        """Return how often there was no room for a client or a connection."""
        return self.fetches.left_out + self.commits.left_out

    def add_fetch(self, dissection: Dissection) -> AgainOn | None:
        """Add a Fetch exchange; return who adds those like it."""
        exchange, request = dissection.exchange, dissection.request
        if request is None or request.status is not Status.OK or request.version < _SESSIONS:
            return None
        if _replica_id(request) >= 0:
            return None
        start = request.body_offset + _EPOCH_AT[request.version >= _NO_REPLICA_ID]
        return counted(partial(self._fetch_again, start), exchange)

    def _fetch_again(self, epoch_at: int, exchange: Exchange) -> Again | None:
        ledger = self.fetches.of((client_of(exchange), exchange.connection.broker))
        if ledger is None:
            return None

        def again(exchanges: Sequence[Exchange]) -> None:
            for each in exchanges:
                if each.request is not None:
                    (epoch,) = _read_epoch(each.request.data, epoch_at)
                    ledger.add(epoch, each.number)

        return again

    def add_commit(self, dissection: Dissection) -> AgainOn | None:
        """Add an OffsetCommit exchange; return who adds those like it."""
        exchange, request = dissection.exchange, dissection.request
        if request is None or request.status is not Status.OK:
            return None
        return counted(partial(self._commit_again, request.message.group_id), exchange)

    def _commit_again(self, group: str, exchange: Exchange) -> Again | None:
        ledger = self.commits.of((exchange.connection.number, group))
        if ledger is None:
            return None
        if ledger.client is None:
            ledger.client, ledger.example = client_of(exchange), exchange.number
        return ledger.add

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong."""
        sessions = []
        for (client, broker), of in self.fetches.items():
            fetches = of.full + of.incremental
            if of.full >= _LEAST_FULL and of.full * 2 >= fetches:
                evidence = {
                    **_of(client),
                    "broker": broker,
                    "full": of.full,
                    "fetches": fetches,
                    "exchange": of.example,
                }
                sessions.append(Case(of.full, f"{client} with {broker}", evidence))
        yield from findings_of("KD4201", sessions)
        yield from findings_of("KD4202", list(self._frequent_commits()))

    def _frequent_commits(self) -> Iterator[Case]:
        for (connection, group), of in self.commits.items():
            span_ns = of.last_ns - of.first_ns
            if of.commits < _LEAST_COMMITS or span_ns < _LEAST_COMMIT_NS or of.client is None:
                continue
            per_s = (of.commits - 1) * NS_PER_S // span_ns
            if per_s >= _LEAST_COMMITS_PER_S:
                evidence = {
                    **_of(of.client),
                    "connection": connection,
                    "group": group,
                    "commits": of.commits,
                    "per_s": per_s,
                    "exchange": of.example,
                }
                yield Case(per_s, f"{of.client} in {group}", evidence)


def _of(client: Asker) -> dict[str, Any]:
    return {"client": str(client), "client_id": client.client_id, "client_host": client.host}


def _replica_id(request: Side) -> int:
    message = request.message
    if request.version < _NO_REPLICA_ID:
        return int(message.replica_id)
    return int(message.replica_state.replica_id)
