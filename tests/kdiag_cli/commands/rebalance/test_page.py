import re
from pathlib import Path

import pytest

from group_stories.recorded_groups import histories_of_capture, recorded_group, write_group
from kdiag.diagnosis.rebalance.findings import find
from kdiag.diagnosis.rebalance.model import (
    CauseKind,
    Confidence,
    GroupHistory,
    GroupType,
    Phases,
    Rebalance,
    RebalanceCause,
)
from kdiag_cli.commands.rebalance.page import write_rebalance_page
from programs.kdiag_program import kdiag

CAUSE = RebalanceCause(cause=CauseKind.MEMBER_LEFT, confidence=Confidence.CERTAIN, at_ns=0)
MS = 1_000_000


def page_of(folder: Path, *histories: GroupHistory) -> str:
    """Return the page of some groups."""
    file = folder / "page.html"
    findings = [finding for each in histories for finding in find(each)]
    write_rebalance_page(file, histories, findings, ["something <was> missing"])
    return file.read_text(encoding="utf-8")


def group(*rebalances: Rebalance) -> GroupHistory:
    """Return a classic group."""
    return GroupHistory(
        group="<orders>", type=GroupType.CLASSIC, source="capture", rebalances=list(rebalances)
    )


def rebalance(generation: int, members: int, took_ms: int = 100) -> Rebalance:
    """Return a rebalance whose members ask a millisecond after one another."""
    phases = {
        f"m{number}": Phases(
            member_id=f"m{number}",
            asked_ns=number * MS,
            joined_ns=(members + 1) * MS,
            synced_ns=took_ms * MS,
        )
        for number in range(members)
    }
    return Rebalance(
        generation=generation,
        causes=[CAUSE],
        phases=phases,
        started_ns=0,
        ended_ns=took_ms * MS,
    )


@pytest.mark.thorough
def test_a_page_has_all_that_a_terminal_shows(tmp_path: Path) -> None:
    """Tables, findings, warnings, and a picture of each rebalance in which members were seen."""
    page = page_of(
        tmp_path, *histories_of_capture(recorded_group("reb_slow_confluent").capture, tmp_path)
    )

    assert page.count("<svg") == 4
    for text in (
        "<h2>Findings</h2>",
        "KD3306",
        "something &lt;was&gt; missing",
        "<h2>Group grp-slow: classic group (consumer), 5 rebalances, 3 members, from the capture",
        "<h2>Group grp-slow: reasons</h2>",
        "max.poll.interval.ms of 6 s had passed",
        "<h2>Group grp-slow, generation 3: poll timeout</h2>",
        "waits for JoinGroup",
    ):
        assert text in page


@pytest.mark.thorough
def test_what_others_wrote_is_escaped(tmp_path: Path) -> None:
    """A group may have any name."""
    page = page_of(tmp_path, group(rebalance(1, 2)))

    assert "<orders>" not in page
    assert "&lt;orders&gt;" in page


@pytest.mark.thorough
def test_the_longest_rebalances_have_pictures(tmp_path: Path) -> None:
    """The others are counted; of many members those are shown that asked last."""
    short, long = rebalance(1, 2, 50), [rebalance(number, 2, 500) for number in range(2, 14)]
    page = page_of(tmp_path, group(short, *long))
    crowd = page_of(tmp_path, group(rebalance(1, 60)))

    assert page.count("<svg") == 12
    assert "generation 1: member left" not in page
    assert "1 rebalance took less time and has no picture" in page
    shown = set(re.findall(r">(m\d+)<", crowd))
    assert shown == {f"m{number}" for number in range(20, 60)}


def test_groups_without_members_have_no_pictures(tmp_path: Path) -> None:
    """As from a log alone."""
    assert "<svg" not in page_of(tmp_path, group(rebalance(1, 0)))


@pytest.mark.thorough
def test_the_command_writes_the_page_beside_its_table(tmp_path: Path) -> None:
    """Where it cannot be written is said at once."""
    capture, _ = write_group("reb_crash_confluent", tmp_path)
    file = tmp_path / "rebalances.html"
    done = kdiag("rebalance", "explain", capture, "--html", file)
    refused = kdiag("rebalance", "explain", capture, "--html", tmp_path / "none" / "page.html")

    assert done.code == 0
    assert "member failed" in done.out
    assert "<h1>Rebalances</h1>" in file.read_text(encoding="utf-8")
    assert (refused.code, refused.out) == (2, "")


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["kip848_java", "share_java"])
def test_groups_by_epochs_name_their_own_waits(name: str, tmp_path: Path) -> None:
    """Nobody joins or syncs there."""
    page = page_of(tmp_path, *histories_of_capture(recorded_group(name).capture, tmp_path))

    assert "receives the epoch" in page
    assert "JoinGroup" not in page
