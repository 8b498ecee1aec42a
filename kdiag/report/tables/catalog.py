"""Every table, and the choice among them.

    exchanges, batches, records    join by `EXCHANGE_KEY`, batches and records by `batch_index` too
    connections, tcp               join with all others by `connection_id`
    latency_minutes                counts of exchanges, which add up
    captures                       joins with all others of a fleet by `file`, their `capture_file`
    rebalances, members            join by `group_id` and `type`, and by `member_id`

Batches, records and gaps repeat the ends of their connection, so that few questions need a join.
"""

from typing import Final, NamedTuple

from kdiag.report.tables.batches import BATCHES, RECORDS
from kdiag.report.tables.captures import CAPTURE_FILES
from kdiag.report.tables.column import Table
from kdiag.report.tables.connections import CONNECTIONS, GAPS, NOT_UNDERSTOOD
from kdiag.report.tables.exchanges import EXCHANGES
from kdiag.report.tables.groups import MEMBERS, REBALANCES
from kdiag.report.tables.latency_minutes import LATENCY_MINUTES
from kdiag.report.tables.tcp import TCP

_OF_GROUPS: Final = (REBALANCES, MEMBERS)

TABLES: Final = {
    table.name: table
    for table in (
        *(EXCHANGES, BATCHES, RECORDS, CONNECTIONS, GAPS, NOT_UNDERSTOOD, LATENCY_MINUTES),
        *_OF_GROUPS,
        *(CAPTURE_FILES, TCP),
    )
}
"""The tables by name; `records` and `tcp` are there only when asked for."""

GROUP_TABLES: Final = frozenset(table.name for table in _OF_GROUPS)
"""The tables whose rows take all exchanges of a group at once."""

RUN_COLUMNS: Final = frozenset({"connection", "number"})
"""The columns that count within one run; all others are the same in every run."""


_TIME_COLUMNS: Final = ("time_ns", "first_ns")


def time_column(table: str) -> str:
    """Return the column with the time of a table's rows, in nanoseconds since 1970."""
    names = {each.name for each in TABLES[table].columns}
    return next(name for name in _TIME_COLUMNS if name in names)


class TableChoice(NamedTuple):
    """The contents of the tables.

    Attributes:
        bodies: whether `exchanges` has the bodies as JSON, which takes most of its space.
        records: whether there is a table `records`.
        tcp: whether there is a table `tcp`.
        show_secrets: whether to leave passwords and tokens as they are.
    """

    bodies: bool = True
    records: bool = False
    tcp: bool = False
    show_secrets: bool = False

    @property
    def tables(self) -> list[Table]:
        """Return the chosen tables."""
        asked_for = {RECORDS.name: self.records, TCP.name: self.tcp}
        return [table for name, table in TABLES.items() if asked_for.get(name, True)]


DEFAULT_CHOICE: Final = TableChoice()
