from pathlib import Path

import pytest

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import QuorumController
from kdiag.lab.log.refusal import LogFileError
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient
from lab_ends.transacting_client import NAME, TransactingClient

FENCED = [(3, "INVALID_PRODUCER_EPOCH"), (4, "PRODUCER_FENCED")]


@pytest.mark.parametrize("version", range(6))
def test_a_producer_gets_an_id_of_its_own(client: LabClient, version: int) -> None:
    """Each time that it asks."""
    ids = []
    for _ in range(2):
        request = InitProducerIdRequest(transactional_id=None)
        response = client.ask(request, InitProducerIdResponse, version)
        assert (response.error_code, response.producer_epoch) == (0, 0)
        ids.append(response.producer_id)
    assert ids == [0, 1]


@pytest.mark.parametrize("version", range(6))
def test_a_name_keeps_its_id(client: LabClient, version: int) -> None:
    """Each start of its producer has the next epoch."""
    ask = FindCoordinatorRequest(key_type=1, coordinator_keys=["payments"])
    client.ask(ask, FindCoordinatorResponse, 4)
    request = InitProducerIdRequest(transactional_id="payments", transaction_timeout_ms=1000)
    given = [client.ask(request, InitProducerIdResponse, version) for _ in range(2)]
    assert [(each.error_code, each.producer_id, each.producer_epoch) for each in given] == [
        (0, 0, 0),
        (0, 0, 1),
    ]


@pytest.mark.parametrize(
    ("version", "error"), [(3, "INVALID_PRODUCER_EPOCH"), (4, "PRODUCER_FENCED")]
)
def test_a_producer_that_lost_its_name_is_fenced(
    producer: TransactingClient, version: int, error: str
) -> None:
    """An older client is told of its epoch (KIP-360, KIP-588)."""
    request = InitProducerIdRequest(
        transactional_id=NAME,
        transaction_timeout_ms=1000,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
    )
    for _ in range(2):
        TransactingClient(producer.client)
    response = producer.client.ask(request, InitProducerIdResponse, version)
    assert error_name(response.error_code) == error


def test_an_id_without_an_epoch_is_refused(client: LabClient) -> None:
    """Neither says anything without the other."""
    request = InitProducerIdRequest(transactional_id=None, producer_id=4)
    response = client.ask(request, InitProducerIdResponse, 4)
    assert error_name(response.error_code) == "INVALID_REQUEST"


def test_an_id_that_cannot_be_written_down_is_not_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or it could be given again after a restart."""

    def full(_: QuorumController) -> range:
        raise LogFileError(tmp_path, "No space left on device")

    with LabCluster(LabSettings(folder=tmp_path)) as lab, LabClient(lab.nodes[0].port) as client:
        monkeypatch.setattr(QuorumController, "allocate_producer_ids", full)
        request = InitProducerIdRequest(transactional_id=None)
        response = client.ask(request, InitProducerIdResponse, 4)
    assert error_name(response.error_code) == "COORDINATOR_LOAD_IN_PROGRESS"
