from random import Random

import pytest

from kdiag.clock import ManualClock
from kdiag.lab.api.records.fetch_session import (
    IDLE_NS,
    AskedPartition,
    FetchContext,
    FetchSessionCache,
)
from kdiag.wire.api.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import ZERO_UUID

ORDERS = [AskedPartition("orders", ZERO_UUID, number) for number in range(3)]


class Reader:
    """A reader, and the cache of its broker.

    Attributes:
        clock: of the cache.
        cache: has room for two sessions.
    """

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.cache = FetchSessionCache(self.clock, most=2, random=Random(5))

    def ask(
        self,
        session_id: int,
        epoch: int,
        *numbers: int,
        forgotten: tuple[int, ...] = (),
        topic_id: bytes = ZERO_UUID,
        version: int = 11,
    ) -> FetchContext:
        """Return the context of a request."""
        partitions = [FetchPartition(partition=number) for number in numbers]
        topic = FetchTopic(topic="orders", topic_id=topic_id, partitions=partitions)
        request = FetchRequest(
            session_id=session_id,
            session_epoch=epoch,
            topics=[topic] if partitions else [],
            forgotten_topics_data=[ForgottenTopic(topic="orders", partitions=list(forgotten))],
        )
        return self.cache.context(request, version)

    def open(self, *numbers: int) -> int:
        """Return the id of a new session."""
        context = self.ask(0, 0, *numbers)
        session_id, _ = self.cache.finish(context, given(context))
        return session_id


def given(
    context: FetchContext, records: tuple[int, ...] = (), high_watermark: int = 0
) -> dict[AskedPartition, PartitionData]:
    """Return what partitions give: some of them records."""
    return {
        key: PartitionData(
            partition_index=key.partition,
            high_watermark=high_watermark,
            log_start_offset=0,
            records=b"r" if key.partition in records else b"",
        )
        for key in context.partitions
    }


def numbers_of(context: FetchContext) -> list[int]:
    """Return the partitions of a request."""
    return [key.partition for key in context.partitions]


@pytest.fixture
def reader() -> Reader:
    """Return a reader without a session."""
    return Reader()


def test_a_session_remembers_partitions(reader: Reader) -> None:
    """Some are added, others forgotten."""
    session_id = reader.open(0, 1)
    assert numbers_of(reader.ask(session_id, 1)) == [0, 1]
    assert numbers_of(reader.ask(session_id, 2, 2)) == [0, 1, 2]
    assert numbers_of(reader.ask(session_id, 3, forgotten=(0,))) == [1, 2]
    assert len(reader.cache) == 1


def test_only_news_are_told(reader: Reader) -> None:
    """Records, errors, diverging epochs, and ends that have moved; each once."""
    session_id = reader.open(0, 1, 2)
    context = reader.ask(session_id, 1)
    _, told = reader.cache.finish(context, given(context, records=(1,)))
    assert list(told) == [ORDERS[1]]
    context = reader.ask(session_id, 2)
    _, told = reader.cache.finish(context, given(context))
    assert told == {}
    context = reader.ask(session_id, 3)
    _, told = reader.cache.finish(context, given(context, high_watermark=9))
    assert set(told) == set(ORDERS)
    context = reader.ask(session_id, 4)
    news = given(context, high_watermark=9)
    news[ORDERS[0]].error_code = 3
    news[ORDERS[2]].diverging_epoch = EpochEndOffset(epoch=1, end_offset=5)
    _, told = reader.cache.finish(context, news)
    assert set(told) == {ORDERS[0], ORDERS[2]}


def test_partitions_that_gave_records_are_read_last(reader: Reader) -> None:
    """Else a small response would always hold the same ones."""
    session_id = reader.open(0, 1, 2)
    context = reader.ask(session_id, 1)
    reader.cache.finish(context, given(context, records=(0, 1)))
    assert numbers_of(reader.ask(session_id, 2)) == [2, 0, 1]


@pytest.mark.parametrize(
    ("epoch", "topic_id", "error"),
    [
        (2, ZERO_UUID, "INVALID_FETCH_SESSION_EPOCH"),
        (1, b"x" * 16, "FETCH_SESSION_TOPIC_ID_ERROR"),
    ],
)
def test_a_reader_that_has_lost_count_is_told(
    reader: Reader, epoch: int, topic_id: bytes, error: str
) -> None:
    """It begins anew."""
    session_id = reader.open(0)
    context = reader.ask(session_id, epoch, 1, topic_id=topic_id)
    assert error_name(context.error_code) == error


def test_a_session_is_closed(reader: Reader) -> None:
    """By the last epoch, by a new session, or when nothing is left in it."""
    for epoch, numbers, forgotten in ((-1, (0,), ()), (0, (0,), ()), (1, (), (0,))):
        session_id = reader.open(0)
        reader.ask(session_id, epoch, *numbers, forgotten=forgotten)
        assert len(reader.cache) == 0
        context = reader.ask(session_id, 2)
        assert error_name(context.error_code) == "FETCH_SESSION_ID_NOT_FOUND"


def test_a_request_without_a_session_gets_none(reader: Reader) -> None:
    """An old version, the last epoch, or a request of nothing."""
    for context in (reader.ask(0, 0, 0, version=6), reader.ask(0, -1, 0), reader.ask(0, 0)):
        session_id, told = reader.cache.finish(context, given(context))
        assert session_id == 0
        assert list(told) == list(context.partitions)


def test_without_room_a_reader_asks_for_everything(reader: Reader) -> None:
    """Until a session was not used for two minutes: the new one takes its place."""
    first, second = reader.open(0), reader.open(1)
    assert reader.open(2) == 0
    reader.clock.advance(IDLE_NS)
    reader.ask(first, 1)
    assert reader.open(2) == 0
    reader.clock.advance(1)
    assert reader.open(2) > 0
    assert error_name(reader.ask(second, 1).error_code) == "FETCH_SESSION_ID_NOT_FOUND"
    assert reader.ask(first, 2).error_code == 0
