from typing import Any

from kdiag.findings.finding import Finding, by_harm
from kdiag.findings.rule import Severity
from kdiag.report.overview.overview import Overview
from kdiag.report.overview.questions import ReportAnswer
from kdiag.report.overview.time_bins import bins_over
from kdiag.report.sql_report import load_report
from kdiag_cli.commands.report.page.findings import exchange_numbers, verdict_of
from kdiag_cli.commands.report.page.judged import Judged
from kdiag_cli.commands.report.page.kept_exchanges import KeptExchanges
from kdiag_cli.output.pages.parts import Heading, Note, PagePart, Remark, Tile, Tiles

QUIET = dict.fromkeys(("errors", "unanswered", "damaged", "retried", "slow"), 0)


def finding(title: str, severity: Severity = Severity.WARNING, id_: str = "KD9999") -> Finding:
    """Return a finding that names an exchange."""
    evidence = {"exchange": 7}
    return Finding(id=id_, severity=severity, title=title, evidence=evidence, fix="do it")


def verdict(*findings: Finding, parts: tuple[str, ...] = ("all",), **health: int) -> list[PagePart]:
    """Return the verdict on tables that have an answer to the report of errors."""
    rows = [{"problem": "NOT_LEADER_OR_FOLLOWER"}]
    reports = {"errors": ReportAnswer(load_report("errors"), ("problem",), rows, 0)}
    none: list[Any] = []
    overview = Overview(
        {},
        {"requests": 500} | QUIET | health,
        bins_over(0, 0),
        *(none,) * 6,
        reports,
        {},
    )
    judged = Judged(by_harm(findings), list(parts), ["Not judged: the weather"], [])
    return list(verdict_of(overview, judged, KeptExchanges([]), lambda of: f"kdiag {of.id}"))


def test_the_worst_comes_first_and_style_last_under_a_heading_of_its_own() -> None:
    """Each with why, what to do and the command that prints its evidence."""
    style = finding("tiny batches", Severity.WARNING, "KD4102")
    parts = verdict(
        style, finding("slow", Severity.INFO), finding("broken", Severity.ERROR, "KD4501")
    )

    remarks = [each for each in parts if isinstance(each, Remark)]
    assert [each.title for each in remarks] == [
        "error KD4501: broken",
        "info KD9999: slow",
        "warning KD4102: tiny batches",
    ]
    assert [each.command for each in remarks] == ["kdiag KD4501", "kdiag KD9999", "kdiag KD4102"]
    assert remarks[0].lines[0].startswith("The broker answered these requests with an error.")
    assert remarks[0].lines[-1] == "do it"
    assert parts[parts.index(remarks[2]) - 1] == Heading("Could be better")
    assert parts[-3:] == [
        Heading("Judged"),
        "Judged by their rules: all.",
        Note("Not judged: the weather"),
    ]


def test_many_findings_of_one_rule_are_one_remark() -> None:
    """With the first few titles and how many more there are."""
    findings = [finding(f"title {number}") for number in range(10)]

    (remark,) = (each for each in verdict(*findings) if isinstance(each, Remark))

    assert remark.title == "warning KD9999: title 0"
    assert remark.lines == [
        "title 1",
        "title 2",
        "title 3",
        "and 6 more findings of this kind",
        "do it",
    ]
    assert exchange_numbers(findings) == {7}


def test_health_leads_to_its_tables_and_silence_is_not_called_health() -> None:
    """No rule that fires is not nothing wrong, and nothing judged is no verdict."""
    tiles, *_ = wrong = verdict(errors=73, unanswered=2)

    assert tiles == Tiles(
        [
            Tile(500, "requests"),
            Tile(73, "answered with an error", "report-errors", "error"),
            Tile(2, "unanswered", "report-errors", "error"),
            Tile(0, "asked again"),
            Tile(0, "slow"),
        ]
    )
    (text, *_) = (each for each in wrong if isinstance(each, str))
    assert "73 answered with an error and 2 unanswered" in text
    assert "No rule found a problem." in verdict()
    assert "Nothing was judged." in verdict(parts=())
