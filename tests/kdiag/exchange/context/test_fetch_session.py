from typing import Final

import msgspec
import pytest

from kdiag.exchange.context.fetch_session import (
    FIRST_WITH_SESSIONS,
    FetchSessions,
    without_topics,
)
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Status
from kdiag.exchange.side import read_response
from kdiag.wire import api_keys
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from kdiag.wire.catalog import API_BY_KEY
from recordings.exchange_maker import cut_frame, make_connection, make_exchange

FETCH: Final = API_BY_KEY[api_keys.FETCH]


def topics(*partitions: int) -> list[FetchTopic]:
    """Return partitions of one topic, as a fetch names them."""
    return [FetchTopic("orders", partitions=[FetchPartition(each) for each in partitions])]


def fetched(
    sessions: FetchSessions,
    asked: FetchRequest,
    answered: FetchResponse | None = None,
    *,
    broker: str = "10.0.0.2:9092",
    version: int = 12,
) -> list[tuple[str, int]] | None:
    """Return what the session of a fetch reads, after following it."""
    connection = make_connection(broker=broker)
    exchange = make_exchange(asked, answered, version=version, connection=connection)
    dissection = Dissection(exchange)
    sessions.follow(dissection)
    return dissection.session_topics


def opened(sessions: FetchSessions) -> None:
    """Open session 77 with two partitions."""
    asked = FetchRequest(session_epoch=0, topics=topics(0, 1))
    assert fetched(sessions, asked, FetchResponse(session_id=77)) is None


def test_an_incremental_fetch_reads_what_the_session_remembers() -> None:
    """Partitions are added and forgotten by name; nothing means the same as before."""
    sessions = FetchSessions()
    opened(sessions)
    empty = FetchRequest(session_id=77, session_epoch=1)
    assert fetched(sessions, empty, FetchResponse()) == [("orders", 0), ("orders", 1)]
    changed = FetchRequest(
        session_id=77,
        session_epoch=2,
        topics=topics(5),
        forgotten_topics_data=[ForgottenTopic("orders", partitions=[0])],
    )
    assert fetched(sessions, changed, FetchResponse()) == [("orders", 1), ("orders", 5)]


def test_a_session_belongs_to_a_broker() -> None:
    """Another broker's session 77 is unknown, and so is one opened before the capture."""
    sessions = FetchSessions()
    opened(sessions)
    asked = FetchRequest(session_id=77, session_epoch=1)
    assert fetched(sessions, asked, broker="10.0.0.3:9092") is None


def test_a_session_ends_with_an_error_or_when_it_is_closed() -> None:
    """The broker says that it knows it no more, or the client ends it with epoch -1."""
    for last in (
        (FetchRequest(session_id=77, session_epoch=1), FetchResponse(error_code=70)),
        (FetchRequest(session_id=77, session_epoch=-1), FetchResponse()),
    ):
        sessions = FetchSessions()
        opened(sessions)
        fetched(sessions, *last)
        assert fetched(sessions, FetchRequest(session_id=77, session_epoch=2)) is None


def test_fetches_without_sessions_are_left_alone() -> None:
    """Old versions have none, and a broker may open none."""
    sessions = FetchSessions()
    assert fetched(sessions, FetchRequest(topics=topics(0)), FetchResponse(), version=6) is None
    asked = FetchRequest(session_epoch=0, topics=topics(0))
    assert fetched(sessions, asked, FetchResponse(session_id=0)) is None
    assert fetched(sessions, FetchRequest(session_id=0, session_epoch=1)) is None


def test_the_longest_unused_sessions_are_forgotten_first() -> None:
    """Memory is bounded by the number of sessions."""
    sessions = FetchSessions(max_sessions=1)
    opened(sessions)
    other = FetchRequest(session_epoch=0, topics=topics(3))
    fetched(sessions, other, FetchResponse(session_id=78))
    assert fetched(sessions, FetchRequest(session_id=77, session_epoch=1)) is None
    again = FetchRequest(session_id=78, session_epoch=1)
    assert fetched(sessions, again, FetchResponse()) == [("orders", 3)]


def test_a_session_that_misses_a_fetch_is_unknown_from_there_on() -> None:
    """Epochs count the fetches: where one is skipped, a change was lost with it."""
    sessions = FetchSessions()
    opened(sessions)
    skipped = FetchRequest(session_id=77, session_epoch=2)
    assert fetched(sessions, skipped, FetchResponse()) is None
    assert fetched(sessions, FetchRequest(session_id=77, session_epoch=3)) is None


def test_the_epochs_of_a_session_start_again_at_1() -> None:
    """After the largest int32 comes 1, for 0 opens a session."""
    sessions = FetchSessions()
    opened(sessions)
    key = ("10.0.0.2:9092", 77)
    sessions._sessions[key] = sessions._sessions[key]._replace(next_epoch=2**31 - 1)
    last = FetchRequest(session_id=77, session_epoch=2**31 - 1)
    assert fetched(sessions, last, FetchResponse()) == [("orders", 0), ("orders", 1)]
    first = FetchRequest(session_id=77, session_epoch=1)
    assert fetched(sessions, first, FetchResponse()) == [("orders", 0), ("orders", 1)]


@pytest.mark.parametrize("version", range(FIRST_WITH_SESSIONS, FETCH.versions.high + 1))
def test_sessions_take_nothing_from_the_topics_of_a_response(version: int) -> None:
    """A response without them is whole, tells the same, and has a few bytes."""
    partitions = [PartitionData(each, records=b"") for each in range(100)]
    told = FetchResponse(
        session_id=77,
        throttle_time_ms=5,
        error_code=1,
        responses=[FetchableTopicResponse("orders", partitions=partitions)],
    )
    exchange = make_exchange(FetchRequest(), told, version=version)
    assert exchange.response is not None
    short = without_topics(exchange.response, version)
    side = read_response(msgspec.structs.replace(exchange, response=short))

    assert side is not None
    assert side.status is Status.OK
    assert side.message == FetchResponse(session_id=77, throttle_time_ms=5, error_code=1)
    assert short.size < 20
    assert short.last_byte_ns == exchange.response.last_byte_ns


def test_a_response_that_is_cut_or_unknown_stays_cut() -> None:
    """So its reader says the same of it."""
    exchange = make_exchange(FetchRequest(), FetchResponse(session_id=77), version=12)
    assert exchange.response is not None
    cut = cut_frame(exchange.response.data, 8)

    assert without_topics(cut, 12) == cut
    assert without_topics(exchange.response, 99) == exchange.response
