"""The histories of groups, made of rows of tables.

    rebalances, members    as the decoder found them in the order of time
    exchanges              what members were refused: the errors of their requests

`kdiag.diagnosis.rebalance.findings` judges them as those of a capture, with one difference: what a
refused member had asked for is in the bodies of exchanges, which tables may be without.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.rebalance.findings import find_all
from kdiag.diagnosis.rebalance.model import (
    FENCED,
    NOT_LET_IN,
    UNKNOWN,
    GroupHistory,
    GroupMember,
    GroupType,
    Phases,
    Rebalance,
    RebalanceCause,
)
from kdiag.findings.finding import Finding
from kdiag.report.engine import Database
from kdiag.report.overview.questions import Row, ask, left_out_of, rows_of

OF_REFUSALS: Final = frozenset({"KD3304", "KD3305", "KD3307", "KD3309", "KD3310", "KD3312"})
"""The rules that take what members were refused; KD3309 is not for those that were."""

_PACKAGE: Final = "kdiag.report.overview.groups"
_TYPES: Final = {
    "ConsumerGroupHeartbeat": GroupType.CONSUMER,
    "ShareGroupHeartbeat": GroupType.SHARE,
    "StreamsGroupHeartbeat": GroupType.STREAMS,
}
_OF_BODIES: Final = frozenset({FENCED, UNKNOWN, *NOT_LET_IN})
"""The errors that count by what is in the request."""


class TableHistories(NamedTuple):
    """What tables tell of groups.

    Attributes:
        histories: of all groups, by name.
        bare: how many requests were refused whose bodies are left out and would be needed.
        left_out: how many rebalances and members were too many.
    """

    histories: list[GroupHistory]
    bare: int
    left_out: int

    def findings(self) -> list[Finding]:
        """Return what is wrong with the groups, as far as that is sure."""
        untold = OF_REFUSALS if self.bare else frozenset()
        return [each for each in find_all(self.histories) if each.id not in untold]


def read_histories(database: Database) -> TableHistories:
    """Return the histories of all groups.

    Args:
        database: the tables.

    Raises:
        ReportError: if a table or a column is missing, or memory is full.
    """
    groups = _Groups()
    left_out = 0
    for name, take in (("rebalances", groups.add_rebalance), ("members", groups.add_member)):
        rows = ask(database, name, _PACKAGE)
        for row in rows:
            take(row)
        left_out += left_out_of(rows)
    groups.begin(ask(database, "beginnings", _PACKAGE))
    bare = sum(groups.add_refusal(row) for row in rows_of(database, "refusals", _PACKAGE))
    return TableHistories(groups.histories, bare, left_out)


class _Groups:
    """The groups so far."""

    def __init__(self) -> None:
        self._histories: dict[tuple[str, GroupType, str], GroupHistory] = {}
        self._beginnings: dict[str, list[tuple[int, GroupType]]] = {}

    @property
    def histories(self) -> list[GroupHistory]:
        return [self._histories[key] for key in sorted(self._histories)]

    def add_rebalance(self, row: Row) -> None:
        history = self._history_of(row)
        history.protocol_type = row["protocol_type"] or history.protocol_type
        phases = msgspec.convert(row["phases"] or [], list[Phases])
        history.rebalances.append(
            Rebalance(
                generation=row["generation"],
                previous=row["previous"],
                causes=msgspec.convert(row["causes"], list[RebalanceCause]),
                started_ns=row["started_ns"],
                ended_ns=row["ended_ns"],
                phases={each.member_id: each for each in phases},
                member_count=row["member_count"],
            )
        )

    def add_member(self, row: Row) -> None:
        """Add a member; of what several runs have seen of one, the parts become one."""
        history = self._history_of(row)
        row = row | {"session_timeout_ns": row["session_timeout_ns"] or 0}
        member = msgspec.convert(row, GroupMember)
        known = history.members.setdefault(member.member_id, member)
        if known is not member:
            known.first_ns = min(known.first_ns, member.first_ns)
            known.last_ns = max(known.last_ns, member.last_ns)
            known.instance_id = known.instance_id or member.instance_id
            known.session_timeout_ns = known.session_timeout_ns or member.session_timeout_ns
            more = [each for each in member.generations if each not in known.generations]
            known.generations += more

    def begin(self, rows: list[Row]) -> None:
        """Note since when each group is known to be of which kind."""
        for row in rows:
            place = (row["first_ns"], GroupType(row["type"]))
            self._beginnings.setdefault(row["group_id"], []).append(place)

    def add_refusal(self, row: Row) -> bool:
        """Count what a member was refused; return whether that takes a body that is left out."""
        api, error, group = row["api"], row["error"], row["group_id"]
        if group is None:
            return False
        is_commit = api == "OffsetCommit"
        if row["is_bare"] and (is_commit or (error in _OF_BODIES and api not in _TYPES)):
            return True
        if is_commit and not _is_of_member(row):
            return False
        kind = _TYPES.get(api, GroupType.CLASSIC)
        if is_commit and self._type_at(group, row["at_ns"]) is not kind:
            return False
        history = self._refusing(group, kind, row["broker"])
        is_lost = history.refusals.note_lost_coordinator(error, row["at_ns"])
        if not is_lost and kind is GroupType.CLASSIC:
            _count(history, row)
        return False

    def _type_at(self, group: str, at_ns: int) -> GroupType | None:
        """Return what a group was last known to become; None if it was not known to be one."""
        known = [kind for first_ns, kind in self._beginnings.get(group, ()) if first_ns <= at_ns]
        return known[-1] if known else None

    def _history_of(self, row: Row) -> GroupHistory:
        """Return the history of the group of a row."""
        key = (row["group_id"], GroupType(row["type"]), row["cluster"] or "")
        history = self._histories.setdefault(
            key, GroupHistory(group=key[0], type=key[1], source="capture", cluster=row["cluster"])
        )
        history.coordinator = row["coordinator"] or history.coordinator
        return history

    def _refusing(self, group: str, kind: GroupType, broker: str) -> GroupHistory:
        """Return the history of the group that a broker refuses something.

        Of groups of one name in several clusters it is that which the broker coordinates.
        """
        of_name = [each for key, each in self._histories.items() if key[:2] == (group, kind)]
        of_broker = [each for each in of_name if each.coordinator == broker]
        for each in (*of_broker, *of_name):
            return each
        return self._history_of(
            {"group_id": group, "type": kind, "cluster": None, "coordinator": None}
        )


def _is_of_member(row: Mapping[str, Any]) -> bool:
    """Return whether a commit is of a member; consumers without a group manager commit, too."""
    return bool(row["member_id"]) and row["generation"] is not None and row["generation"] >= 0


def _count(history: GroupHistory, row: Row) -> None:
    """Count what a member of a classic group was refused."""
    error, refusals = row["error"], history.refusals
    if row["api"] == "JoinGroup":
        timeout_ns = (row["session_timeout_ms"] or 0) * NS_PER_MS
        client = (row["client_id"], row["client_host"])
        refusals.note_join(error, row["assignors"] or (), timeout_ns, client)
    if row["api"] == "OffsetCommit":
        refusals.note_commit(error)
    member = history.members.get(row["member_id"] or "")
    if member is not None and member.first_ns <= row["at_ns"]:
        refusals.note_member(error, member, row["at_ns"])
