"""What came of scenarios: a table and evidence for people, JSON for programs, JUnit XML for CI.

Source of the XML: the schema that Jenkins' JUnit plugin reads (testsuite, testcase, failure).
"""

from collections.abc import Sequence
from typing import Any, Final
from xml.etree import ElementTree as ET

from kdiag.clock import NS_PER_S
from kdiag.lab.scenario.judgement import LookVerdict, text_of
from kdiag.lab.scenario.scenario import Scenario
from kdiag.lab.scenario.scenario_run import ScenarioOutcome
from kdiag.lab.scenario.shipped import ShippedScenario
from kdiag_cli.output.result import milliseconds
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import GREEN, RED, Output, harmless

_RESULT: Final = {True: "passes", False: "fails"}
_COLUMNS: Final = (
    TableColumn("RESULT", colours={"passes": GREEN, "fails": RED}),
    TableColumn("SCENARIO"),
    TableColumn("DISTURBED", 2),
    TableColumn("TOOK-S", 3),
    TableColumn("LOOKED-FOR", 1),
)
_LIST_COLUMNS: Final = (
    TableColumn("THEME", 2),
    TableColumn("SCENARIO"),
    TableColumn("FINDS"),
    TableColumn("TEACHES", 1),
)


def progress_text(scenario: Scenario, *, is_disturbed: bool) -> str:
    """Return what is being run."""
    return scenario.name if is_disturbed else f"{scenario.name} without its disturbance"


def print_outcomes(
    output: Output, outcomes: Sequence[ScenarioOutcome], *, has_headers: bool
) -> None:
    """Print a row for each run, and below what was told of it."""
    rows = [
        (
            _RESULT[each.passes],
            each.scenario.name,
            "yes" if each.is_disturbed else "no",
            f"{each.took_ns / NS_PER_S:.1f}",
            "; ".join(map(text_of, each.scenario.find)),
        )
        for each in outcomes
    ]
    print_table(output, _COLUMNS, rows, has_headers=has_headers)
    for each in outcomes:
        lines = [line for verdict in each.verdicts for line in _lines(verdict, each)]
        if each.trouble is not None:
            lines.append(str(each.trouble))
        if not each.passes:
            lines += [f"client {failure}" for failure in each.failures]
        if lines:
            output.line("")
            output.line(progress_text(each.scenario, is_disturbed=each.is_disturbed))
            for line in lines:
                output.line(f"  {harmless(line)}")


def _lines(verdict: LookVerdict, outcome: ScenarioOutcome) -> list[str]:
    """Return what was told; where it was not what it should be, what that is, too."""
    if verdict.is_right:
        return list(verdict.evidence)
    wanted = text_of(verdict.wanted)
    if not outcome.is_disturbed:
        return [f"found, though nothing disturbs: {wanted}", *verdict.evidence]
    return [f"not found: {wanted}; there was:", *(verdict.evidence or ["nothing"])]


def document(outcome: ScenarioOutcome) -> dict[str, Any]:
    """Return how a scenario went, as programs read it."""
    return {
        "scenario": outcome.scenario.name,
        "disturbed": outcome.is_disturbed,
        "passes": outcome.passes,
        "took_ms": milliseconds(outcome.took_ns),
        "trouble": None if outcome.trouble is None else str(outcome.trouble),
        "find": [
            {
                "by": each.wanted.by,
                "finding": each.wanted.finding,
                "cause": each.wanted.cause,
                "notice": each.wanted.notice,
                "is_right": each.is_right,
                "evidence": each.evidence,
            }
            for each in outcome.verdicts
        ],
        "client_failures": outcome.failures,
    }


def junit_xml(outcomes: Sequence[ScenarioOutcome]) -> bytes:
    """Return the outcomes as JUnit XML: a case for each run."""
    suite = ET.Element(
        "testsuite",
        name="kdiag lab run",
        tests=str(len(outcomes)),
        failures=str(sum(not each.passes and each.trouble is None for each in outcomes)),
        errors=str(sum(each.trouble is not None for each in outcomes)),
        time=f"{sum(each.took_ns for each in outcomes) / NS_PER_S:.3f}",
    )
    for each in outcomes:
        case = ET.SubElement(
            suite,
            "testcase",
            classname="with disturbance" if each.is_disturbed else "without disturbance",
            name=each.scenario.name,
            time=f"{each.took_ns / NS_PER_S:.3f}",
        )
        lines = [harmless(line) for verdict in each.verdicts for line in _lines(verdict, each)]
        lines += [harmless(failure) for failure in each.failures]
        if each.trouble is not None:
            ET.SubElement(case, "error", message=harmless(str(each.trouble))).text = "\n".join(
                lines
            )
        elif not each.passes:
            wrong = [text_of(one.wanted) for one in each.verdicts if not one.is_right]
            ET.SubElement(case, "failure", message="; ".join(wrong)).text = "\n".join(lines)
        else:
            ET.SubElement(case, "system-out").text = "\n".join(lines)
    ET.indent(suite)
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"


def print_list_text(
    output: Output, shipped: Sequence[ShippedScenario], *, has_headers: bool
) -> None:
    """Print a row for each scenario that comes with kdiag."""
    rows = []
    for each in shipped:
        scenario = each.scenario
        finds = dict.fromkeys(found.kind for found in scenario.find)
        rows.append((each.theme, scenario.name, " ".join(finds), scenario.teaches))
    print_table(output, _LIST_COLUMNS, rows, has_headers=has_headers)
