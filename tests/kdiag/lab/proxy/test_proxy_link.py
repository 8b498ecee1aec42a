import pytest

from kdiag.lab.proxy.proxy_link import (
    MOST_REQUESTS,
    MOST_WAITING_BYTES,
    ProxyLink,
    RelayedCall,
)
from kdiag.lab.proxy.relayed_request import OPAQUE, RequestReader


@pytest.fixture
def link() -> ProxyLink:
    """Return a link without connections."""
    return ProxyLink(3, 1, [], RequestReader(is_decoding=False))


def test_frames_go_in_order_when_they_are_due(link: ProxyLink) -> None:
    """One that is held holds up those behind it."""
    first, second = RelayedCall(OPAQUE), RelayedCall(OPAQUE._replace(expects_answer=False))
    link.forward(b"first", first, due_ns=10)
    link.forward(b"second", second)
    assert (link.waiting_bytes, link.next_frame(9)) == (11, None)
    assert [link.next_frame(10) for _ in range(3)] == [b"first", b"second", None]
    assert (link.waiting_bytes, [*link.awaited]) == (0, [first])


def test_answers_are_given_in_the_order_of_requests(link: ProxyLink) -> None:
    """Whoever has made them; each once."""
    calls = [RelayedCall(OPAQUE) for _ in range(3)]
    for each in calls:
        link.expect(each)
    calls[1].answer = b"1"
    assert link.pop_ready() is None
    calls[0].answer = b"0"
    calls[2].is_silent = True
    assert [link.pop_ready() for _ in range(4)] == [*calls, None]
    assert all(each.is_answered for each in calls)


def test_a_client_is_not_read_while_much_waits(link: ProxyLink) -> None:
    """Of requests, or of bytes."""
    link.forward(bytes(MOST_WAITING_BYTES), RelayedCall(OPAQUE))
    found = [link.is_full]
    link.next_frame(0)
    found.append(link.is_full)
    for _ in range(MOST_REQUESTS):
        link.expect(RelayedCall(OPAQUE))
    assert [*found, link.is_full] == [True, False, True]
