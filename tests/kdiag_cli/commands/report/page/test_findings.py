from kdiag.findings.finding import Finding
from kdiag.findings.rule import Severity
from kdiag_cli.commands.report.page.findings import PageFindings
from kdiag_cli.commands.report.page.kept_exchanges import KeptExchanges
from kdiag_cli.output.pages.parts import Remark

NONE = KeptExchanges([])


def finding(title: str, severity: Severity = Severity.WARNING, id_: str = "KD9999") -> Finding:
    """Return a finding that names an exchange."""
    evidence = {"exchange": 7}
    return Finding(id=id_, severity=severity, title=title, evidence=evidence, fix="do it")


def test_findings_of_one_rule_are_told_once() -> None:
    """With how many there are and the first few; the worst rule comes first."""
    found = PageFindings()
    found.add([finding(f"title {number}") for number in range(10)])
    found.add([finding("only one", Severity.ERROR, "KD9998")])

    alone, many = found.parts(NONE)

    assert alone == ("error", "error KD9998: only one", ["do it"], [])
    assert isinstance(many, Remark)
    assert many.title == "warning KD9999, 10 times, such as: title 0"
    assert many.lines == ["title 1", "title 2", "title 3", "and 6 times more", "do it"]
    assert found.exchange_numbers() == {7}


def test_nothing_is_said_of_nothing_in_words() -> None:
    """That nothing was found is not that nobody looked."""
    assert PageFindings().parts(NONE) == ["Nothing that is known to be wrong was found."]
    assert PageFindings("Nothing was judged").parts(NONE) == ["Nothing was judged"]
