from pathlib import Path

import pytest

from group_stories.recorded_groups import histories_of_capture, recorded_group
from kdiag.diagnosis.rebalance.model import (
    CauseKind,
    Confidence,
    GroupHistory,
    GroupType,
    Rebalance,
    RebalanceCause,
)
from kdiag.diagnosis.rebalance.moves import Move, Moved
from kdiag_cli.commands.rebalance.text import print_histories, words
from programs.kdiag_program import Printed


def history(**facts: object) -> GroupHistory:
    """Return a group with one rebalance."""
    cause = RebalanceCause(
        cause=CauseKind.MEMBER_LEFT,
        confidence=Confidence.CERTAIN,
        at_ns=0,
        member_id="consumer-a-1-0123456789abcdef",
        client_id="bell\x07",
        reason="the consumer is being closed",
    )
    rebalance = Rebalance(generation=7, causes=[cause], **facts)  # type: ignore[arg-type]
    return GroupHistory(
        group="orders\x1b[31m", type=GroupType.CONSUMER, source="capture", rebalances=[rebalance]
    )


@pytest.mark.parametrize("name", ["reb_slow_confluent", "kip848_java", "streams_group_java"])
def test_a_terminal_has_a_table_for_each_group(name: str, tmp_path: Path) -> None:
    """Under a heading that says what the group is."""
    histories = histories_of_capture(recorded_group(name).capture, tmp_path)
    printed = Printed(120)
    print_histories(printed, histories, None)

    headings = [line for line in printed.lines if " group" in line and "from the capture" in line]
    assert len(headings) == len(histories) > 0
    assert "GENERATION" in printed.text


def test_what_others_wrote_cannot_act_on_a_terminal() -> None:
    """Names of groups and clients are escaped."""
    for generation in (None, 7):
        printed = Printed(100)
        print_histories(printed, [history()], generation)
        assert "\x1b" not in printed.text
        assert "\x07" not in printed.text
        assert "orders" in printed.text


def test_an_empty_group_is_said_in_one_word() -> None:
    """Other further causes are counted."""
    two, many = history(), history()
    emptied = RebalanceCause(cause=CauseKind.GROUP_EMPTIED, confidence=Confidence.LIKELY, at_ns=1)
    two.rebalances[0].causes += [emptied]
    many.rebalances[0].causes += [emptied, emptied]
    printed = Printed()
    print_histories(printed, [two, many], None)

    assert "member left, empty" in printed.text
    assert "member left +2" in printed.text


def test_many_moves_are_counted() -> None:
    """The first twenty are shown; JSON has all."""
    moves = tuple(Move("clicks", number, None, "m") for number in range(30))
    printed = Printed()
    print_histories(printed, [history(moved=Moved(moves, 40))], 7)

    assert "moved    30 of 40 partitions" in printed.text
    assert "clicks[19]: no member → m" in printed.text
    assert "clicks[20]" not in printed.text
    assert "and 10 partitions more (-o json has all)" in printed.text


def test_a_beginning_that_was_not_seen_is_said() -> None:
    """It has no time and no duration."""
    printed = Printed()
    print_histories(printed, [history()], 7)

    assert "generation 7, beginning not seen" in printed.text


def test_causes_are_read_as_words() -> None:
    """As people write them."""
    assert words(CauseKind.STATIC_MEMBER_RETURNED) == "static member returned"
