from kdiag.findings.rule import Severity, is_at_least, worst_of
from tiers.cases import for_each


def test_severities_stand_in_order() -> None:
    """The worst comes first, which is what everybody who compares them relies on."""
    assert list(Severity) == [Severity.ERROR, Severity.WARNING, Severity.INFO]


@for_each("severity", Severity)
@for_each("bar", Severity)
def test_severities_are_ordered(severity: Severity, bar: Severity) -> None:
    """An error reaches every bar, a note only its own."""
    order = [Severity.INFO, Severity.WARNING, Severity.ERROR]

    assert is_at_least(severity, bar) == (order.index(severity) >= order.index(bar))


def test_the_worst_severity_counts() -> None:
    """Without any there is none."""
    assert worst_of([Severity.INFO, Severity.WARNING, Severity.INFO]) is Severity.WARNING
    assert worst_of([]) is None
