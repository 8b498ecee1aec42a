from kdiag_cli.options.capture_completion import (
    complete_api_list,
    complete_condition,
    complete_error_list,
    complete_reports,
    complete_sql,
    complete_status_list,
    complete_tables,
)
from tiers.cases import for_each


def offered(found: list[tuple[str, str]], incomplete: str) -> list[str]:
    """Return what a shell keeps of an offer."""
    return [name for name, _ in found if name.startswith(incomplete)]


def test_lists_are_completed_behind_their_last_comma() -> None:
    """What stands before stays."""
    assert offered(complete_api_list("Fetch,Prod"), "Fetch,Prod") == ["Fetch,Produce"]
    assert ("Fetch", "versions 0-18") in complete_api_list("")
    assert ("NOT_COORDINATOR", "16") in complete_error_list("NOT")
    assert offered(complete_status_list("ok,mal"), "ok,mal") == ["ok,malformed"]


def test_reports_and_tables_come_with_what_they_are() -> None:
    """In one line each."""
    assert "clients" in dict(complete_reports())
    assert set(dict(complete_tables())) >= {"exchanges", "batches", "connections"}
    offers = (*complete_reports(), *complete_tables(), *complete_condition(""))
    assert all("\n" not in text and len(text) <= 60 for _, text in offers)


@for_each(
    ("typed", "expected"),
    [
        ("SELECT correl", ["SELECT correlation_id"]),
        ("select api, count(*) FROM exch", ["select api, count(*) FROM exchanges"]),
        ("SELECT * FROM gaps WHERE rea", ["SELECT * FROM gaps WHERE reason"]),
        ("SELECT * FROM gaps WHERE correl", []),
        ("FROM x JOIN bat", ["FROM x JOIN batches"]),
        ("traffic.p", []),
    ],
)
def test_a_question_is_completed_at_its_end(typed: str, expected: list[str]) -> None:
    """By tables where a table is due, else by columns of the tables that are named."""
    assert offered(complete_sql(typed), typed) == expected


def test_a_condition_is_completed_by_columns_of_exchanges() -> None:
    """Behind what is there."""
    assert offered(complete_condition("api = 'Fetch' AND correl"), "api") == [
        f"api = 'Fetch' AND {name}" for name, _ in complete_condition("")
    ]
