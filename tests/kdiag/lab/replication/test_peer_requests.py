from kdiag.lab.replication.peer_requests import Purpose, SendToNode, send_nowhere
from kdiag.wire.api.fetch import FetchRequest


def test_a_node_that_is_alone_gets_no_responses() -> None:
    """And is told so at once."""
    send: SendToNode = send_nowhere
    given: list[object] = []
    send(2, Purpose.FETCH, FetchRequest(), given.append)
    assert given == [None]
