"""Lines of a broker's log that tell of groups, as values: Kafka 2.x to 4.x, both coordinators.

    [2026-11-21 10:40:47,555] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=11]
    Stabilized group grp-crash generation 1 with 1 members. (org.apache.kafka...)

The texts are those of `GroupCoordinator` (until 3.x) and `GroupMetadataManager` (from 3.7 on).
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from enum import Enum, auto
from typing import Final, NamedTuple

from kdiag.diagnosis.rebalance.model import EvidencePlace


class Line(Enum):
    """The kinds of lines."""

    PREPARING = auto()
    STABILIZED = auto()
    ASSIGNED = auto()
    EMPTY = auto()
    FAILED = auto()
    LEFT = auto()
    EPOCH_JOINED = auto()
    EPOCH_REPLACED = auto()
    EPOCH_LEFT = auto()
    EPOCH_FENCED = auto()
    EPOCH_SUBSCRIBED = auto()
    EPOCH_HASHED = auto()
    EPOCH_BUMPED = auto()
    EPOCH_ASSIGNED = auto()
    EPOCH_SETTLED = auto()


class LogLine(NamedTuple):
    """One line about a group.

    Attributes:
        at_ns: its time, since 1970.
        kind: what it says.
        group: the group.
        fields: its other parts by name; what it does not tell is missing.
        evidence: where it stands.
    """

    at_ns: int
    kind: Line
    group: str
    fields: dict[str, str]
    evidence: EvidencePlace


_TIME: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?"
)
_TIME_WITHIN: Final = 120
"""So many characters of a line may stand before its time and be behind it."""

_LOGGER: Final = re.compile(r"\s+\((?:kafka|org\.apache\.kafka)[\w.$]*\)\s*$")
_OLD_PLACE: Final = r"(?: \(__consumer_offsets-\d+\))?"
_MEMBER: Final = r"(?P<member>\S+)"
_INSTANCE: Final = r"(?: with instance id (?P<instance>\S+?))?"
_OF_GROUP: Final = r"\[GroupId (?P<group>.+?)\](?:\[MemberId (?P<member>.+?)\])? "
_OF_MEMBER: Final = r"\[GroupId (?P<group>.+?)\](?:\[MemberId [^\]]+\])? "

_SENTENCES: Final = tuple(
    (kind, hint, re.compile(text))
    for kind, hint, text in (
        (
            Line.PREPARING,
            "Preparing to rebalance group",
            (
                rf"Preparing to rebalance group (?P<group>.+?) in state (?P<state>\w+) with old "
                rf"generation (?P<generation>\d+){_OLD_PLACE} \(reason: (?P<reason>.*)\)\.?$"
            ),
        ),
        (
            Line.STABILIZED,
            "Stabilized group",
            (
                rf"Stabilized group (?P<group>.+?) generation (?P<generation>\d+){_OLD_PLACE}"
                r"(?: with (?P<count>\d+) members)?"
            ),
        ),
        (
            Line.ASSIGNED,
            "Assignment received from leader",
            (
                rf"Assignment received from leader (?:{_MEMBER} )?for group (?P<group>.+?) for "
                r"generation (?P<generation>\d+)"
            ),
        ),
        (
            Line.EMPTY,
            "is now empty",
            rf"Group (?P<group>.+?) with generation (?P<generation>\d+){_OLD_PLACE} is now empty",
        ),
        (
            Line.FAILED,
            "has failed, removing it",
            rf"Member {_MEMBER} in group (?P<group>.+?) has failed, removing it from the group",
        ),
        (
            Line.LEFT,
            "has left group through explicit",
            (
                r"\[Group(?:Id)? (?P<group>.+?)\] (?:Pending |Dynamic |Static )?[Mm]ember "
                rf"{_MEMBER}{_INSTANCE} has left group through explicit "
                r"`LeaveGroup` request; client reason: (?P<reason>.*)$"
            ),
        ),
        (
            Line.LEFT,
            "has left group",
            (
                r"Member MemberMetadata\(memberId=(?P<member>[^,]+), "
                r"(?:groupInstanceId=(?:None|Some\((?P<instance>.*?)\)), )?.*? has left group "
                r"(?P<group>.+?) through explicit `LeaveGroup`(?: request)?"
                r"(?:; client reason: (?P<reason>.*))?$"
            ),
        ),
        (
            Line.LEFT,
            "has left, removing it",
            (
                r"Member\[group\.instance\.id (?:None|Some\((?P<instance>.*?)\)), "
                r"member\.id (?P<member>.+?)\] in group (?P<group>.+?) has left, removing it"
            ),
        ),
        (
            Line.EPOCH_REPLACED,
            " re-joins the consumer group",
            (
                rf"{_OF_MEMBER}Static member with instance id (?P<instance>.+?) re-joins the "
                rf"(?P<type>consumer) group using .*? Created a new member {_MEMBER} to replace"
            ),
        ),
        (
            Line.EPOCH_JOINED,
            " joins the ",
            (
                rf"{_OF_MEMBER}(?:Static m|M)ember {_MEMBER}{_INSTANCE} "
                r"joins the (?P<type>consumer|share|streams) group"
            ),
        ),
        (
            Line.EPOCH_JOINED,
            "Member joins the streams group",
            rf"{_OF_GROUP}Member joins the (?P<type>streams) group",
        ),
        (
            Line.EPOCH_LEFT,
            " left the ",
            (
                rf"{_OF_MEMBER}(?:Static m|M)ember {_MEMBER}{_INSTANCE} "
                r"left the (?P<type>consumer|share|streams) group"
            ),
        ),
        (
            Line.EPOCH_LEFT,
            "left the streams group",
            (
                rf"{_OF_GROUP}(?:Static )?[Mm]ember{_INSTANCE} left the "
                r"(?P<type>streams) group"
            ),
        ),
        (
            Line.EPOCH_FENCED,
            "fenced from the ",
            (
                rf"\[GroupId (?P<group>.+?)\](?:\[MemberId (?P<streams_member>.+?)\])? "
                rf"(?:Streams m|M)ember (?:{_MEMBER} )?fenced from the (?:streams )?group because "
                r"(?P<reason>.*?)\.*$"
            ),
        ),
        (
            Line.EPOCH_SUBSCRIBED,
            "updated its subscribed ",
            rf"{_OF_MEMBER}Member {_MEMBER} updated its subscribed (?:topics|regex) to",
        ),
        (
            Line.EPOCH_HASHED,
            "Computed new metadata hash",
            rf"{_OF_GROUP}Computed new metadata hash: (?P<hash>-?\d+)",
        ),
        (
            Line.EPOCH_BUMPED,
            "group epoch to ",
            rf"{_OF_GROUP}Bumped (?P<type>streams )?group epoch to (?P<generation>\d+)",
        ),
        (
            Line.EPOCH_ASSIGNED,
            "Computed a new target assignment",
            rf"{_OF_GROUP}Computed a new target assignment for epoch (?P<generation>\d+)",
        ),
        (
            Line.EPOCH_SETTLED,
            "new assignment state",
            (
                r"\[GroupId (?P<group>.+?)\](?:\[MemberId (?P<streams_member>.+?)\])? Member"
                rf"(?: {_MEMBER}|'s)? new assignment state: epoch=(?P<generation>\d+), .*?"
                r"state=(?P<state>\w+)"
            ),
        ),
    )
)


def read_lines(file: str, lines: Iterable[str], *, zone: tzinfo = UTC) -> Iterator[LogLine]:
    """Yield the lines of a log that tell of rebalances.

    Args:
        file: its name, for the evidence.
        lines: of the log, from its first on.
        zone: of times that name none.
    """
    for number, text in enumerate(lines, 1):
        found = _match(text)
        if found is None:
            continue
        kind, parts = found
        at_ns = _time_ns(text[:_TIME_WITHIN], zone)
        if at_ns is not None:
            yield LogLine(
                at_ns, kind, parts.pop("group"), parts, EvidencePlace("line", file, number)
            )


def _match(text: str) -> tuple[Line, dict[str, str]] | None:
    for kind, hint, pattern in _SENTENCES:
        if hint in text:
            found = pattern.search(_LOGGER.sub("", text.rstrip()))
            if found is not None:
                parts = {name: part for name, part in found.groupdict().items() if part}
                member = parts.pop("streams_member", None)
                if member is not None:
                    parts["member"] = member
                return kind, parts
    return None


def _time_ns(text: str, zone: tzinfo) -> int | None:
    """Return the first time in a line; None if there is none."""
    found = _TIME.search(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction, offset = found[7] or "", found[8]
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=_zone(offset) or zone)
    except ValueError:
        return None
    return int(moment.timestamp()) * 1_000_000_000 + int(fraction.ljust(9, "0") or 0)


def _zone(offset: str | None) -> timezone | None:
    """Return the zone that a time names, such as `Z` or `+02:00`."""
    if offset is None:
        return None
    if offset == "Z":
        return UTC
    digits = offset[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return timezone(timedelta(minutes=-minutes if offset[0] == "-" else minutes))
