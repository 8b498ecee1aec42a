from kdiag_cli.output.pages.parts import (
    Detail,
    PageLink,
    PageSection,
    Quantity,
    Remark,
    SortableTable,
)


def test_parts_are_values() -> None:
    """Two of the same are equal, and what is optional is empty."""
    table = SortableTable("Runs", ("what", "time"), [(PageLink("one", ""), Quantity(1, "1 ms"))])

    assert table.rows == [(PageLink("one", ""), Quantity(1, "1 ms"))]
    assert (table.note, table.left_out, table.more) == ("", 0, "")
    assert Remark("note", "it is so") == Remark("note", "it is so", (), (), "")
    assert PageSection("a", "A", [Detail("x", "X", [], [])]).parts[0] == Detail("x", "X", [], [])
