import re
from typing import Any

import pytest

from kdiag.report.tables.catalog import GROUP_TABLES, RUN_COLUMNS, TABLES
from kdiag.report.tables.column import Column, Table
from kdiag.report.tables.exchanges import EXCHANGE_KEY
from tiers.cases import for_each

COLUMNS = [
    pytest.param(column, id=f"{table.name}.{column.name}")
    for table in TABLES.values()
    for column in table.columns
]


def test_the_tables_are_these() -> None:
    """By their names, in the order in which they are explained."""
    assert list(TABLES) == [
        "exchanges",
        "batches",
        "records",
        "connections",
        "gaps",
        "not_understood",
        "latency_minutes",
        "rebalances",
        "members",
        "captures",
        "tcp",
    ]
    assert {"rebalances", "members"} == GROUP_TABLES
    assert all(name == table.name for name, table in TABLES.items())


@for_each("table", TABLES.values(), ids=TABLES)
def test_a_table_has_each_column_once_and_its_key_among_them(table: Table) -> None:
    """What is the same in every run tells its rows apart."""
    names = [column.name for column in table.columns]

    assert len(set(names)) == len(names)
    assert set(table.key) <= set(names) - RUN_COLUMNS


@for_each("column", COLUMNS)
def test_a_column_says_what_it_means_and_its_unit_is_in_its_name(column: Column[Any]) -> None:
    """One sentence, and a name that can be written in SQL without quotes."""
    assert column.meaning.endswith(".")
    assert re.fullmatch(r"[a-z][a-z0-9_]*", column.name)
    for unit in ("ns", "us", "ms", "bytes"):
        assert (column.unit == unit) == (
            column.name.split("_")[-1] == unit
            or (column.name == "stream_offset" and unit == "bytes")
        )


@pytest.mark.parametrize("name", ["batches", "records"])
def test_batches_and_records_join_with_their_exchange(name: str) -> None:
    """By columns of the same name and type."""
    exchanges = {column.name: column.type for column in TABLES["exchanges"].columns}
    other = {column.name: column.type for column in TABLES[name].columns}

    assert all(exchanges[column] == other[column] for column in EXCHANGE_KEY)
