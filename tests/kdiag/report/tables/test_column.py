from kdiag.report.tables.column import BIGINT, STRING, Column, Table


def test_a_table_is_a_schema_in_sparks_notation() -> None:
    """Whoever reads the tables with Spark needs no other definition."""
    columns = (Column("name", STRING, "", "Who."), Column("age_ns", BIGINT, "ns", "How old."))

    assert Table("people", "A person.", ("name",), columns).ddl == "name string, age_ns bigint"
