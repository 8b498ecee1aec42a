"""The verdict of a page: how many requests went wrong, what was found, and what was judged."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kdiag.exchange.line.phrase import count
from kdiag.findings.finding import RULES, Finding, apart
from kdiag.report.overview.overview import Overview
from kdiag.report.overview.questions import Row
from kdiag_cli.commands.report.page.judged import Judged
from kdiag_cli.commands.report.page.kept_exchanges import KeptExchanges
from kdiag_cli.commands.report.page.sections import report_anchor
from kdiag_cli.output.pages.parts import Heading, Note, PagePart, Remark, Tile, Tiles

_MOST: Final = 3
"""How many findings of one rule are shown one by one."""

_MOST_EXAMPLES: Final = 4

CommandFor = Callable[[Finding], str]
"""Returns the command that prints the evidence of a finding."""


def exchange_numbers(findings: Sequence[Finding]) -> set[int]:
    """Return the numbers of the exchanges that findings name, of each rule the first few."""
    return {
        number
        for alike in _by_rule(findings)
        for number in map(_exchange_of, alike[:_MOST_EXAMPLES])
        if number
    }


def verdict_of(
    overview: Overview, judged: Judged, kept: KeptExchanges, command_for: CommandFor
) -> Iterator[PagePart]:
    """Yield the verdict.

    Args:
        overview: of the tables.
        judged: what is wrong, and what was judged.
        kept: the exchanges that are shown in full.
        command_for: returns the command that prints the evidence of a finding.
    """
    yield Tiles([*_tiles(overview)])
    if overview.health["slow"]:
        yield Note(
            "Slow: answered after more than 100 ms, and ten times the median of their API; Fetch, "
            "JoinGroup and SyncGroup may wait, and do not count"
        )
    trouble, style = apart(judged.findings)
    if not trouble:
        yield _nothing(overview.health, judged)
    for alike in _by_rule(trouble):
        yield from _remarks(alike, kept, command_for)
    if style:
        yield Heading("Could be better")
    for alike in _by_rule(style):
        yield from _remarks(alike, kept, command_for)
    yield Heading("Judged")
    if judged.parts:
        yield f"Judged by their rules: {'; '.join(judged.parts)}."
    yield from (Note(each) for each in judged.notes)


def _tiles(overview: Overview) -> Iterator[Tile]:
    """Yield how many requests there are, and how many of them went wrong, with where they are."""
    health = overview.health
    for name, noun, report, kind in (
        ("requests", "requests", "topology", ""),
        ("errors", "answered with an error", "errors", "error"),
        ("unanswered", "unanswered", "errors", "error"),
        ("damaged", "damaged or cut", "errors", "warning"),
        ("retried", "asked again", "retries", "warning"),
        ("slow", "slow", "slow", "warning"),
    ):
        number, answer = health[name], overview.reports.get(report)
        if number or name != "damaged":
            anchor = report_anchor(report) if answer is not None and answer.rows and number else ""
            yield Tile(number, noun, anchor, kind if number else "")


def _nothing(health: Row, judged: Judged) -> str:
    """Return what is said if no rule has found a problem; counts that are not 0 stand beside it."""
    if not judged.parts:
        return "Nothing was judged."
    counts = {"answered with an error": health["errors"], "unanswered": health["unanswered"]}
    wrong = [f"{number:,} {what}" for what, number in counts.items() if number]
    if not wrong:
        return "No rule found a problem."
    return (
        f"No rule found a problem, which does not make failed requests harmless: "
        f"{' and '.join(wrong)}. The tables of errors below list them."
    )


def _by_rule(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Return findings by their rule, in the order of the first of each."""
    rules: dict[str, list[Finding]] = defaultdict(list)
    for each in findings:
        rules[each.id].append(each)
    return [*rules.values()]


def _remarks(
    alike: Sequence[Finding], kept: KeptExchanges, command_for: CommandFor
) -> Iterator[Remark]:
    """Yield the findings of one rule: each, or of many the first with the titles of others."""
    if len(alike) <= _MOST:
        for each in alike:
            yield _remark(each, [each], [], kept, command_for)
        return
    titles = list(dict.fromkeys(each.title for each in alike))[1:_MOST_EXAMPLES]
    others = len(alike) - len(titles) - 1
    more = [f"and {count(others, 'more finding')} of this kind"] if others else []
    yield _remark(alike[0], alike[:_MOST_EXAMPLES], [*titles, *more], kept, command_for)


def _remark(
    finding: Finding,
    shown: Sequence[Finding],
    others: Sequence[str],
    kept: KeptExchanges,
    command_for: CommandFor,
) -> Remark:
    numbers = dict.fromkeys(filter(None, map(_exchange_of, shown)))
    links = [kept.link(f"exchange {number}", number=number) for number in numbers]
    rule = RULES.get(finding.id)
    why = [] if rule is None else [rule.explanation]
    return Remark(
        finding.severity,
        f"{finding.severity} {finding.id}: {finding.title}",
        [*others, *why, finding.fix],
        [each for each in links if each.anchor],
        command_for(finding),
    )


def _exchange_of(finding: Finding) -> int:
    number = finding.evidence.get("exchange")
    return number if isinstance(number, int) else 0
