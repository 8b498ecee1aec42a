"""Asks brokers that may hang: each question has a time limit, and none waits for a broker twice.

    ListGroups      broker 2 does not answer within 4 s       brokers 1 and 3 do
    ListOffsets     broker 2 is not asked: the error is known; brokers 1 and 3 are

So a survey of many questions takes a few seconds longer for a broker that hangs, not one time limit
for each question. A broker that answers anything, be it an error, is asked again.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from kdiag.client.cluster_client import Answer, ClusterClient
from kdiag.client.fetch.offsets import NO_OFFSET, FoundOffset, look_up
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.network.request import RequestBuilder
from kdiag.errors import ConnectError, RequestTimeoutError
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.schema import Struct

R = TypeVar("R", bound=Struct)


class BrokerPatience:
    """Questions to the brokers of one cluster; for one thread.

    Attributes:
        client: connected.
        limit_ns: how long one question may take; None for the client's own limit.
        silent: the brokers that did not answer one, with how that was said.
    """

    def __init__(self, client: ClusterClient, limit_ns: int | None) -> None:
        self.client = client
        self.limit_ns = limit_ns
        self.silent: dict[int, str] = {}

    def ask_each(
        self, questions: Sequence[tuple[int, Struct | RequestBuilder]], answer: type[R]
    ) -> list[Answer[R]]:
        """Ask as `ClusterClient.ask_each` does; a silent broker is answered for."""
        asked = [each for each in questions if each[0] not in self.silent]
        heard = iter(self.client.ask_each(asked, answer, timeout_ns=self.limit_ns))
        answers: list[Answer[R]] = []
        silent = dict(self.silent)
        for node_id, _ in questions:
            why = silent.get(node_id)
            each = next(heard) if why is None else Answer(None, RequestTimeoutError(why))
            if isinstance(each.error, ConnectError | RequestTimeoutError):
                self.silent.setdefault(node_id, str(each.error))
            answers.append(each)
        return answers

    def ask_any(self, message: Struct | RequestBuilder, answer: type[R]) -> R:
        """Ask a question that changes nothing, as `ClusterClient.ask_any` does.

        Raises:
            KdiagError: as that does.
        """
        return self.client.ask_any(message, answer, timeout_ns=self.limit_ns, is_harmless=True)

    def look_up(
        self,
        timestamps: Mapping[PartitionKey, int],
        leaders: Mapping[PartitionKey, int | None],
        *,
        is_committed_only: bool,
    ) -> dict[PartitionKey, FoundOffset]:
        """Ask the leaders of partitions for offsets, without those that are silent."""
        mute = {
            key: self.silent[leader]
            for key in timestamps
            if (leader := leaders[key]) is not None and leader in self.silent
        }
        asked = {key: at for key, at in timestamps.items() if key not in mute}
        found = look_up(
            self.client,
            asked,
            leaders,
            is_committed_only=is_committed_only,
            timeout_ns=self.limit_ns,
        )
        for key, each in found.items():
            leader = leaders[key]
            if leader is not None and each.error is not None and each.error not in CODE_BY_NAME:
                self.silent.setdefault(leader, each.error)
        return found | {key: FoundOffset(NO_OFFSET, why) for key, why in mute.items()}
