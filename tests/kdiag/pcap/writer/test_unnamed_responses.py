from dataclasses import dataclass

import pytest

from kdiag.exchange.model import Exchange, Status
from kdiag.pcap.writer import unnamed_responses
from kdiag.pcap.writer.unnamed_responses import UnnamedResponses
from kdiag.wire.api.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseBroker
from recordings.exchange_maker import cut_frame, make_exchange, response_bytes


@dataclass
class Case:
    """A response that nobody asked for."""

    data: bytes

    @property
    def exchange(self) -> Exchange:
        """Return it as the exchange that the decoder makes of it."""
        return make_exchange(None, self.data, version=None, pairing=Status.UNMATCHED)

    def masks(self) -> list[tuple[int, bytes]] | None:
        """Return what overwrites its secrets."""
        exchange = self.exchange
        assert exchange.response is not None
        return UnnamedResponses().masks(exchange, exchange.response)


BROKERS = [MetadataResponseBroker(node_id=1, host="broker-1", port=9092)]
METADATA = Case(response_bytes(MetadataResponse(brokers=BROKERS, cluster_id="abc"), 9))


def test_a_response_that_is_of_no_api_with_secrets_stays() -> None:
    """It says what it is to its last byte."""
    assert METADATA.masks() == []


def test_of_one_that_may_be_of_an_api_with_secrets_these_are_masked() -> None:
    """Whichever it is."""
    config = DescribeConfigsResourceResult("sasl.jaas.config", value="secret", is_sensitive=True)
    result = DescribeConfigsResult(resource_type=2, resource_name="t", configs=[config])
    case = Case(response_bytes(DescribeConfigsResponse(results=[result]), 4))

    masks = case.masks()
    assert masks
    at = case.data.index(b"secret")
    assert any(offset <= at and offset + len(text) >= at + 6 for offset, text in masks)


def test_what_is_no_response_at_all_may_be_a_token() -> None:
    """Nothing tells: the caller masks it as a whole."""
    assert Case(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=").masks() is None


def test_what_has_a_request_or_is_cut_is_none_of_them() -> None:
    """The caller knows better, or nobody does."""
    exchange = METADATA.exchange
    assert exchange.response is not None
    cut = cut_frame(METADATA.data, 20)
    assert UnnamedResponses().masks(exchange, cut) is None
    exchange.api_key, exchange.version = 3, 9
    assert UnnamedResponses().masks(exchange, exchange.response) is None


def test_not_all_of_millions_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then they count as unknown."""
    monkeypatch.setattr(unnamed_responses, "_MOST", 1)
    unnamed, exchange = UnnamedResponses(), METADATA.exchange
    assert exchange.response is not None
    assert unnamed.masks(exchange, exchange.response) == []
    assert unnamed.masks(exchange, exchange.response) is None
