from pathlib import Path

from kdiag.lab.log.files import names
from tiers.cases import for_each


def test_a_numbered_file_is_found_again_by_its_name() -> None:
    """Twenty digits, what it holds, and its state if it is not part of the log."""
    path = names.numbered_path(Path("orders-3"), 4711, names.LOG + names.SWAP)
    assert path == Path("orders-3/00000000000000004711.log.swap")
    assert names.parse_numbered(path.name) == (4711, ".log", ".swap")
    assert names.parse_numbered("00000000000000004711.index") == (4711, ".index", "")


@for_each(
    "name",
    [
        "4711.log",
        "leader-epoch-checkpoint",
        "00000000000000004711",
        "00000000000000004711.log.swap.swap",
        "99999999999999999999.log",
        "0000000000000000471x.log",
        "",
    ],
)
def test_other_names_are_no_numbered_files(name: str) -> None:
    """Nor is a number that no offset can be."""
    assert names.parse_numbered(name) is None


@for_each(
    ("name", "expected"),
    [
        ("orders-3", ("orders", 3)),
        ("a-b-c-12", ("a-b-c", 12)),
        ("__consumer_offsets-49", ("__consumer_offsets", 49)),
        ("orders", None),
        ("orders-", None),
        ("-3", None),
        ("orders-3.1f2e-delete", None),
        ("orders-9999999999", None),
        ("lost+found", None),
        ("x" * 250 + "-1", None),
    ],
)
def test_a_folder_of_a_partition_ends_in_its_number(
    name: str, expected: tuple[str, int] | None
) -> None:
    """Topics may hold hyphens; folders that wait for their deletion are no partitions."""
    assert names.parse_partition_folder(name) == expected
    if expected is not None:
        assert names.partition_folder(*expected) == name
