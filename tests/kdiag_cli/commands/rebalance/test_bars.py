from kdiag.diagnosis.rebalance.model import (
    CauseKind,
    Confidence,
    GroupType,
    Phases,
    Rebalance,
    RebalanceCause,
)
from kdiag_cli.commands.rebalance.bars import bars, name_of, short_id
from kdiag_cli.output.terminal import columns_of
from programs.kdiag_program import Printed

MS = 1_000_000
CAUSE = RebalanceCause(cause=CauseKind.MEMBER_JOINED, confidence=Confidence.CERTAIN, at_ns=0)


def rebalance(*phases: Phases) -> Rebalance:
    """Return one that began at the moment 0."""
    members = {each.member_id: each for each in phases}
    return Rebalance(generation=2, causes=[CAUSE], started_ns=0, phases=members)


def member(name: str, asked_ms: int, joined_ms: int, synced_ms: int | None) -> Phases:
    """Return the phases of a member."""
    return Phases(
        member_id=name,
        client_id="app",
        asked_ns=asked_ms * MS,
        joined_ns=joined_ms * MS,
        synced_ns=None if synced_ms is None else synced_ms * MS,
    )


def test_a_bar_has_a_part_for_each_wait() -> None:
    """Forty columns for the whole rebalance."""
    heading, first, last = bars(
        Printed(), GroupType.CLASSIC, rebalance(member("a", 0, 75, 100), member("b", 50, 75, 100))
    )

    assert "waits for JoinGroup" in heading
    assert f"  {'█' * 30}{'▒' * 10}  join 75.0 ms, sync 25.0 ms" in first
    assert f"  {'·' * 20}{'█' * 10}{'▒' * 10}  join 25.0 ms" in last
    assert last.endswith("slowest, 50.0 ms")


def test_groups_by_epochs_name_their_own_waits() -> None:
    """Nobody joins or syncs there."""
    heading, line = bars(Printed(), GroupType.CONSUMER, rebalance(member("a", 0, 5, 9)))

    assert "receives the epoch" in heading
    assert "received 5.00 ms, settled 4.00 ms" in line


def test_what_was_not_seen_has_no_number() -> None:
    """Its bar ends where nothing more is known."""
    *_, line = bars(
        Printed(), GroupType.CLASSIC, rebalance(member("a", 0, 50, None), member("b", 10, 50, 100))
    )[:2]

    assert "join 50.0 ms, sync -" in line
    assert "▒" not in line


def test_nobody_seen_has_no_bars() -> None:
    """As from a log alone."""
    assert bars(Printed(), GroupType.CLASSIC, rebalance(Phases(member_id="a"))) == []


def test_bars_fit_into_a_terminal() -> None:
    """A long name loses its front, as the end tells members apart."""
    name = "consumer-orders-1-0123456789abcdef"
    phases, slow = member(name, 0, 1005, 1009), member(f"{name}-2", 1000, 1005, 1009)
    phases.client_id = "a-very-long-name-of-a-client-indeed-注文注文"
    for width in (80, 100, 120, 140):
        lines = bars(Printed(width), GroupType.CLASSIC, rebalance(phases, slow))
        assert max(columns_of(line) for line in lines) <= width
        assert "0123456789abcdef"[-12:] in lines[1]


def test_a_member_is_named_by_client_and_the_end_of_its_id() -> None:
    """Members of one program differ in that alone."""
    assert name_of(Phases(member_id="consumer-1-0123456789ab", client_id="app")) == (
        "app …0123456789ab"
    )
    assert short_id("short") == "short"
