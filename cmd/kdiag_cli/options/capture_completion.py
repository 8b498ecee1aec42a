"""The names that a shell may complete in commands on captures: reports, tables, columns, errors.

They are all known beforehand: nothing is read, and no cluster is asked. What is slow to load is
loaded when somebody presses the key.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from kdiag.exchange.model import Status
from kdiag.wire.catalog import APIS
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag_cli.options.help_page import brief

_LAST_WORD: Final = re.compile(r"\w*\Z")
_TABLE_NEXT: Final = re.compile(r"\b(?:FROM|JOIN)\s+\w*\Z", re.IGNORECASE)
_SELECT: Final = re.compile(r"\s*(?:SELECT|WITH|FROM)\b", re.IGNORECASE)
_MENTIONED: Final = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)", re.IGNORECASE)

Offer = tuple[str, str]
"""What may stand there, and what it means."""


def complete_api_list(incomplete: str) -> list[Offer]:
    """Return APIs with their versions, behind those that are there already with commas."""
    offers = ((each.name, f"versions {each.versions}") for each in APIS)
    return _behind_comma(incomplete, offers)


def complete_error_list(incomplete: str) -> list[Offer]:
    """Return the names of errors with their codes, several with commas."""
    return _behind_comma(incomplete, ((name, str(code)) for name, code in CODE_BY_NAME.items()))


def complete_status_list(incomplete: str) -> list[Offer]:
    """Return the statuses of exchanges, several with commas."""
    return _behind_comma(incomplete, ((str(each), "") for each in Status))


def complete_reports() -> list[Offer]:
    """Return the reports with the questions that they answer."""
    from kdiag.report.sql_report import load_report, report_names  # noqa: PLC0415 - 20 ms, not for --help

    return [(name, brief(load_report(name).question)) for name in report_names()]


def complete_tables() -> list[Offer]:
    """Return the tables with their meanings."""
    from kdiag.report.tables.catalog import TABLES  # noqa: PLC0415 - 90 ms, not for --help

    return [(name, brief(each.meaning)) for name, each in TABLES.items()]


def complete_sql(incomplete: str) -> list[Offer]:
    """Return a question in SQL with its last word completed: a table behind FROM, else a column.

    Once tables are named, only their columns are offered. What is not SQL is left to the shell,
    which knows the files.
    """
    if not _SELECT.match(incomplete):
        return []
    if _TABLE_NEXT.search(incomplete):
        return _behind_word(incomplete, complete_tables())
    named = _MENTIONED.findall(incomplete)
    return _behind_word(incomplete, _columns(named))


def complete_condition(incomplete: str) -> list[Offer]:
    """Return a condition on exchanges with the column at its end completed."""
    return _behind_word(incomplete, _columns(["exchanges"]))


def _columns(tables: Iterable[str]) -> Iterator[Offer]:
    """Yield the columns of some tables, or of all if none of them is known."""
    from kdiag.report.tables.catalog import TABLES  # noqa: PLC0415 - 90 ms, not for --help

    chosen = [TABLES[name] for name in tables if name in TABLES] or TABLES.values()
    yield from {
        column.name: (column.name, brief(column.meaning))
        for table in chosen
        for column in table.columns
    }.values()


def _behind_comma(incomplete: str, offers: Iterable[Offer]) -> list[Offer]:
    before, comma, _ = incomplete.rpartition(",")
    return [(f"{before}{comma}{name}", meaning) for name, meaning in offers]


def _behind_word(incomplete: str, offers: Iterable[Offer]) -> list[Offer]:
    before = _LAST_WORD.sub("", incomplete, count=1)
    return [(f"{before}{name}", meaning) for name, meaning in offers]
