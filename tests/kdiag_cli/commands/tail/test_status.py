from kdiag.client.fetch.position import FetchPosition, Notice, NoticeKind, PartitionKey
from kdiag.clock import ManualClock
from kdiag_cli.commands.tail.status import TailStatus
from programs.kdiag_program import Screen

S = 1_000_000_000
KEY = PartitionKey("orders", 0)
LOST = Notice(NoticeKind.DISCONNECTED, "broker 1: gone")


def position(
    offset: int, high_watermark: int, stable: int, leader: int | None = 1
) -> FetchPosition:
    """Return where the reading of a partition stands."""
    return FetchPosition(
        key=KEY,
        offset=offset,
        leader_id=leader,
        high_watermark=high_watermark,
        last_stable_offset=stable,
    )


def written(screen: Screen) -> str:
    """Return all that was written to a terminal."""
    screen.flush()
    return screen._bytes.getvalue().decode()


def test_the_line_says_how_much_how_fast_and_what_is_left() -> None:
    """The rate is that of the last second or more."""
    clock = ManualClock()
    status = TailStatus(clock, Screen(is_terminal=True))
    status.count(3000, [])
    clock.advance(2 * S)
    text = status.text([position(10, 30, 30), position(0, 1000, 1000)], clock.monotonic_ns())
    assert text == "3,000 records, 1,500/s; 1,020 to the end"


def test_the_line_says_what_is_wrong() -> None:
    """A transaction that is open, partitions that nobody leads, connections that broke."""
    status = TailStatus(ManualClock(), Screen(is_terminal=True))
    status.count(0, [LOST, LOST, Notice(NoticeKind.ADDED, "new")])
    text = status.text([position(10, 30, 12), position(0, -1, -1, None)], 0)
    assert text == (
        "0 records, 0/s; 20 to the end, 2 to the last stable offset;"
        " 1 of 2 partitions without a leader; 2 reconnects"
    )
    assert "nothing heard yet" in status.text([position(0, -1, -1)], 0)


def test_the_line_is_written_over_and_not_too_often() -> None:
    """Five times a second at most; before anything else is written it goes away."""
    clock, screen = ManualClock(), Screen(is_terminal=True)
    status = TailStatus(clock, screen)
    clock.advance(S)
    status.show([position(1, 2, 2)])
    status.show([position(1, 2, 2)])
    assert written(screen).count("to the end") == 1
    clock.advance(S)
    status.show([position(1, 2, 2)])
    assert written(screen).count("\r\x1b[K0 records") == 2
    status.clear()
    status.clear()
    assert written(screen).endswith("to the end\r\x1b[K")


def test_there_is_no_line_but_on_a_terminal() -> None:
    """A file of errors holds errors."""
    clock, screen = ManualClock(), Screen(is_terminal=False)
    status = TailStatus(clock, screen)
    clock.advance(S)
    status.show([position(1, 2, 2)])
    status.clear()
    assert written(screen) == ""
