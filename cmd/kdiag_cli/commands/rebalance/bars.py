"""A bar for each member of a rebalance: what it waited for, and when, beside the others.

member           █ waits for JoinGroup  ▒ for SyncGroup
app …0f3e2b81    ████████████████▒▒······  join 2.1 s, sync 0.3 s
app …77d1c04a    ···············█▒▒······  join 12 ms, sync 0.3 s  slowest, 2.0 s

slowest 4.0 s + 12 ms    until it learned of the rebalance, where that was seen, and from there
"""

from collections.abc import Sequence
from typing import Final

from kdiag.diagnosis.rebalance.model import GroupType, Phases, Rebalance
from kdiag_cli.output.terminal import CYAN, YELLOW, Output, columns_of, harmless, padded
from kdiag_cli.output.units import duration

_COLUMNS: Final = 40
_FEWEST_COLUMNS: Final = 8
_GAPS: Final = 6
_SHORT_ID: Final = 12
_FIRST, _SECOND, _IDLE = "█", "▒", "·"
_CLASSIC: Final = ("waits for JoinGroup", "for SyncGroup", "join", "sync")
_BY_EPOCHS: Final = ("receives the epoch", "until it has its partitions", "received", "settled")
"""What the two parts of a bar are, and their names behind it."""

PHASE_NAMES: Final = {True: _CLASSIC[:2], False: _BY_EPOCHS[:2]}
"""What a member waits for, by whether its group is a classic one."""


def bars(output: Output, group_type: GroupType, rebalance: Rebalance) -> list[str]:
    """Return the lines of a rebalance's bars; none if nobody was seen to ask for anything."""
    phases = [each for each in rebalance.phases.values() if each.asked_ns is not None]
    if not phases:
        return []
    first, second, *names = _CLASSIC if group_type is GroupType.CLASSIC else _BY_EPOCHS
    ends = [(_times(each, names), _mark(rebalance, each)) for each in phases]
    tail = max(columns_of(times + mark) for times, mark in ends)
    members = [harmless(name_of(each)) for each in phases]
    widest = max(columns_of(each) for each in members)
    room, columns = _share_out(output.width, widest, tail)
    span = _span(rebalance, phases)
    lines = [f"  {padded('member', room)}  {_FIRST} {first}  {_SECOND} {second}"]
    for member, each, (times, mark) in zip(members, phases, ends, strict=True):
        bar = output.paint(_bar(each, span, columns), CYAN)
        name = padded(_fitted(member, room), room)
        lines.append(f"  {name}  {bar}  {times}{output.paint(mark, YELLOW)}")
    return lines


def _share_out(width: int | None, widest: int, tail: int) -> tuple[int, int]:
    """Return how many columns names and bars have, of a terminal or of as many as they like."""
    if width is None:
        return widest, _COLUMNS
    left = width - tail - _GAPS
    room = min(widest, max(_SHORT_ID + 1, left - _COLUMNS))
    return room, max(_FEWEST_COLUMNS, min(_COLUMNS, left - room))


def name_of(phases: Phases) -> str:
    """Return a member's client id, and what tells it from others of the same."""
    short = short_id(phases.member_id)
    return f"{phases.client_id} {short}" if phases.client_id else short


def short_id(member_id: str) -> str:
    """Return the end of a member id, which tells members of one program apart."""
    return f"…{member_id[-_SHORT_ID:]}" if len(member_id) > _SHORT_ID else member_id


def _fitted(name: str, room: int) -> str:
    """Return a member's name, its front cut off where it is too long: the end tells it apart."""
    while columns_of(name) > room:
        name = f"…{name.removeprefix('…')[1:]}"
    return name


def _span(rebalance: Rebalance, phases: Sequence[Phases]) -> tuple[int, int]:
    """Return the first moment of a rebalance and of its members, and the last one."""
    moments = [
        moment
        for each in phases
        for moment in (each.asked_ns, each.joined_ns, each.synced_ns, rebalance.started_ns)
        if moment is not None
    ]
    return min(moments), max(moments)


def _bar(phases: Phases, span: tuple[int, int], columns: int) -> str:
    first_ns, last_ns = span
    span_ns = max(last_ns - first_ns, 1)

    def column(time_ns: int | None, least: int) -> int:
        if time_ns is None:
            return least
        return max(least, min(columns, (time_ns - first_ns) * columns // span_ns))

    asked = min(column(phases.asked_ns, 0), columns - 1)
    joined = column(phases.joined_ns, asked + 1)
    synced = column(phases.synced_ns, joined)
    bar = _IDLE * asked + _FIRST * (joined - asked) + _SECOND * (synced - joined)
    return bar.ljust(columns, _IDLE)


def _times(phases: Phases, names: Sequence[str]) -> str:
    first = _between(phases.asked_ns, phases.joined_ns)
    second = _between(phases.joined_ns, phases.synced_ns)
    return f"{names[0]} {first}, {names[1]} {second}"


def _between(first_ns: int | None, last_ns: int | None) -> str:
    return "-" if first_ns is None or last_ns is None else duration(last_ns - first_ns)


def _mark(rebalance: Rebalance, phases: Phases) -> str:
    slowest = rebalance.slowest
    if slowest is None or slowest.phases is not phases or slowest.wait_ns <= 0:
        return ""
    program_ns = slowest.program_ns
    if program_ns is None:
        return f"  slowest, {duration(slowest.wait_ns)}"
    unheard = duration(slowest.wait_ns - program_ns)
    return f"  slowest {unheard} + {duration(program_ns)}"
