from kdiag.exchange.context.fetch_session import FetchSessions
from kdiag.exchange.dissection import Dissection
from kdiag.wire.api.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from recordings.exchange_maker import make_connection, make_exchange


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
