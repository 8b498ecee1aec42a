"""ElectLeaders: has the preferred replicas lead, or any where nobody does (KIP-183, KIP-460).

Behaviour: each partition is elected or refused with its own error. A preferred election makes the
first replica the leader if it runs and is in sync; an unclean one makes any the leader of a
partition that has none, and what that replica lacks is lost. Where all partitions are asked for,
those that need no election are left out.

Version notes: 1 has unclean elections and an error of the whole.

Source: Kafka's `ReplicationControlManager.electLeaders`.

Leaves out: the timeout, for nothing here takes long.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.wire.api.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from kdiag.wire.error_code import CODE_BY_NAME

PREFERRED: Final = 0
UNCLEAN: Final = 1

_NOT_NEEDED: Final = CODE_BY_NAME["ELECTION_NOT_NEEDED"]


def handle(request: ElectLeadersRequest, call: ApiCall) -> ElectLeadersResponse:
    """Elect leaders."""
    if request.election_type not in {PREFERRED, UNCLEAN}:
        return _refused(request)
    is_unclean = request.election_type == UNCLEAN
    is_all = request.topic_partitions is None
    results = []
    for name, numbers in _asked(request, call):
        elections = [_elect(name, number, call, is_unclean=is_unclean) for number in numbers]
        told = [each for each in elections if not is_all or each.error_code != _NOT_NEEDED]
        results.append(ReplicaElectionResult(topic=name, partition_result=told))
    return ElectLeadersResponse(replica_election_results=results)


def _refused(request: ElectLeadersRequest) -> ElectLeadersResponse:
    """Return the response to an unknown kind: an error of the whole, and of each partition."""
    error = RequestRefusedError("INVALID_REQUEST", f"unknown kind {request.election_type}")
    return ElectLeadersResponse(
        error_code=error.code,
        replica_election_results=[
            ReplicaElectionResult(
                topic=each.topic,
                partition_result=[_result(number, error) for number in each.partitions],
            )
            for each in request.topic_partitions or []
        ],
    )


def _asked(request: ElectLeadersRequest, call: ApiCall) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield topics with the numbers of their partitions."""
    if request.topic_partitions is None:
        for name, topic in [*call.node.controller.image.topics.items()]:
            yield name, range(len(topic.partitions))
    else:
        for each in request.topic_partitions:
            yield each.topic, each.partitions


def _elect(name: str, number: int, call: ApiCall, *, is_unclean: bool) -> PartitionResult:
    try:
        call.node.controller.elect_leader(name, number, is_unclean=is_unclean)
    except RequestRefusedError as error:
        return _result(number, error)
    return PartitionResult(partition_id=number, error_message=None)


def _result(number: int, error: RequestRefusedError) -> PartitionResult:
    return PartitionResult(partition_id=number, error_code=error.code, error_message=error.why)
