import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace

import pytest

from kdiag.net.selector.poller import READ, WRITE, Poller

HOUR_NS = 3600 * 10**9


@pytest.fixture
def poller() -> Iterator[Poller]:
    """Return a poller that watches nothing yet."""
    with closing(Poller()) as poller:
        yield poller


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Return two connected sockets."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_a_socket_is_watched_for_what_is_asked(
    poller: Poller, ends: tuple[socket.socket, socket.socket]
) -> None:
    """What was asked last holds; asking for nothing ends it, asking again begins it."""
    ours, theirs = ends
    theirs.send(b"data")
    seen = []
    for events in (0, READ, READ, WRITE, READ | WRITE, 0, READ):
        poller.watch("1", ours.fileno(), events)
        seen.append(poller.wait(0).get("1", 0))

    assert seen == [0, READ, READ, WRITE, READ | WRITE, 0, READ]


def test_a_forgotten_socket_is_not_watched(
    poller: Poller, ends: tuple[socket.socket, socket.socket]
) -> None:
    """Forgetting it twice, or one that was never watched, does nothing."""
    poller.watch("1", ends[0].fileno(), WRITE)
    for channel_id in ("1", "1", "2"):
        poller.forget(channel_id)

    assert poller.wait(0) == {}


def test_a_wait_ends_with_its_time(poller: Poller) -> None:
    """It is in the machine's own time."""
    assert poller.wait(1_000_000) == {}


@pytest.mark.parametrize("timeout_ns", [None, HOUR_NS, HOUR_NS * 24 * 365 * 100])
def test_another_thread_can_end_a_wait(poller: Poller, timeout_ns: int | None) -> None:
    """However long it would have been; more wake-ups than a socket can hold are one."""
    ended = threading.Event()

    def wait() -> None:
        poller.wait(timeout_ns)
        ended.set()

    thread = threading.Thread(target=wait)
    thread.start()
    for _ in range(1000):
        poller.wakeup()
    assert ended.wait(20)
    thread.join()


def test_a_wakeup_ends_one_wait(poller: Poller) -> None:
    """And so do two that come before it."""
    poller.wakeup()
    poller.wakeup()
    assert poller.wait(HOUR_NS) == {}
    with pytest.raises(BlockingIOError):
        poller._wakeup_reader.recv(1)


def test_waking_up_what_is_closed_does_nothing() -> None:
    """Another thread cannot know that it is too late."""
    poller = Poller()
    poller.close()
    poller.wakeup()


def test_a_socket_is_forgotten_also_after_an_interruption(
    poller: Poller,
    ends: tuple[socket.socket, socket.socket],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C may come while the system is told what to watch for, and then all is closed."""
    poller.watch("1", ends[0].fileno(), READ)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(poller._selector, "_selector", SimpleNamespace(modify=interrupted))
        with pytest.raises(KeyboardInterrupt):
            poller.watch("1", ends[0].fileno(), READ | WRITE)
    poller.forget("1")

    assert poller.wait(0) == {}
