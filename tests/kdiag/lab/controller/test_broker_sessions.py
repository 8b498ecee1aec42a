from kdiag.lab.controller.broker_sessions import BrokerSessions


def test_a_session_is_over_when_a_broker_was_silent_for_longer() -> None:
    """A heartbeat begins it anew; one that was ended is not missed."""
    sessions = BrokerSessions(timeout_ns=10)
    sessions.heartbeat(2, 0)
    sessions.heartbeat(1, 0)
    sessions.heartbeat(3, 5)
    assert sessions.expired(10) == []
    assert sessions.expired(11) == [1, 2]
    sessions.begin([2, 4], 11)
    assert sessions.expired(21) == [1, 2, 3]
    sessions.end(4)
    sessions.heartbeat(2, 11)
    sessions.end(1)
    assert sessions.expired(15) == []
    assert sessions.expired(16) == [3]
    assert repr(sessions) == "<BrokerSessions of 2>"
