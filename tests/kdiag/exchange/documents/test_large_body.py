from collections.abc import Iterator
from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents import body, large_body
from kdiag.exchange.documents.body import BodyForm
from kdiag.exchange.documents.document import DocumentEncoder, Documents
from kdiag.exchange.documents.large_body import LargeForm
from kdiag.exchange.model import Exchange
from kdiag.pcap.decoder import decode_capture
from kdiag.wire.api.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    ForgottenTopic,
    PartitionData,
)
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from recordings.exchange_maker import make_batch, make_exchange
from tiers.cases import for_each


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have arrays of more than three elements made in pieces, in frames of any size."""
    monkeypatch.setattr(body, "LARGE_BYTES", 0)
    monkeypatch.setattr(body, "CHUNK", 3)
    monkeypatch.setattr(large_body, "CHUNK", 3)


def texts(exchange: Exchange, form: BodyForm) -> tuple[bytes, bytes]:
    """Return an exchange as JSON that is made in pieces, and at once."""
    documents = Documents(TopicNames(), form)
    dissection = Dissection(exchange)
    pieces = b"".join(documents.exchange_text(dissection))
    return pieces, DocumentEncoder().encode(documents.exchange(dissection))


def made() -> Iterator[Exchange]:
    """Yield exchanges with long arrays: of topics, of partitions, of what is in them."""
    transactions = [AbortedTransaction(number, number) for number in range(7)]
    batches = make_batch(b"one") * 8
    partitions = [
        PartitionData(number, aborted_transactions=transactions[:number], records=batches)
        for number in range(5)
    ]
    topics = [
        FetchableTopicResponse(topic=f"topic \udcff {number}", partitions=partitions[: number % 6])
        for number in range(9)
    ]
    forgotten = [ForgottenTopic(topic=str(number), partitions=[1, 2]) for number in range(9)]
    asked = FetchRequest(forgotten_topics_data=forgotten)
    for version in (11, 12):
        yield make_exchange(asked, FetchResponse(responses=topics), version=version)
    known = [MetadataResponseTopic(name=str(number)) for number in range(10)]
    yield make_exchange(MetadataRequest(), MetadataResponse(topics=known), version=12)


@pytest.mark.parametrize("form", [BodyForm(), BodyForm(raw=True), BodyForm(values=True)])
def test_pieces_are_the_text_that_is_made_at_once(form: BodyForm) -> None:
    """Whatever is long: elements, those in them, and record batches."""
    for exchange in made():
        pieces, whole = texts(exchange, form)
        assert pieces == whole


@pytest.mark.thorough
@for_each("path", sorted(CAPTURES.glob("*.pcap")), ids=lambda path: path.stem)
def test_real_exchanges_are_the_same_in_pieces(path: Path) -> None:
    """Secrets are replaced in both."""
    for item in decode_capture([str(path)]):
        if isinstance(item, Exchange):
            pieces, whole = texts(item, BodyForm())
            assert pieces == whole


def test_most_elements_are_made_when_they_are_written() -> None:
    """Until then they are placeholders, a few for each."""
    *_, exchange = made()
    asked = LargeForm(MetadataResponse, 12, lambda make: make)
    message = Dissection(exchange).response
    assert message is not None
    form = asked.form(message.message)
    assert [len(make()) for make in form["topics"]] == [3, 3, 3, 1]
