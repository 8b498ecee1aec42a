"""The findings of a page: those of one rule together, the worst first."""

from collections.abc import Iterable
from typing import Final

from kdiag.exchange.line.phrase import count
from kdiag.findings.finding import Finding
from kdiag.findings.rule import Severity
from kdiag_cli.commands.report.page.kept_exchanges import KeptExchanges
from kdiag_cli.output.pages.parts import PagePart, Remark

_MOST_EXAMPLES: Final = 4
_SEVERITIES: Final = tuple(Severity)


class FoundOfRule:
    """The findings of one rule.

    Attributes:
        first: the first of them.
        titles: of the first few.
        number: how many there are.
        exchanges: the numbers of exchanges that show the first few.
    """

    def __init__(self, first: Finding) -> None:
        self.first = first
        self.titles: list[str] = []
        self.number = 0
        self.exchanges: list[int] = []

    def add(self, finding: Finding) -> None:
        """Count a finding."""
        self.number += 1
        if len(self.titles) < _MOST_EXAMPLES and finding.title not in self.titles:
            self.titles.append(finding.title)
            shown = finding.evidence.get("exchange")
            if isinstance(shown, int):
                self.exchanges.append(shown)

    def remark(self, kept: KeptExchanges) -> Remark:
        """Return it as a part of a page.

        Args:
            kept: the exchanges that are shown in full.
        """
        head = f"{self.first.severity} {self.first.id}"
        links = [kept.link(f"exchange {number}", number=number) for number in self.exchanges]
        links = [each for each in links if each.anchor]
        if self.number == 1:
            title = f"{head}: {self.first.title}"
            return Remark(self.first.severity, title, [self.first.fix], links)
        titles = [*self.titles[1:]]
        others = self.number - len(self.titles)
        more = [f"and {count(others, 'time')} more"] if others else []
        title = f"{head}, {count(self.number, 'time')}, such as: {self.titles[0]}"
        return Remark(self.first.severity, title, [*titles, *more, self.first.fix], links)


class PageFindings:
    """What was found, by rule."""

    def __init__(self, nothing: str = "Nothing that is known to be wrong was found.") -> None:
        """Start with nothing.

        Args:
            nothing: what is said if it stays so.
        """
        self._nothing = nothing
        self._rules: dict[str, FoundOfRule] = {}

    def add(self, findings: Iterable[Finding]) -> None:
        """Count findings, those of one rule together."""
        for finding in findings:
            of_rule = self._rules.setdefault(finding.id, FoundOfRule(finding))
            of_rule.add(finding)

    def exchange_numbers(self) -> set[int]:
        """Return the numbers of exchanges that findings name."""
        return {number for each in self._rules.values() for number in each.exchanges}

    def parts(self, kept: KeptExchanges) -> list[PagePart]:
        """Return the findings, the worst first, or that there are none.

        Args:
            kept: the exchanges that are shown in full.
        """
        rules = sorted(
            self._rules.values(),
            key=lambda each: (
                _SEVERITIES.index(each.first.severity),
                -each.number,
                each.first.id,
            ),
        )
        return [each.remark(kept) for each in rules] or [self._nothing]
