from typing import Final, NamedTuple

from kdiag.report.tables.column import BIGINT, STRING, Column, Table, cells_of


class Person(NamedTuple):
    """The facts of a made-up table."""

    name: str
    birth_ns: int
    now_ns: int


COLUMNS: Final[tuple[Column[Person], ...]] = (
    Column("name", STRING, "Who.", lambda of: of.name),
    Column("age_ns", BIGINT, "How old.", lambda of: of.now_ns - of.birth_ns, unit="ns"),
)


def test_a_table_is_a_schema_in_sparks_notation() -> None:
    """Whoever reads the tables with Spark needs no other definition."""
    assert Table("people", "A person.", ("name",), COLUMNS).ddl == "name string, age_ns bigint"


def test_a_row_has_the_value_of_each_column_in_their_order() -> None:
    """What a column is and how its value is made are declared together."""
    assert cells_of(COLUMNS)(Person("Ada", 1_000, 37_000)) == ("Ada", 36_000)


def test_the_cells_of_no_columns_are_none() -> None:
    """So that a group of columns may be empty."""
    assert cells_of(COLUMNS[:0])(Person("Ada", 1, 2)) == ()
