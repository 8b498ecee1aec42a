from kdiag.findings.rule import Severity


def test_severities_stand_in_order() -> None:
    """The worst comes first, which is what everybody who compares them relies on."""
    assert list(Severity) == [Severity.ERROR, Severity.WARNING, Severity.INFO]
